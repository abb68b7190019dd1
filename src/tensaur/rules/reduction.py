"""Rules of reductions and global pooling: merged, moved, recognised."""

from __future__ import annotations

from tensaur.ir.operator import Operator
from tensaur.ir.rule import EXACT, ROUNDING, Rule
from tensaur.ir.term import AttrVar, OpVar, Var, build
from tensaur.ops import (
    REDUCTIONS,
    ReduceMean,
    ReduceSum,
    average_pool,
    div,
    global_average_pool,
    global_max_pool,
    mul,
    reduce_max,
    reduce_mean,
    reduce_sum,
    squeeze,
    transpose,
)
from tensaur.rules.axes import (
    axes_from,
    axes_together,
    is_spatial,
    permutation_left,
    same_axes,
    spatial_axes,
)
from tensaur.rules.conditions import absorbs, constant, is_float, same_type, scalar, varying
from tensaur.rules.windows import covers_space, is_count, is_inverse_count

x, c, s = Var("x"), Var("c"), Var("s")
p, n, m, keep = AttrVar("p"), AttrVar("n"), AttrVar("m"), AttrVar("keep")
kernel, strides, pads, dilations, ceil_mode, include = (
    AttrVar(name) for name in ("kernel", "strides", "pads", "dilations", "ceil", "include")
)
_reduction = OpVar("f", REDUCTIONS)


def _name(kind: type[Operator]) -> str:
    return kind.__name__.removeprefix("Reduce").lower()


_EVERY = tuple(
    rule
    for kind in REDUCTIONS
    for rule in (
        Rule(
            f"{_name(kind)}-transposed",
            build(kind, transpose(x, perm=p), axes=n, keepdims=keep),
            transpose(
                build(kind, x, axes=axes_from(p, n), keepdims=keep),
                perm=permutation_left(p, n, keep),
            ),
            exactness=ROUNDING,
            integers=kind is not ReduceMean,
        ),
        Rule(
            f"{_name(kind)}-twice",
            build(kind, build(kind, x, axes=n, keepdims=keep), axes=m, keepdims=keep),
            build(kind, x, axes=axes_together(n, m, keep, x), keepdims=keep),
            exactness=ROUNDING,
            integers=kind is not ReduceMean,
        ),
        Rule(
            f"{_name(kind)}-squeezed",
            squeeze(build(kind, x, axes=n, keepdims=True), axes=m),
            build(kind, x, axes=n, keepdims=False),
            when=(same_axes(n, m, x),),
            exactness=EXACT,
        ),
    )
)

_SCALED = tuple(
    Rule(
        f"{_name(kind)}-scaled",
        build(kind, mul(x, s), axes=n, keepdims=keep),
        mul(build(kind, x, axes=n, keepdims=keep), s),
        when=(constant(s), scalar(s), varying(x)),
        exactness=ROUNDING,
        integers=kind is ReduceSum,
    )
    for kind in (ReduceSum, ReduceMean)
)

_RECOGNISED = (
    Rule(
        "nothing",
        _reduction(x),
        x,
        when=(same_type(_reduction(x), x),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "recognise-mean",
        div(reduce_sum(x, axes=n, keepdims=keep), c),
        reduce_mean(x, axes=n, keepdims=keep),
        when=(
            is_count(c, n, x),
            absorbs(reduce_sum(x, axes=n, keepdims=keep), c),
            is_float(x),
        ),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-scaled-mean",
        mul(reduce_sum(x, axes=n, keepdims=keep), c),
        reduce_mean(x, axes=n, keepdims=keep),
        when=(
            is_inverse_count(c, n, x),
            absorbs(reduce_sum(x, axes=n, keepdims=keep), c),
            is_float(x),
        ),
        exactness=ROUNDING,
    ),
    Rule(
        "mean-as-global-pool",
        reduce_mean(x, axes=n, keepdims=True),
        global_average_pool(x),
        when=(is_spatial(n, x),),
        exactness=ROUNDING,
    ),
    Rule(
        "global-pool-as-mean",
        global_average_pool(x),
        reduce_mean(x, axes=spatial_axes(x), keepdims=True),
        exactness=ROUNDING,
    ),
    Rule(
        "maximum-as-global-pool",
        reduce_max(x, axes=n, keepdims=True),
        global_max_pool(x),
        when=(is_spatial(n, x),),
        exactness=ROUNDING,
    ),
    Rule(
        "global-pool-as-maximum",
        global_max_pool(x),
        reduce_max(x, axes=spatial_axes(x), keepdims=True),
        exactness=ROUNDING,
    ),
    Rule(
        "pool-as-global-pool",
        average_pool(
            x,
            kernel=kernel,
            strides=strides,
            pads=pads,
            dilations=dilations,
            ceil_mode=ceil_mode,
            count_include_pad=include,
        ),
        global_average_pool(x),
        when=(covers_space(kernel, pads, dilations, x),),
        exactness=ROUNDING,
    ),
)

RULES = (*_EVERY, *_SCALED, *_RECOGNISED)
