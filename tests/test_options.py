"""Options: defaults make sense, what does not is refused in a line."""

import numpy as np
import pytest

from tensaur.cost.objective import METRICS
from tensaur.errors import UsageError
from tensaur.options import CYCLE_FILTERS, EXTRACTORS, MATHS, Options


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"cost": "money"},
            "cost: 'money' is not a metric (metrics: latency, flops, bytes, launches, size)",
        ),
        ({"cost": 3}, "cost: 3 is no text, no function and has neither quote nor price"),
        ({"limits": ["size"]}, "limits: ['size'] is not a mapping of metrics to numbers"),
        (
            {"limits": {"latency": 1}},
            "limit: 'latency' is not one of peak_memory, size, flops, bytes, launches",
        ),
        ({"limits": {"size": -1}}, "limit of size: -1 is below 0"),
        ({"limits": {"size": float("nan")}}, "limit of size: nan is below 0"),
        ({"limits": {"size": float("inf")}}, "limit of size: inf is no limit"),
        ({"limits": {"size": "1MB"}}, "limit of size: '1MB' is not a number"),
        (
            {"extract": "best"},
            "extract: 'best' is not one of ilp, dag, tree, ilp-highs, ilp-cpsat, ilp-real, "
            "ilp-integer, ilp-acyclic",
        ),
        ({"cycle_filter": "all"}, "cycle_filter: 'all' is not one of efficient, vanilla, none"),
        ({"math": "loose"}, "math: 'loose' is not one of exact, rounding, fast"),
        ({"seconds": -1.0}, "seconds: -1.0 is below 0"),
        ({"seconds": float("nan")}, "seconds: nan is below 0"),
        ({"nodes": 0}, "nodes: 0 is below 1"),
        ({"iterations": -1}, "iterations: -1 is below 0"),
        ({"multi": -1}, "multi: -1 is below 0"),
        ({"threads": 0}, "threads: 0 is below 1"),
        ({"seconds": "5"}, "seconds: '5' is not a number"),
        ({"threads": 1.5}, "threads: 1.5 is not a whole number"),
        ({"iterations": None}, "iterations: None is not a whole number"),
        ({"sizes": ["n"]}, "sizes: ['n'] is not a mapping of names to sizes"),
        ({"sizes": {"n": 2.5}}, "size of n: 2.5 is not a whole number"),
        ({"rules": [1]}, "rules: [1] are not all rules"),
        ({"seed": -1}, "seed: -1 is below 0"),
        ({"max_growth": -1}, "max_growth: -1 is negative"),
        ({"sizes": {"n": 1, "m": 0}}, "size of m: 0 is below 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_refusals(changes, message):
    with pytest.raises(UsageError) as caught:
        Options(**changes)
    assert str(caught.value) == message


def test_integers_of_numpy_are_integers():
    options = Options(threads=np.int64(2), sizes={"n": np.int32(3)})
    assert options.threads == 2
    assert type(options.sizes["n"]) is int


def test_more_threads_than_any_machine_has():
    with pytest.raises(UsageError, match=r"^threads: 100000 is above \d+$"):
        Options(threads=100_000)


@pytest.mark.parametrize("cost", METRICS)
@pytest.mark.parametrize("extract", EXTRACTORS)
@pytest.mark.parametrize("math", MATHS)
@pytest.mark.parametrize("cycle_filter", CYCLE_FILTERS)
def test_every_choice_is_accepted(cost, extract, math, cycle_filter):
    assert Options(cost=cost, extract=extract, math=math, cycle_filter=cycle_filter).cost == cost


@pytest.mark.parametrize(
    ("given", "original", "budget"),
    [(None, 0, 1 << 20), (None, 10**9, 10**7), (0, 10**9, 0), (5, 0, 5)],
)
def test_how_much_a_file_may_grow(given, original, budget):
    assert Options(max_growth=given).growth_budget(original) == budget


def test_a_limit_on_size_bounds_the_growth():
    assert Options(limits={"size": 900}).growth_budget(1000) == -100
    assert Options(limits={"size": 1010}, max_growth=5).growth_budget(1000) == 5


def test_no_time_and_endless_time_are_times():
    assert Options(seconds=0).seconds == 0
    assert Options(seconds=float("inf")).seconds == float("inf")
