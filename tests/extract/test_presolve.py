"""Presolve keeps an optimum, never loses the incumbent, and drops what it should."""

from math import inf

import numpy as np
from hypothesis import assume, given, settings

from tensaur.errors import ExtractionError
from tensaur.extract.greedy import Network
from tensaur.extract.presolve import Presolve
from tensaur.extract.problem import Problem, closure, fits, totals
from tensaur.extract.structure import simplify
from tests.extract.oracle import best_cost, layered, problems


def reduce(problem, upper_bound=None):
    limit = int(problem.cost.sum()) if upper_bound is None else upper_bound
    return Presolve(problem, limit, inf).run()


@given(problems(budget=True))
@settings(max_examples=80, deadline=None)
def test_the_optimum_survives_the_tightest_bound(problem):
    best = best_cost(problem)
    assume(best is not None)
    part = simplify(problem)
    reduced = reduce(part.problem, best)
    assert best_cost(reduced.problem) == best
    assert reduced.lower_bound <= best


@given(problems())
@settings(max_examples=80, deadline=None)
def test_lower_makes_no_choice_dearer(problem):
    best = best_cost(problem)
    assume(best is not None)
    part = simplify(problem).problem
    reduced = reduce(part)
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(part.node_class == c) for c in range(part.class_count)]
    for _ in range(20):
        try:
            chosen = closure(part, np.array([rng.choice(options) for options in rows]))
        except ExtractionError:
            continue
        lowered = reduced.lift(reduced.lower(chosen))
        assert totals(part, closure(part, lowered)).cost <= totals(part, chosen).cost
        assert fits(part, lowered)


def test_dominated_and_cyclic_rows_go():
    children = [[], [0], [0], [2], [1], [1]]
    problem = Problem.of(children, [0, 1, 1, 1, 2, 2], [0, 5, 6, 0, 1, 0], root=2)
    # Row 2 is dearer than row 1 with the same children, row 3 needs what needs its class,
    # row 4 is dearer than row 5.
    assert reduce(problem).part.rows.tolist() == [0, 1, 5]


def test_forced_parts_need_not_be_paid_again():
    # Class 1 is needed anyway, so the row that uses it costs no more than the leaf does.
    children = [[], [1], [], [1, 2]]
    problem = Problem.of(children, [1, 2, 2, 3], [7, 1, 2, 0], root=3)
    reduced = reduce(problem)
    assert reduced.part.rows.tolist() == [0, 1, 3]
    assert reduced.lower_bound == 8


def test_free_rows_are_taken():
    problem = Problem.of([[], [], [0], [1, 0]], [0, 1, 1, 2], [0, 3, 0, 5], root=2)
    reduced = reduce(problem)
    assert reduced.free_row.tolist() == [0, 1, -1]
    assert reduced.lift(np.array([-1, -1, 2])).tolist() == [0, 2, 3]


def test_merges_shrink_under_a_good_bound():
    problem = layered(4, 4, seed=0)
    loose = reduce(problem)
    tight = reduce(
        problem, totals(problem, loose.lift(loose.lower(Network(problem).dag(problem.cost)))).cost
    )
    assert tight.problem.row_count <= loose.problem.row_count < problem.row_count
