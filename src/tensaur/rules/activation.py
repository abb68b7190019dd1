"""Rules that recognise activation functions written out, and that simplify bounds."""

from __future__ import annotations

from math import pi, sqrt

from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Derived, Term, Var
from tensaur.ir.types import DType
from tensaur.ops import (
    add,
    clip,
    div,
    erf,
    exp,
    gelu,
    hard_sigmoid,
    hard_swish,
    log,
    log_softmax,
    max_,
    min_,
    mul,
    neg,
    pow_,
    reciprocal,
    reduce_max,
    reduce_sum,
    relu,
    sigmoid,
    softmax,
    softplus,
    sub,
    tanh,
    transpose,
)
from tensaur.rules.axes import axis_to_last, only_axis, same_axes
from tensaur.rules.bounds import higher, inverse_of, is_inverse, lower, overlap, ratio, same_number
from tensaur.rules.conditions import (
    absorbs,
    between,
    constant,
    filled,
    has_dtype,
    is_float,
    like,
    near,
    near_number,
    number,
    one_element,
    ordered,
    scalar,
    varying,
)

x, y, a, b, c, d, e, h, lo, hi, s, one, half = (
    Var(name) for name in ["x", "y", "a", "b", "c", "d", "e", "h", "lo", "hi", "s", "one", "half"]
)
n, m = AttrVar("n"), AttrVar("m")
alpha, beta = AttrVar("alpha"), AttrVar("beta")


def _is(value: Var, constant_value: float, along: Var = x) -> tuple[Derived, ...]:
    return near(value, constant_value), absorbs(along, value)


_LOGISTIC = (
    Rule(
        "recognise-sigmoid",
        reciprocal(add(exp(neg(x)), one)),
        sigmoid(x),
        when=_is(one, 1.0),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-sigmoid-as-quotient",
        div(c, add(exp(neg(x)), one)),
        sigmoid(x),
        when=(*_is(one, 1.0), *_is(c, 1.0)),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-gated-sigmoid",
        div(x, add(exp(neg(x)), one)),
        mul(x, sigmoid(x)),
        when=_is(one, 1.0),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-softplus",
        log(add(exp(x), one)),
        softplus(x),
        when=(*_is(one, 1.0), varying(x)),
        exactness=FAST,
    ),
    Rule(
        "recognise-tanh",
        sub(mul(sigmoid(mul(x, a)), b), one),
        tanh(x),
        when=(*_is(a, 2.0), *_is(b, 2.0), *_is(one, 1.0)),
        exactness=ROUNDING,
    ),
)

_clipped = clip(add(x, b), lo, hi)
_whole_range = (filled(lo, 0.0), one_element(b), one_element(h), absorbs(x, b), absorbs(x, h))

