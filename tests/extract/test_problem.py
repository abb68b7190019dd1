"""Problems refuse what is no problem; check refuses what is no solution."""

from dataclasses import replace

import numpy as np
import pytest

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Incumbent, Problem, Solution, Stop, check, closure, totals
from tests.extract.spaces import explored


def diamond(**changes):
    """Class 3 = f(1, 2) or g(2); 1 = h(0); 2 = k(0) or m(3); 0 is a leaf."""
    arguments = {
        "children": [[], [0], [0], [1, 2], [2], [3]],
        "node_class": [0, 1, 2, 3, 3, 2],
        "cost": [1, 10, 20, 5, 40, 0],
        "size": [4, 0, 0, 0, 2, 0],
        "root": 3,
    }
    return Problem.of(**(arguments | changes))


def solution(problem, chosen, **changes):
    total = totals(problem, np.array(chosen))
    made = Solution(np.array(chosen), total.cost, total.size, 0, "test")
    return replace(made, **changes)


def test_a_right_solution_passes():
    problem = diamond()
    made = solution(problem, [0, 1, 2, 3])
    check(problem, made)
    assert (made.cost, made.size) == (36, 4)


def test_unneeded_classes_are_not_chosen():
    problem = diamond()
    assert closure(problem, np.array([0, 1, 2, 4])).tolist() == [0, -1, 2, 4]


def test_children_are_listed_once():
    assert diamond(children=[[], [0], [0], [2, 1, 2], [2], [3]]).children(3) == [2, 1]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([0, 1, 2, -1], "no row is chosen"),
        ([0, -1, 2, 3], "no row is chosen"),
        ([0, 1, 1, 3], "belongs to class"),
        ([0, 1, 9, 3], "no row is chosen"),
        ([0, 1, 5, 3], "cycle"),
        ([0, 1, 2, 4], "does not need it"),
        ([0, 1, 2], "choices for 4 classes"),
    ],
)
def test_a_wrong_choice_is_refused(chosen, message):
    problem = diamond()
    rows = np.array(chosen)
    with pytest.raises(ExtractionError, match=message):
        check(problem, Solution(rows, 36, 4, 0, "test"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost": 35}, "are claimed"),
        ({"size": 3}, "are claimed"),
        ({"lower_bound": 37}, "above the cost"),
    ],
)
def test_wrong_claims_are_refused(changes, message):
    problem = diamond()
    with pytest.raises(ExtractionError, match=message):
        check(problem, solution(problem, [0, 1, 2, 3], **changes))


def test_a_solution_above_the_budget_is_refused():
    problem = diamond(size_budget=3)
    with pytest.raises(ExtractionError, match="above the budget of 3"):
        check(problem, solution(problem, [0, 1, 2, 3]))


@pytest.mark.parametrize("name", ["cost", "size"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1, "negative"),
        (float("nan"), "not finite"),
        (float("inf"), "not finite"),
        (0.5, "whole number"),
        (2.0**63, "sum to more"),
    ],
)
def test_unusable_numbers_are_refused(name, value, message):
    with pytest.raises(ExtractionError, match=message):
        diamond(**{name: [0, 0, value, 0, 0, 0]})


def test_whole_floats_are_taken():
    assert diamond(cost=[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]).cost.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"root": -1}, "does not exist"),
        ({"cost": [1, 2]}, "differ in length"),
        ({"size_budget": -1}, "negative"),
        ({"node_class": [0, 1, 2, 3, 3, -2]}, "outside"),
        ({"cost": ["a"] * 6}, "expected numbers"),
    ],
)
def test_malformed_problems_are_refused(changes, message):
    with pytest.raises(ExtractionError, match=message):
        diamond(**changes)


def test_child_starts_must_fit():
    zeros = np.zeros(1, dtype=np.int64)
    with pytest.raises(ExtractionError, match="delimit"):
        Problem(zeros, np.array([0, 2]), zeros, zeros, zeros, 0, 1)


def test_tags_stay_the_callers():
    assert diamond().tag.tolist() == [0, 1, 2, 3, 4, 5]


def test_an_incumbent_only_gets_better():
    problem = diamond(size_budget=5)
    incumbent = Incumbent(problem)
    assert incumbent.limit == 76
    assert incumbent.consider(np.array([0, 1, 2, 3]))
    assert not incumbent.consider(np.array([0, 1, 2, 3])), "equal is not better"
    assert not incumbent.consider(np.array([0, -1, 2, 4])), "too large"
    assert incumbent.limit == 36


def test_proved_and_gap():
    made = solution(diamond(), [0, 1, 2, 3], lower_bound=27, stop=Stop.TIME_LIMIT)
    assert not made.proved
    assert made.gap == 0.25
    assert replace(made, lower_bound=36).proved


@pytest.mark.parametrize("price", [float("nan"), float("inf"), -1.0])
def test_prices_that_are_no_amounts_are_refused(price):
    space = explored("input x: f32[4]\ny = Relu(x)\noutput y\n").space
    prices = np.full(len(space.queries), price)
    with pytest.raises(ExtractionError, match=r"cost of row \d+: .* is (not finite|negative)"):
        space.problem(prices, np.zeros(len(prices), dtype=bool), None)
