"""Local search: better, valid, within budget; and a known solution is never lost."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from tensaur.errors import ExtractionError
from tensaur.extract.descent import Descent
from tensaur.extract.greedy import Network
from tensaur.extract.problem import Problem, closure, fits, totals
from tensaur.extract.solve import extract
from tensaur.extract.structure import simplify
from tests.extract.oracle import METHODS, best_cost, layered, problems


def some_choice(problem):
    """Return a valid choice that is far from good, None if there is none within the budget."""
    dearest = replace(problem, cost=problem.cost.max() - problem.cost)
    try:
        return extract(dearest, "tree").chosen
    except ExtractionError:
        return None


@given(problems(budget=True))
@settings(max_examples=200, deadline=None)
def test_descent_is_valid_and_not_worse(problem):
    chosen = some_choice(problem)
    if chosen is None:
        return
    found = Descent(Network(problem), chosen).run()
    assert np.array_equal(closure(problem, found), found), "complete, acyclic, nothing superfluous"
    assert fits(problem, found)
    assert best_cost(problem) <= totals(problem, found).cost <= totals(problem, chosen).cost


@given(problems(budget=True))
@settings(max_examples=200, deadline=None)
def test_no_method_is_worse_than_what_is_known(problem):
    chosen = some_choice(problem)
    if chosen is None:
        return
    known = totals(problem, chosen).cost
    for method in METHODS:
        assert extract(replace(problem, known=chosen), method).cost <= known


def fused(parts):
    """A chain of so many pairs, each of which one row can do for less, if three parts are at hand."""
    node_class, children, cost = [0], [[]], [0]
    last = 0
    for part in range(parts):
        first, second, spare, weight = (4 * part + k for k in range(1, 5))
        node_class += [first, second, weight, spare, second]
        children += [[last], [first], [], [weight], [last, spare]]
        cost += [100, 10, 0, 1, 102]
        last = second
    return Problem.of(children, node_class, cost, root=last)


def test_every_pair_is_replaced():
    problem = fused(20)
    original = {
        int(cls): row for row, cls in reversed(list(enumerate(problem.node_class.tolist())))
    }
    rows = np.array([original.get(cls, -1) for cls in range(problem.class_count)])
    chosen = closure(problem, rows)
    assert totals(problem, chosen).cost == 20 * 110
    found = Descent(Network(problem), chosen).run()
    assert totals(problem, found).cost == 20 * 103


def test_what_others_share_is_not_given_up():
    # Class 2 has a cheaper row, but class 1, which the old row reads, is needed anyway.
    problem = Problem.of([[], [0], [1], [0], [1, 2]], [0, 1, 2, 2, 3], [0, 10, 1, 5, 0], root=3)
    found = Descent(Network(problem), np.array([0, 1, 3, 4])).run()
    assert found.tolist() == [0, 1, 2, 4]


def test_a_row_that_reads_what_depends_on_it_is_not_taken():
    # 1 and 2 are equal to each other but for a price: both at once would be a cycle.
    problem = Problem.of(
        [[], [0], [2], [0], [1], [1, 2]], [0, 1, 1, 2, 2, 3], [0, 10, 1, 10, 1, 0], root=3
    )
    found = Descent(Network(problem), np.array([0, 1, 3, 5])).run()
    assert totals(problem, found).cost == 11
    assert np.array_equal(closure(problem, found), found)


@pytest.mark.parametrize(("budget", "cost"), [(None, 5), (4, 5), (3, 8)])
def test_the_budget_bounds_what_is_taken(budget, cost):
    problem = Problem.of([[], [], []], [0, 0, 0], [10, 5, 8], [0, 4, 3], root=0, size_budget=budget)
    found = Descent(Network(problem), np.array([0])).run()
    assert totals(problem, found).cost == cost


def test_what_shrinks_may_be_taken_without_room():
    problem = Problem.of([[], []], [0, 0], [10, 5], [4, 4], root=0, size_budget=4)
    assert Descent(Network(problem), np.array([0])).run().tolist() == [1]


def test_the_deadline_ends_it():
    problem = fused(20)
    original = {
        int(cls): row for row, cls in reversed(list(enumerate(problem.node_class.tolist())))
    }
    rows = np.array([original.get(cls, -1) for cls in range(problem.class_count)])
    chosen = closure(problem, rows)
    ticks = iter(range(10_000))
    found = Descent(Network(problem), chosen, deadline=9, clock=lambda: next(ticks)).run()
    assert 20 * 103 < totals(problem, found).cost < 20 * 110
    assert np.array_equal(closure(problem, found), found)


def test_large_networks_get_better():
    problem = simplify(layered(layers=30, width=6, seed=3)).problem
    chosen = some_choice(problem)
    found = Descent(Network(problem), chosen).run()
    assert np.array_equal(closure(problem, found), found)
    assert totals(problem, found).cost < totals(problem, chosen).cost


def test_a_known_solution_with_a_gap_is_refused():
    problem = Problem.of([[], [0]], [0, 1], [1, 1], root=1)
    with pytest.raises(ExtractionError, match="needed, but no row is chosen"):
        extract(replace(problem, known=np.array([-1, 1])))
