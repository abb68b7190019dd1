"""Axioms of reductions that do not look at sizes: kept axes, factors, summands, nested and moved ones."""

from __future__ import annotations

from tensaur.ir.operator import Operator
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, OpVar, Var, build
from tensaur.ops import (
    REDUCTIONS,
    ReduceMean,
    add,
    mul,
    neg,
    reduce_max,
    reduce_mean,
    reduce_sum,
    reshape,
    transpose,
    unsqueeze,
)
from tensaur.proving.axioms.conditions import (
    inverse_count,
    is_never_empty,
    kept_axes,
    kept_axes_unless_same,
    one_each,
    still_left,
)
from tensaur.proving.axioms.kinds import GROWING
from tensaur.rules.axes import axes_from, axes_together, permutation_left, target_shape
from tensaur.rules.conditions import is_float, same_type

x, y, s = Var("x"), Var("y"), Var("s")
p, n, m, keep = (AttrVar(name) for name in ("p", "n", "m", "keep"))
_reduction = OpVar("f", REDUCTIONS)
_monotone = OpVar("g", GROWING)


def _name(kind: type[Operator]) -> str:
    return kind.__name__.removeprefix("Reduce").lower()


def _every(kind: type[Operator]) -> tuple[Rule, ...]:
    whole = kind is not ReduceMean  # the mean of integers is rounded
    return (
        Rule(
            f"{_name(kind)}-axes",
            build(kind, x, axes=n, keepdims=keep),
            build(kind, x, axes=kept_axes_unless_same(n, x), keepdims=keep),
        ),
        Rule(
            f"{_name(kind)}-kept",
            build(kind, x, axes=n, keepdims=True),
            unsqueeze(build(kind, x, axes=n, keepdims=False), axes=kept_axes(n, x)),
        ),
        Rule(
            f"{_name(kind)}-transposed",
            build(kind, transpose(x, perm=p), axes=n, keepdims=keep),
            transpose(
                build(kind, x, axes=axes_from(p, n), keepdims=keep),
                perm=permutation_left(p, n, keep),
            ),
            exactness=ROUNDING,
            integers=whole,
        ),
        Rule(
            f"{_name(kind)}-twice",
            build(kind, build(kind, x, axes=n, keepdims=keep), axes=m, keepdims=keep),
            build(kind, x, axes=axes_together(n, m, keep, x), keepdims=keep),
            exactness=ROUNDING,
            integers=whole,
        ),
    )


_sum = reduce_sum(x, axes=n, keepdims=keep)

_SUMS = (
    Rule(
        "reduced-sum",
        reduce_sum(add(x, y), axes=n, keepdims=keep),
        add(_sum, reduce_sum(y, axes=n, keepdims=keep)),
        (same_type(x, y),),
        ROUNDING,
        integers=True,
    ),
    Rule(
        "reduced-negated",
        reduce_sum(neg(x), axes=n, keepdims=keep),
        neg(_sum),
        (),
        ROUNDING,
        integers=True,
    ),
    Rule(
        "reduced-scaled",
        reduce_sum(mul(x, s), axes=n, keepdims=keep),
        mul(_sum, s),
        (still_left(s, n, keep, x),),
        ROUNDING,
        integers=True,
    ),
    Rule(
        "mean",
        reduce_mean(x, axes=n, keepdims=keep),
        mul(_sum, Const(inverse_count(n, x))),
        (is_float(x),),
        ROUNDING,
    ),
    Rule(
        "reduce-one",
        _reduction(x),
        reshape(x, Const(target_shape(x, _reduction(x))), allowzero=False),
        (one_each(_reduction, x),),
        ROUNDING,
        integers=True,
    ),
    Rule(
        "monotone-of-greatest",
        _monotone(reduce_max(x, axes=n, keepdims=keep)),
        reduce_max(_monotone(x), axes=n, keepdims=keep),
        (is_never_empty(n, x),),
        ROUNDING,
    ),
)

RULES = (*(rule for kind in REDUCTIONS for rule in _every(kind)), *_SUMS)
