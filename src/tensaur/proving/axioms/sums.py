"""Axioms by elements, the adding half: reductions are of rows, products are sums of products.

For known sizes alone. With these and `movements`, whatever moves, adds and multiplies comes to one form:
sums, over rows in a fixed order, of products of arranged leaves.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from tensaur.ir.operator import Input, Literal, Operator
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Apply, AttrVar, Const, OpVar, Seq, Term, Var, build
from tensaur.ops import (
    REDUCTIONS,
    AveragePool,
    Conv,
    ConvTranspose,
    GlobalAveragePool,
    GlobalMaxPool,
    MatMul,
    MaxPool,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    add,
    div,
    lrn,
    mul,
    pow_,
    reduce_sum,
)
from tensaur.proving.axioms import places as at
from tensaur.proving.axioms import summands
from tensaur.proving.axioms.arrange import arrange
from tensaur.proving.axioms.conditions import ratio
from tensaur.rules.conditions import like, lowest_filled

x, y, z, w, c = (Var(name) for name in "xyzwc")
n, p, q, r, h, keep = (AttrVar(name) for name in ["n", "p", "q", "r", "h", "keep"])
size, alpha, beta, bias = (AttrVar(name) for name in ("size", "alpha", "beta", "bias"))
xs = Seq("x")
_bilinear = OpVar("product", (MatMul, Conv, ConvTranspose))
_mean = OpVar("mean", (AveragePool, GlobalAveragePool))
_greatest = OpVar("greatest", (MaxPool, GlobalMaxPool))


def _ring(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING, integers=True)


def _real(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING)


def _arranged(value: Any, places: Any = p, shape: Any = h) -> Apply:
    return arrange(value, shape=shape, places=places)


def _rows(kind: type[Operator], value: Term) -> Apply:
    return build(kind, value, axes=(-1,), keepdims=False)


def _reduction(kind: type[Operator]) -> tuple[Rule, ...]:
    name = kind.__name__.removeprefix("Reduce").lower()
    whole = build(kind, x, axes=n, keepdims=keep)
    rows = _rows(kind, _arranged(x, at.rows(n, x), at.rows_shape(n, x)))
    twice = (_rows(kind, _rows(kind, x)), _rows(kind, _arranged(x, at.all_places(x), at.merged(x))))
    return (
        _ring(
            f"{name}-of-rows",
            whole,
            _arranged(rows, at.all_places(whole), at.sizes(whole)),
            at.is_not_of_rows(n, keep),
        ),
        _ring(
            f"{name}-picked",
            _arranged(_rows(kind, x)),
            _rows(kind, _arranged(x, at.picked_rows(p, x), at.with_rows(h, x))),
        ),
        _ring(
            f"{name}-in-order",
            _rows(kind, _arranged(xs)),
            _rows(kind, _arranged(xs, at.sorted_rows(h, p))),
        ),
        # The mean of integers is rounded.
        (_real if kind is ReduceMean else _ring)(f"{name}-of-{name}", *twice),
    )


def _extreme(kind: type[Operator]) -> tuple[Rule, ...]:
    name = kind.__name__.removeprefix("Reduce").lower()
    short = at.narrowed(h, p)
    return (
        _ring(
            f"{name}-once",
            _rows(kind, _arranged(xs)),
            _rows(kind, _arranged(xs, at.distinct_rows(h, p))),
        ),
        _ring(
            f"{name}-narrowed",
            _rows(kind, _arranged(xs)),
            _rows(kind, _arranged(xs, at.cut_rows(h, p, short), short)),
            at.is_in_rows(h, p),
        ),
    )


_REDUCTIONS = (
    *(rule for kind in REDUCTIONS for rule in _reduction(kind)),
    *_extreme(ReduceMax),
    *_extreme(ReduceMin),
    _real(
        "greatest-of-windows",
        _greatest(x),
        _rows(
            ReduceMax,
            _arranged(
                x, summands.greatest_places(_greatest, x), summands.greatest_shape(_greatest, x)
            ),
        ),
    ),
    _real(
        "greatest-without-lowest",
        _rows(ReduceMax, arrange(x, c, shape=h, places=p)),
        _rows(ReduceMax, arrange(x, c, shape=h, places=at.rows_without(h, p, x))),
        lowest_filled(c, float("-inf")),
    ),
)


def _sum(value: Term) -> Apply:
    return reduce_sum(value, axes=(-1,), keepdims=False)


def _in_order(*values: Term) -> Rule:
    """Products of arranged factors, in each row in the order of the places of all factors."""
    places = (p, q, r)[: len(values)]
    order = summands.order_of_products(h, *places)
    given = [_arranged(value, place) for value, place in zip(values, places, strict=True)]
    moved = [
        _arranged(value, summands.ordered(place, order))
        for value, place in zip(values, places, strict=True)
    ]
    name = f"{len(values)}-factors-in-order"
    return _ring(name, _sum(reduce(mul, given)), _sum(reduce(mul, moved)))


def _of_sources(*sources: Var) -> Rule:
    """Products whose first factors are of several sources: a sum for each source."""
    factor = arrange(*sources, shape=h, places=p)
    sums = [_of_source(*sources[: number + 1]) for number in range(len(sources))]
    return _ring(
        f"products-of-{len(sources)}-sources",
        _sum(mul(factor, w)),
        reduce(add, sums),
        at.same_sizes(w, factor),
    )


def _of_source(*sources: Var) -> Apply:
    """The sum of those products whose first factor is of the last of some sources."""
    shape = summands.source_shape(h, p, *sources)
    first = _arranged(sources[-1], summands.source_first(h, p, *sources), shape)
    return _sum(mul(first, _arranged(w, summands.source_second(h, p, *sources), shape)))


_nonzero = summands.nonzero_shape(h, p)
_products = summands.product_shape(_bilinear, x, y)

_SUMS = (
    _ring("rows-of-sum", _sum(add(x, y)), add(_sum(x), _sum(y)), at.same_sizes(x, y)),
    _ring(
        "rows-times",
        mul(_sum(x), y),
        _sum(mul(x, _arranged(y, summands.along_rows(y, x), at.sizes(x)))),
        at.same_sizes(_sum(x), y),
        at.is_open(y),
    ),
    # Known factors stay outside, where they meet each other.
    _ring(
        "rows-share-factor",
        _sum(mul(x, c)),
        mul(_sum(x), Const(summands.factor_of_rows(c))),
        at.same_sizes(x, c),
    ),
    _ring(
        "products-with-known-zeros",
        _sum(mul(x, c)),
        _sum(
            mul(
                _arranged(x, summands.places_of_factors(c), summands.shape_of_factors(c)),
                Const(summands.nonzero_factors(c)),
            )
        ),
        at.same_sizes(x, c),
    ),
    _ring(
        "sum-of-nothing",
        _sum(x),
        _arranged(x, summands.zeros(_sum(x), x), at.sizes(_sum(x))),
    ),
    _ring(
        "rows-of-one",
        _sum(_arranged(x)),
        mul(
            _arranged(x, summands.one_of_rows(h, p), summands.outer(h)),
            Const(summands.times_in_rows(h, p, x)),
        ),
    ),
    _ring(
        "products-of-elements",
        _bilinear(x, y),
        _sum(
            mul(
                _arranged(x, summands.left_factors(_bilinear, x, y), _products),
                _arranged(y, summands.right_factors(_bilinear, x, y), _products),
            )
        ),
    ),
    _in_order(x, xs),
    # Of leaves alone: every other form of a factor would be tried with every form of the others.
    _in_order(*(OpVar(name, (Input, Literal))() for name in "abc")),
    _ring(
        "products-without-zeros",
        _sum(mul(_arranged(x), w)),
        _sum(
            mul(
                _arranged(x, summands.nonzero_first(h, p), _nonzero),
                _arranged(w, summands.nonzero_second(h, p), _nonzero),
            )
        ),
        at.same_sizes(w, _arranged(x)),
    ),
    _of_sources(x, y),
    _of_sources(x, y, z),
    _real(
        "mean-of-windows",
        _mean(x),
        mul(
            _sum(_arranged(x, summands.mean_places(_mean, x), summands.mean_shape(_mean, x))),
            Const(summands.mean_weights(_mean, x)),
        ),
    ),
)

_squares = mul(x, x)
_near = _arranged(_squares, summands.neighbours(x, size), summands.neighbours_shape(x, size))

_LOCAL = (
    _real(
        "local-response",
        lrn(x, size=size, alpha=alpha, beta=beta, bias=bias),
        div(
            x,
            pow_(
                add(mul(_sum(_near), Const(like(x, ratio(alpha, size)))), Const(like(x, bias))),
                Const(like(x, beta)),
            ),
        ),
    ),
)

RULES = (*_REDUCTIONS, *_SUMS, *_LOCAL)