_HARD = (
    Rule(
        "recognise-hard-sigmoid",
        div(_clipped, h),
        hard_sigmoid(x, alpha=inverse_of(h), beta=ratio(b, h)),
        when=(same_number(hi, h), *_whole_range),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-scaled-hard-sigmoid",
        mul(_clipped, h),
        hard_sigmoid(x, alpha=inverse_of(hi), beta=ratio(b, hi)),
        when=(is_inverse(hi, h), *_whole_range),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-gated-hard-sigmoid",
        div(mul(x, _clipped), h),
        mul(x, hard_sigmoid(x, alpha=inverse_of(h), beta=ratio(b, h))),
        when=(same_number(hi, h), *_whole_range),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-scaled-gated-hard-sigmoid",
        mul(mul(x, _clipped), h),
        mul(x, hard_sigmoid(x, alpha=inverse_of(hi), beta=ratio(b, hi))),
        when=(is_inverse(hi, h), *_whole_range),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-clipped-line",
        clip(add(mul(x, a), b), lo, hi),
        hard_sigmoid(x, alpha=number(a), beta=number(b)),
        when=(
            filled(lo, 0.0),
            filled(hi, 1.0),
            one_element(a),
            one_element(b),
            absorbs(x, a),
            absorbs(x, b),
        ),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-hard-swish",
        mul(x, hard_sigmoid(x, alpha=alpha, beta=beta)),
        hard_swish(x),
        when=(near_number(alpha, 1 / 6), near_number(beta, 0.5), has_dtype(x, DType.FLOAT32)),
        exactness=ROUNDING,
    ),
    Rule(
        "hard-swish-as-product",
        hard_swish(x),
        mul(x, hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
        exactness=ROUNDING,
    ),
)


def _halved_products(factor: Term) -> dict[str, Term]:
    """The ways to write x * factor / 2."""
    return {
        "outside": mul(mul(x, factor), half),
        "first": mul(mul(x, half), factor),
        "inside": mul(x, mul(factor, half)),
    }


_cube = {"power": pow_(x, e), "product": mul(mul(x, x), x)}
_normal = {
    "quotient": (div(x, c), near(c, sqrt(2.0))),
    "product": (mul(x, c), near(c, sqrt(0.5))),
}

_GELU = (
    *(
        Rule(
            f"recognise-gelu-{place}-{form}",
            term,
            gelu(x, approximate="none"),
            when=(*_is(half, 0.5), *_is(one, 1.0), condition, absorbs(x, c)),
            exactness=ROUNDING,
        )
        for form, (argument, condition) in _normal.items()
        for place, term in _halved_products(add(erf(argument), one)).items()
    ),
    *(
        Rule(
            f"recognise-tanh-gelu-{place}-{form}",
            term,
            gelu(x, approximate="tanh"),
            when=(
                *_is(half, 0.5),
                *_is(one, 1.0),
                *_is(c, sqrt(2 / pi)),
                *_is(d, 0.044715),
                *(_is(e, 3.0) if form == "power" else ()),
            ),
            exactness=ROUNDING,
        )
        for form, cube in _cube.items()
        for place, term in _halved_products(add(tanh(mul(add(x, mul(cube, d)), c)), one)).items()
    ),
)

_shifted = exp(sub(x, reduce_max(x, axes=n, keepdims=True)))

_SOFTMAX = (
    Rule(
        "recognise-softmax",
        div(_shifted, reduce_sum(_shifted, axes=m, keepdims=True)),
        softmax(x, axis=only_axis(n, x)),
        when=(same_axes(n, m, x),),
        exactness=ROUNDING,
    ),
    Rule(
        "recognise-plain-softmax",
        div(exp(x), reduce_sum(exp(x), axes=n, keepdims=True)),
        softmax(x, axis=only_axis(n, x)),
        exactness=FAST,
    ),
    Rule(
        "recognise-log-softmax",
        log(softmax(x, axis=n)),
        log_softmax(x, axis=n),
        exactness=FAST,
    ),
    # Runtimes reduce the last axis fastest.
    Rule(
        "softmax-along-last-axis",
        softmax(x, axis=n),
        transpose(softmax(transpose(x, perm=axis_to_last(x, n)), axis=-1), perm=axis_to_last(x, n)),
        exactness=ROUNDING,
    ),
)

_BOUNDS = (
    Rule(
        "maximum-as-relu",
        max_(x, c),
        relu(x),
        when=(filled(c, 0.0), absorbs(x, c), is_float(x)),
        exactness=ROUNDING,
    ),
    Rule("clip-as-relu", clip(x, c), relu(x), when=(filled(c, 0.0),), exactness=ROUNDING),
    Rule(
        "minimum-of-maximum",
        min_(max_(x, lo), hi),
        clip(x, lo, hi),
        when=(constant(lo, hi), scalar(lo), scalar(hi)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "maximum-of-minimum",
        max_(min_(x, hi), lo),
        clip(x, lo, hi),
        when=(scalar(lo), scalar(hi), ordered(lo, hi)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "clip-twice",
        clip(clip(x, a, b), lo, hi),
        clip(x, Const(like(x, higher(a, lo))), Const(like(x, lower(b, hi)))),
        when=(overlap(a, b, lo, hi),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "clip-relu",
        clip(relu(x), lo, hi),
        clip(x, Const(like(x, higher(lo, 0.0))), hi),
        exactness=ROUNDING,
    ),
    Rule(
        "relu-clipped",
        relu(clip(x, lo, hi)),
        clip(x, Const(like(x, higher(lo, 0.0))), hi),
        when=(between(hi, 0.0, 3e38),),
        exactness=ROUNDING,
    ),
    Rule(
        "scale-relu",
        mul(relu(x), s),
        relu(mul(x, s)),
        when=(between(s, 0.0, 1e30), varying(x)),
        exactness=ROUNDING,
        both_ways=True,
    ),
)

RULES = (*_LOGISTIC, *_HARD, *_GELU, *_SOFTMAX, *_BOUNDS)
