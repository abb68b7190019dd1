"""Several graphs: each the cheapest among those that differ enough from the ones before."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Problem, closure, totals
from tensaur.extract.several import cheapest_several
from tensaur.extract.solve import extract
from tests.extract.oracle import layered, problems


def choices(problem):
    """Yield all solutions."""
    options = [np.flatnonzero(problem.node_class == c).tolist() for c in range(problem.class_count)]
    for rows in product(*[some or [-1] for some in options]):
        try:
            yield closure(problem, np.array(rows))
        except ExtractionError:
            continue


@given(problems())
@settings(max_examples=60, deadline=None)
def test_each_is_the_cheapest_that_differs_enough(problem):
    every = list(choices(problem))
    if not every:
        with pytest.raises(ExtractionError):
            cheapest_several(problem, 3)
        return
    found = cheapest_several(problem, 3, share=0.25)
    limit = int(0.75 * found[0].cost)
    used = set()
    for solution in [*found, None]:
        costs = [
            totals(problem, chosen).cost
            for chosen in every
            if not used
            or sum(int(problem.cost[row]) for row in set(chosen.tolist()) & used) <= limit
        ]
        if solution is None:
            assert len(found) == 3 or not costs
        else:
            assert (solution.cost, solution.proved) == (min(costs), True)
            used |= set(solution.rows.tolist())


def test_they_differ_clearly():
    problem = layered(3, 4, seed=1)
    found = cheapest_several(problem, 3, share=0.2)
    assert len(found) == 3
    assert found[0].cost == extract(problem).cost
    assert found[0].cost <= found[1].cost <= found[2].cost
    for earlier, later in ((0, 1), (0, 2), (1, 2)):
        common = np.intersect1d(found[earlier].rows, found[later].rows)
        assert problem.cost[common].sum() <= 0.8 * found[0].cost


def test_one_graph_is_all_there_is():
    assert len(cheapest_several(Problem.of([[]], [0], [5], root=0), 3)) == 1


def test_the_size_budget_holds():
    problem = Problem.of([[], []], [0, 0], [5, 6], [1, 9], root=0, size_budget=4)
    assert [solution.size for solution in cheapest_several(problem, 2)] == [1]


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ExtractionError, match="is not above 0 and at most 1"):
        cheapest_several(layered(2, 2), 2, share=0.0)
