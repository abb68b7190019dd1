"""TenSat's rules in Tensaur's notation: the 133 of TASO's published file, as the general equations they are.

TenSat explores with TASO's rules, pairwise multi-patterns among them. Many of the 133 are one equation with
its operands in another order, along another axis, with or without a fused relu, or are two others in a
row; here each equation is written once. What differs: axes and ranks are not fixed, activations are
operators of their own, and convolutions may have a bias. These rules are for comparing engines; what
Tensaur optimises with is `tensaur.rules`.
"""

from __future__ import annotations

from typing import Any

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, OpVar, Term, Var, derived
from tensaur.ir.types import Fact
from tensaur.ops import Add, Conv, Mul, add, concat, conv, matmul, mul, pad, relu, split
from tensaur.rules.axes import is_axis, normal
from tensaur.rules.conditions import alike_but, ranks_at_least, same_type, shape_of, static
from tensaur.rules.products import sizes_along
from tensaur.rules.windows import is_ungrouped

x, y, z, w, v, b, d = (Var(name) for name in "xyzwvbd")
p, q, r, t = (Var(name) for name in "pqrt")
n, m = AttrVar("n"), AttrVar("m")
_conv = OpVar("conv", (Conv,))
_f = OpVar("f", (Add, Mul))


@derived
def differ(first: int, second: int, fact: Fact) -> bool:
    """Whether two axes of a value are not the same one."""
    rank = len(static(fact))
    return first % rank != second % rank


@derived
def is_product_axis(axis: int, position: int, left: Fact, right: Fact) -> bool:
    """Whether an attribute names axis number `position`, from the right below 0, of a product."""
    rank = max(len(shape_of(left)), len(shape_of(right)))
    return normal(axis, rank) == rank + position


@derived
def twice(groups: int) -> int:
    """The double."""
    return 2 * groups


@derived
def is_border(
    pads: tuple[int, ...],
    more: tuple[int, ...],
    dilations: tuple[int, ...],
    small: Fact,
    large: Fact,
) -> bool:
    """Whether a kernel with a border of zeros and its convolution's pads are as large as another's."""
    first, second = static(small), static(large)
    if len(first) != len(second) or first[1] != second[1] or first[2:] == second[2:]:
        return False
    rank = len(first) - 2
    before, after = pads or (0,) * 2 * rank, more or (0,) * 2 * rank
    for axis, (inner, outer) in enumerate(zip(first[2:], second[2:], strict=True)):
        step = (dilations or (1,) * rank)[axis]
        width = (outer - inner) // 2
        grown = {after[side] - before[side] for side in (axis, axis + rank)}
        if outer < inner or (outer - inner) % 2 or grown != {width * step}:
            return False
    return True


