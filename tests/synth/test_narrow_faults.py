"""Rules that are wrong in one corner only are refuted, and verified once that corner is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tensaur.ir.rule import EXACT, FAST, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Var, derived
from tensaur.ir.types import Fact, Known
from tensaur.ops import (
    abs_,
    add,
    div,
    mul,
    reduce_mean,
    reduce_prod,
    reduce_sum,
    sqrt,
    sub,
    transpose,
)
from tensaur.rules import ALL_RULES
from tensaur.rules.axes import compose
from tensaur.rules.conditions import absorbs, constant, filled, nonzero
from tensaur.synth.verify import verify

SEEDS = range(5)
x, y, c = (Var(name) for name in "xyc")
p, q = AttrVar("p"), AttrVar("q")


@dataclass(frozen=True)
class Fault:
    """A rule that is wrong in one corner, and the rule without that corner."""

    corner: str
    wrong: Rule
    right: Rule


def _library(corner: str, name: str, condition: str) -> Fault:
    """Return a rule of the library beside itself without one condition."""
    (right,) = (rule for rule in ALL_RULES if rule.name == name)
    rest = tuple(item for item in right.when if item.function.__name__ != condition)
    assert len(rest) == len(right.when) - 1
    return Fault(corner, replace(right, name=f"{name}-anywhere", when=rest), right)


def _also_when(corner: str, wrong: Rule, *conditions: object) -> Fault:
    name = f"{wrong.name}-where-right"
    return Fault(corner, wrong, replace(wrong, name=name, when=(*wrong.when, *conditions)))  # type: ignore[arg-type]


@derived
def composed_but_for_cubes(second: tuple[int, ...], first: tuple[int, ...]) -> tuple[int, ...]:
    """Compose two permutations, in the wrong order for three axes."""
    order = (second, first) if len(first) != 3 else (first, second)
    return tuple(compose.function(*order))  # type: ignore[attr-defined]  # set by `derived`


@derived
def other_than_three(perm: tuple[int, ...]) -> bool:
    """Whether there are not three axes."""
    return len(perm) != 3


@derived
def last_size(fact: Fact, less: int) -> Known:
    """How large the last axis is, less a number, which may be all there is."""
    (*_, size) = fact.tensor.static_shape or ()
    return Known.of(np.array(float(size - less)), fact.dtype)


@derived
def last_size_is_not(fact: Fact, size: int) -> bool:
    """Whether the last axis certainly has another size."""
    shape = fact.tensor.static_shape
    return bool(shape) and shape[-1] != size  # type: ignore[index]


_sum = reduce_sum(x, axes=(-1,), keepdims=True)
_root = sqrt(add(reduce_mean(mul(x, x), axes=(-1,), keepdims=True), c))
_plain_root = sqrt(reduce_mean(mul(x, x), axes=(-1,), keepdims=True))

_nothing = (mul(abs_(x), c), mul(c, c), (filled(c, 0.0), absorbs(c, x)))
_back = (sub(add(x, y), y), x, (absorbs(x, y),))

FAULTS = (
    _also_when(
        "one rank",
        Rule("compose-transpositions", transpose(transpose(x, perm=p), perm=q),
             transpose(x, perm=composed_but_for_cubes(q, p))),
        other_than_three(p),
    ),
    _library("groups", "convolution-join-sum", "is_ungrouped"),
    _library("broadcasting", "elementwise-add-zero", "absorbs"),
    _library("padded borders", "convolution-of-shifted", "is_unpadded"),
    _library("padded borders of a mean", "pooling-swap-mean-with-bias", "leaves_out_padding"),
    _also_when(
        "size 0",
        Rule("product-in-two-halves", reduce_prod(x, axes=(-1,), keepdims=True),
             div(mul(reduce_prod(x, axes=(-1,), keepdims=True), Const(last_size(x, 0))),
                 Const(last_size(x, 0))), (), ROUNDING),
        last_size_is_not(x, 0),
    ),
    _also_when(
        "size 1",
        Rule("sum-of-all-but-one", _sum,
             div(mul(_sum, Const(last_size(x, 1))), Const(last_size(x, 1))), (), ROUNDING),
        last_size_is_not(x, 1),
    ),
    Fault("NaN and infinities", Rule("nothing-of-anything", *_nothing, EXACT), Rule("nothing-of-numbers", *_nothing, FAST)),
    Fault("NaN alone", Rule("back-from-anything", *_back, ROUNDING), Rule("back-from-numbers", *_back, FAST)),
    _also_when(
        "a dropped epsilon",
        Rule("no-epsilon", div(x, _root), div(x, _plain_root), (constant(c), absorbs(x, c)), ROUNDING),
        filled(c, 0.0),
    ),
    Fault(
        "overflow of integers",
        Rule("scaled-and-back", div(mul(x, c), c), x, (nonzero(c), absorbs(x, c)), ROUNDING, integers=True),
        Rule("scaled-and-back-of-floats", div(mul(x, c), c), x, (nonzero(c), absorbs(x, c)), ROUNDING),
    ),
    _library("low precision", "elementwise-cast-twice", "keeps_every_value"),
)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.corner)
def test_corner_is_found(fault: Fault, seed: int):
    found = verify(fault.wrong, seed, examples=1)
    assert found.counterexample is not None, str(found)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.corner)
def test_rule_without_the_corner_is_verified(fault: Fault):
    found = verify(fault.right, trials=12)
    assert found.verified, str(found)
