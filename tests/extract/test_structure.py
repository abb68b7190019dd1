"""What can be computed and reached, and where cycles are."""

import numpy as np
import pytest
from hypothesis import given, settings

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Problem
from tensaur.extract.structure import components, derivable, keep_rows, simplify, unique_edges
from tests.extract.oracle import best_cost, problems


def test_rows_that_only_close_cycles_are_dropped():
    problem = Problem.of(
        [[], [0], [2], [1], [1], [3]], [0, 1, 1, 2, 3, 3], [1, 1, 0, 0, 1, 0], root=3
    )
    part = simplify(problem)
    # Row 2 is a detour through class 2, but no self-loop: only pricing can drop it.
    assert part.rows.tolist() == [0, 1, 2, 3, 4]


def test_classes_that_nothing_derives_are_found():
    problem = Problem.of([[1], [0], [], [2, 0], [2]], [0, 1, 2, 3, 3], [0] * 5, root=3)
    assert derivable(problem).tolist() == [False, False, True, False, True]
    assert simplify(problem).classes.tolist() == [2, 3]


def test_a_root_without_derivation_is_refused():
    with pytest.raises(ExtractionError, match="root class 0"):
        simplify(Problem.of([[1], [0]], [0, 1], [1, 1], root=0))


def test_components():
    problem = Problem.of([[1], [0], [0], []], [0, 1, 2, 3], [0] * 4, root=2)
    labels = components(problem)
    assert labels[0] == labels[1]
    assert len({labels[0], labels[2], labels[3]}) == 3


def test_children_become_unique():
    problem = unique_edges(Problem.of([[2, 1, 2], [], []], [0, 1, 2], [0] * 3, root=0))
    assert problem.child_start.tolist() == [0, 2, 2, 2]
    assert sorted(problem.child.tolist()) == [1, 2]


@given(problems())
@settings(max_examples=100, deadline=None)
def test_simplifying_keeps_the_optimum(problem):
    best = best_cost(problem)
    if best is None:
        with pytest.raises(ExtractionError):
            simplify(problem)
    else:
        assert best_cost(simplify(problem).problem) == best


@given(problems())
@settings(max_examples=50, deadline=None)
def test_lift_and_lower_are_inverse(problem):
    keep = np.arange(problem.row_count) % 3 != 1
    part = keep_rows(problem, keep)
    chosen = np.full(part.problem.class_count, -1)
    chosen[part.problem.node_class] = np.arange(part.problem.row_count)
    assert part.lower(part.lift(chosen)).tolist() == chosen.tolist()