@derived
def border(small: Fact, large: Fact) -> tuple[int, ...]:
    """The pads, of all axes, that make a kernel as large as another one."""
    pairs = zip(static(small)[2:], static(large)[2:], strict=True)
    widths = [0, 0, *((outer - inner) // 2 for inner, outer in pairs)]
    return (*widths, *widths)


def _rule(name: str, find: Any, make: Any, *when: Any, **options: Any) -> Rule:
    return Rule(f"tensat-{name}", find, make, when=when, exactness=ROUNDING, **options)


def _halves(whole: Term, axis: int, first: Var, second: Var, along: int) -> Term:
    """The two parts of what was made for two values joined along an axis."""
    return split(whole, axis=axis, sizes=sizes_along(along, first, second))


_ELEMENTWISE = (
    _rule("sum-order", add(x, add(y, z)), add(y, add(x, z))),
    _rule("product-order", mul(x, mul(y, z)), mul(y, mul(x, z))),
    _rule("distribute", mul(x, add(y, z)), add(mul(x, y), mul(x, z))),
)

_PRODUCTS = (
    _rule(
        "associate",
        matmul(matmul(x, y), z),
        matmul(x, matmul(y, z)),
        ranks_at_least(2, x, y, z),
        both_ways=True,
    ),
    _rule(
        "factor-left",
        add(matmul(x, y), matmul(x, z)),
        matmul(x, add(y, z)),
        same_type(y, z),
    ),
    _rule(
        "factor-right",
        add(matmul(x, z), matmul(y, z)),
        matmul(add(x, y), z),
        same_type(x, y),
    ),
    _rule(
        "sum-of-products",
        add(matmul(x, w), matmul(y, v)),
        matmul(concat(x, y, axis=-1), concat(w, v, axis=-2)),
        ranks_at_least(2, x, y, w, v),
        alike_but(-1, x, y),
        alike_but(-2, w, v),
    ),
    _rule(
        "join-left",
        concat(matmul(x, w), matmul(x, v), axis=n),
        matmul(x, concat(w, v, axis=-1)),
        ranks_at_least(2, x, w, v),
        is_product_axis(n, -1, x, w),
        alike_but(-1, w, v),
    ),
    _rule(
        "join-right",
        concat(matmul(x, w), matmul(y, w), axis=n),
        matmul(concat(x, y, axis=-2), w),
        ranks_at_least(2, x, y, w),
        is_product_axis(n, -2, x, w),
        alike_but(-2, x, y),
    ),
)

_JOINS = (
    _rule(
        "relu-joined", concat(relu(x), relu(y), axis=n), relu(concat(x, y, axis=n)), both_ways=True
    ),
    _rule(
        "pairwise-joined",
        concat(_f(p, q), _f(r, t), axis=n),
        _f(concat(p, r, axis=n), concat(q, t, axis=n)),
        same_type(p, q),
        same_type(r, t),
    ),
    _rule(
        "exchange",
        _f(concat(p, q, axis=n), concat(r, t, axis=n)),
        _f(concat(p, t, axis=n), concat(r, q, axis=n)),
        same_type(p, r),
        same_type(q, t),
    ),
    _rule(
        "joins-exchanged",
        concat(concat(p, q, axis=m), concat(r, t, axis=m), axis=n),
        concat(concat(p, r, axis=n), concat(q, t, axis=n), axis=m),
        differ(n, m, p),
        alike_but(1, p, q),
        same_type(p, r),
        same_type(q, t),
    ),
)

_window = {name: AttrVar(name) for name in ("strides", "pads", "dilations", "group")}
_doubled = {**_window, "group": twice(_window["group"])}


def _convolutions(suffix: str, first: tuple[Var, ...], second: tuple[Var, ...]) -> tuple[Rule, ...]:
    """Return the rules of two convolutions, without or with a bias each."""
    biases = (concat(first[0], second[0], axis=0),) if first else ()
    joined = _conv(x, concat(w, v, axis=0), *biases)
    return (
        _rule(
            f"convolution-join-filters{suffix}",
            concat(_conv(x, w, *first), _conv(x, v, *second), axis=n),
            joined,
            is_axis(n, 1, x),
            is_ungrouped(_conv),
            alike_but(0, w, v),
        ),
        _rule(
            f"convolution-join-groups{suffix}",
            concat(conv(x, w, *first, **_window), conv(y, v, *second, **_window), axis=n),
            conv(concat(x, y, axis=1), concat(w, v, axis=0), *biases, **_doubled),
            is_axis(n, 1, x),
            same_type(x, y),
            same_type(w, v),
        ),
        _rule(
            f"convolution-share-data{suffix}",
            (_conv(x, w, *first), _conv(x, v, *second)),
            _halves(joined, 1, w, v, 0),
            is_ungrouped(_conv),
            alike_but(0, w, v),
        ),
    )


def _batches(suffix: str, bias: tuple[Var, ...]) -> tuple[Rule, ...]:
    """Return the rules of one convolution of several data, without or with a bias."""
    joined = _conv(concat(x, y, axis=0), w, *bias)
    return (
        _rule(
            f"convolution-join-batches{suffix}",
            concat(_conv(x, w, *bias), _conv(y, w, *bias), axis=n),
            joined,
            is_axis(n, 0, x),
            alike_but(0, x, y),
        ),
        _rule(
            f"convolution-share-filter{suffix}",
            (_conv(x, w, *bias), _conv(y, w, *bias)),
            _halves(joined, 0, x, y, 0),
            alike_but(0, x, y),
        ),
    )


_CONVOLUTIONS = (
    _rule(
        "convolution-of-filters",
        _conv(x, add(w, v)),
        add(_conv(x, w), _conv(x, v)),
        same_type(w, v),
    ),
    _rule(
        "convolution-of-sum", _conv(add(x, y), w), add(_conv(x, w), _conv(y, w)), same_type(x, y)
    ),
    _rule(
        "sum-of-convolutions",
        add(_conv(x, w), _conv(y, v)),
        _conv(concat(x, y, axis=1), concat(w, v, axis=1)),
        is_ungrouped(_conv),
        alike_but(1, x, y),
        alike_but(1, w, v),
    ),
    *_convolutions("", (), ()),
    *_convolutions("-with-bias", (b,), (d,)),
    *_batches("", ()),
    *_batches("-with-bias", (b,)),
    _rule(
        "convolution-enlarge",
        (
            conv(x, w, **{**_window, "pads": n, "group": 1}),
            conv(x, v, **{**_window, "group": 1}),
        ),
        _halves(
            conv(
                x,
                concat(pad(w, pads=border(w, v)), v, axis=0),
                **{**_window, "group": 1},
            ),
            1,
            w,
            v,
            0,
        ),
        is_border(n, _window["pads"], _window["dilations"], w, v),
    ),
)

_PAIRS = (
    *(
        _rule(
            f"relu-share-{axis}",
            (relu(x), relu(y)),
            _halves(relu(concat(x, y, axis=axis)), axis, x, y, axis),
            ranks_at_least(2, x, y),
            alike_but(axis, x, y),
        )
        for axis in (0, 1)
    ),
    _rule(
        "share-left",
        (matmul(x, w), matmul(x, v)),
        _halves(matmul(x, concat(w, v, axis=-1)), -1, w, v, -1),
        ranks_at_least(2, x, w, v),
        alike_but(-1, w, v),
    ),
    _rule(
        "share-right",
        (matmul(x, w), matmul(y, w)),
        _halves(matmul(concat(x, y, axis=-2), w), -2, x, y, -2),
        ranks_at_least(2, x, y, w),
        alike_but(-2, x, y),
    ),
)

RULES: tuple[Rule, ...] = (*_ELEMENTWISE, *_PRODUCTS, *_JOINS, *_CONVOLUTIONS, *_PAIRS)
