"""Corners that random draws hardly ever reach are reached on purpose."""

from __future__ import annotations

import pytest

from tensaur.ir.rule import Rule
from tensaur.ir.term import OpVar, Var
from tensaur.ir.types import DType
from tensaur.ops import Transpose, add, max_, where
from tensaur.rules import ALL_RULES
from tensaur.synth.verify import verify
from tests.synth.sweep import mutants_of

x, y, c = Var("x"), Var("y"), Var("c")

INTEGERS = (
    DType.INT8,
    DType.INT16,
    DType.INT32,
    DType.INT64,
    DType.UINT8,
    DType.UINT32,
    DType.UINT64,
)

# Wrong for a scale of higher rank than the result of a convolution, and for a choice among Booleans where the
# condition is not cut; and for windows that see nothing but padding.
RARELY_WRONG = {
    "convolution-absorb-scale-and-bias": "condition-dropped-3",
    "slicing-slice-selection": "variable-changed-1",
    "pooling-swap-maximum": "condition-dropped-1",
}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", RARELY_WRONG)
def test_what_is_wrong_in_a_corner_is_refuted(name: str, seed: int):
    (rule,) = (rule for rule in ALL_RULES if rule.name == name)
    (mutant,) = (
        item for item in mutants_of(rule) if item.rule.name == f"{name}-{RARELY_WRONG[name]}"
    )
    assert verify(mutant.rule, seed, examples=1).counterexample is not None


@pytest.mark.parametrize("seed", range(5))
def test_axes_reversed_of_ranks_that_are_not_seen_are_tried(seed: int):
    reverse = OpVar("t", (Transpose,))
    rule = Rule("reversed", add(reverse(x), reverse(y)), reverse(add(x, y)))
    assert verify(rule, seed, examples=1).counterexample is not None


def test_every_element_type_is_tried():
    (coverage,) = verify(Rule("twice", max_(x, max_(x, y)), max_(x, y))).directions
    assert coverage.dtypes >= {
        DType.FLOAT16,
        DType.BFLOAT16,
        DType.FLOAT32,
        DType.FLOAT64,
        *INTEGERS,
    }


def test_conditions_of_the_type_of_what_they_choose_are_tried():
    rule = Rule("chosen", where(c, x, where(c, y, x)), where(c, x, x))
    (coverage,) = verify(rule).directions
    alike = [item for item in coverage.tested if len({kind.dtype for kind in item.leaves}) == 1]
    assert len(alike) >= 4


def test_every_order_of_ranks_is_tried():
    rule = Rule("sum", add(x, y), add(y, x))
    (coverage,) = verify(rule).directions
    orders = {
        (first.rank or 0) > (second.rank or 0)
        for item in coverage.tested
        for first, second in [item.leaves]
    }
    assert orders == {True, False}
    assert coverage.ranks >= {0, 1, 2, 3}
