"""The language of costs: what it takes, what it refuses, and in which words."""

import pytest

from tensaur.cost.objective import METRICS, Objective, objective
from tensaur.errors import UsageError


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("latency", {"latency": 1}),
        ("latency + 0.1*bytes", {"latency": 1, "bytes": 0.1}),
        ("  bytes*.5+2e-1 *latency ", {"latency": 0.2, "bytes": 0.5}),
        ("2*(flops + 3*(size))*2", {"flops": 4, "size": 12}),
        ("size + size", {"size": 2}),
        ("0*flops + launches", {"launches": 1}),
        ("0 + bytes", {"bytes": 1}),
    ],
)
def test_sums_are_factors_of_metrics(text, factors):
    found = objective(text)
    assert dict(found.factors) == factors
    assert [found.factor(name) for name in METRICS] == [factors.get(name, 0) for name in METRICS]


def test_whole_factors_stay_whole():
    assert [type(factor) for _, factor in objective("2.0*bytes + 1e3*flops").factors] == [int, int]


@pytest.mark.parametrize(
    ("text", "unit", "is_latency"),
    [
        ("latency", "ns", True),
        ("1*latency", "ns", True),
        ("2*latency", "2*latency", True),
        ("flops", "flops", False),
        (" latency  +  bytes", "latency + bytes", False),
    ],
)
def test_units(text, unit, is_latency):
    found = objective(text)
    assert (found.unit, found.is_latency) == (unit, is_latency)


ALL = "metrics: latency, flops, bytes, launches, size"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latncy", f"'latncy' is not a metric, perhaps latency ({ALL})"),
        ("0.1*byte + latency", f"'byte' is not a metric, perhaps bytes ({ALL})"),
        ("qqq", f"'qqq' is not a metric ({ALL})"),
        ("peak_memory", "'peak_memory' is no sum over operators: it can only be a limit"),
        ("-1*bytes", "'-1' is negative, factors are not"),
        ("latency - bytes", "expected + or * before '-'"),
        ("nan*bytes", "'nan' is not a finite factor"),
        ("inf*bytes", "'inf' is not a finite factor"),
        ("1e999*bytes", "1e999 is not finite"),
        ("1e300*1e300*bytes", "the factor of bytes is inf, expected a finite one"),
        ("0*bytes", "no metric has a factor above 0"),
        ("latency*bytes", "latency times bytes: only numbers are factors"),
        ("latency + 3", "3 stands alone, expected a factor of a metric"),
        ("3", "3 stands alone, expected a factor of a metric"),
        ("2 latency", "expected + or * before 'latency'"),
        ("2*(latency", "a parenthesis is not closed"),
        ("latency)", "expected + or * before ')'"),
        ("latency +", "it ends where a metric is expected (latency, flops, bytes, launches, size)"),
        ("", "it ends where a metric is expected (latency, flops, bytes, launches, size)"),
        (
            "latency + *2",
            "'*' is neither a number nor a metric (latency, flops, bytes, launches, size)",
        ),
        ("latency/2", "expected + or * before '/'"),
        ("__import__('os')", f"'__import__' is not a metric ({ALL})"),
    ],
)
def test_refusals_name_the_bad_part(text, message):
    with pytest.raises(UsageError) as caught:
        objective(text)
    assert str(caught.value) == f"cost: {message}"


def test_functions_and_models_are_costs():
    def mine(op, inputs, output):
        return 1

    class Model:
        def price(self, op, inputs, output):
            return 1

    assert objective(mine) == Objective("mine", own=mine)
    assert objective(mine).unit == "mine" and not objective(mine).is_latency
    assert objective(Model()).text == "Model"


@pytest.mark.parametrize("given", [3, None, ["latency"]])
def test_other_things_are_refused(given):
    with pytest.raises(UsageError, match="is no text, no function and has neither quote nor price"):
        objective(given)
