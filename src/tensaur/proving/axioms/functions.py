"""Axioms of powers, roots, exponentials and order, and definitions by simpler operators.

Roots and logarithms of negative numbers may be taken as those of their absolute values, which is why
``exp(log(x))`` is not ``x`` here: then all equations hold almost everywhere, and cannot contradict.
"""

from __future__ import annotations

import math
from typing import Any

from tensaur.ir.operator import Literal
from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import Apply, AttrVar, Const, OpVar, Var
from tensaur.ir.types import DType
from tensaur.ops import (
    abs_,
    add,
    batch_normalization,
    cast,
    clip,
    div,
    erf,
    exp,
    gelu,
    hard_sigmoid,
    hard_swish,
    layer_normalization,
    log,
    log_softmax,
    max_,
    min_,
    mul,
    neg,
    not_,
    pow_,
    reciprocal,
    reduce_max,
    reduce_mean,
    reduce_sum,
    relu,
    reshape,
    sigmoid,
    softmax,
    softplus,
    sqrt,
    sub,
    tanh,
    where,
)
from tensaur.proving.axioms.conditions import (
    axes_from_on,
    halved_exponent,
    is_in_order,
    less_a_half,
    less_by_one,
    opposite_number,
    rounded,
)
from tensaur.proving.axioms.kinds import GROWING
from tensaur.rules.axes import only
from tensaur.rules.casts import keeps_every_value, to_own_type
from tensaur.rules.conditions import (
    absorbs,
    between,
    filled,
    has_dtype,
    is_float,
    like,
    one_element,
    same_type,
)
from tensaur.rules.windows import column_of

x, y, z, a, b, c, g, lo, hi = (
    Var(name) for name in ["x", "y", "z", "a", "b", "c", "g", "lo", "hi"]
)
scale, bias, mean, var = (Var(name) for name in ("scale", "bias", "mean", "var"))
n, t, u, alpha, beta, epsilon = (
    AttrVar(name) for name in ("n", "t", "u", "alpha", "beta", "epsilon")
)
_monotone = OpVar("f", GROWING)
_literal = Apply(OpVar("c", (Literal,)), (), ())


def _real(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING)


def _ring(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING, integers=True)


def _fast(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, FAST)


def _number(value: Any, along: Var = x) -> Const:
    return Const(like(along, value))


_POWERS = (
    Rule("power-one", pow_(x, c), x, when=(filled(c, 1.0), absorbs(x, c), is_float(x))),
    _real("power-half", pow_(x, c), sqrt(x), filled(c, 0.5), absorbs(x, c)),
    _real("power-quarter", pow_(x, c), sqrt(pow_(x, Const(halved_exponent(c)))), is_float(x)),
    _real("power-and-half", pow_(x, c), mul(pow_(x, Const(less_a_half(c))), sqrt(x)), is_float(x)),
    _real("power-next", pow_(x, c), mul(pow_(x, Const(less_by_one(c))), x), is_float(x)),
    _real(
        "power-minus-one",
        pow_(x, c),
        reciprocal(x),
        filled(c, -1.0),
        absorbs(x, c),
        is_float(x),
    ),
    _fast("power-negated", pow_(x, c), reciprocal(pow_(x, Const(opposite_number(c)))), is_float(x)),
    _real("root-of-square", sqrt(mul(x, x)), abs_(x)),
    _fast("product-of-roots", mul(sqrt(x), sqrt(y)), sqrt(mul(x, y))),
    _fast("exponential-of-sum", exp(add(x, y)), mul(exp(x), exp(y))),
    _fast("exponential-of-negated", exp(neg(x)), reciprocal(exp(x))),
    _fast("logarithm-of-product", log(mul(x, y)), add(log(x), log(y))),
    _fast("logarithm-of-reciprocal", log(reciprocal(x)), neg(log(x))),
    _fast("logarithm-of-exponential", log(exp(x)), x),
    _fast("exponential-of-logarithm", exp(log(x)), abs_(x)),
    # Constants that differ by rounding stand for one real number.
    _real("number-rounded", _literal, Const(rounded(_literal))),
)

_ORDER = (
    _ring("minimum-commutes", min_(x, y), min_(y, x)),
    _ring("maximum-commutes", max_(x, y), max_(y, x)),
    Rule("minimum-of-itself", min_(x, x), x),
    Rule("maximum-of-itself", max_(x, x), x),
    _ring("minimum-associates", min_(min_(x, y), z), min_(x, min_(y, z))),
    _ring("maximum-associates", max_(max_(x, y), z), max_(x, max_(y, z))),
    _ring("minimum-of-three", min_(x, y, z), min_(x, min_(y, z))),
    _ring("maximum-of-three", max_(x, y, z), max_(x, max_(y, z))),
    _fast("minimum-absorbs", min_(x, max_(x, y)), x, absorbs(x, y)),
    _fast("maximum-absorbs", max_(x, min_(x, y)), x, absorbs(x, y)),
    _ring("maximum-of-minimum", max_(min_(x, hi), lo), min_(max_(x, lo), hi), is_in_order(lo, hi)),
    _real("negate-minimum", neg(min_(x, y)), max_(neg(x), neg(y))),
    _real("negate-maximum", neg(max_(x, y)), min_(neg(x), neg(y))),
    _real("scale-maximum", mul(max_(x, y), c), max_(mul(x, c), mul(y, c)), between(c, 0.0, 1e30)),
    _real("scale-minimum", mul(min_(x, y), c), min_(mul(x, c), mul(y, c)), between(c, 0.0, 1e30)),
    _real("monotone-maximum", _monotone(max_(x, y)), max_(_monotone(x), _monotone(y))),
    _real("relu", relu(x), max_(x, _number(0.0)), is_float(x)),
    _ring("clip", clip(x, lo, hi), min_(max_(x, lo), hi)),
    _ring("clip-below", clip(x, lo), max_(x, lo)),
)

_SELECTION = (
    Rule("not-twice", not_(not_(x)), x),
    Rule("select-negated", where(not_(c), x, y), where(c, y, x)),
    Rule("select-first", where(c, x, y), x, when=(filled(c, 1.0), same_type(where(c, x, y), x))),
    Rule("select-second", where(c, x, y), y, when=(filled(c, 0.0), same_type(where(c, x, y), y))),
    Rule("select-either", where(c, x, x), x, when=(same_type(where(c, x, x), x),)),
    Rule(
        "select-again-first",
        where(c, where(c, x, y), z),
        where(c, x, z),
        when=(same_type(where(c, where(c, x, y), z), where(c, x, z)),),
    ),
    Rule(
        "select-again-second",
        where(c, x, where(c, y, z)),
        where(c, x, z),
        when=(same_type(where(c, x, where(c, y, z)), where(c, x, z)),),
    ),
    _fast(
        "select-by-mask",
        add(mul(cast(c, to=t), x), mul(sub(a, cast(c, to=t)), y)),
        where(c, x, y),
        filled(a, 1.0),
        one_element(a),
        has_dtype(c, DType.BOOL),
        same_type(add(mul(cast(c, to=t), x), mul(sub(a, cast(c, to=t)), y)), where(c, x, y)),
    ),
    Rule("cast-to-own-type", cast(x, to=t), x, when=(to_own_type(x, t),)),
    Rule(
        "cast-twice", cast(cast(x, to=t), to=u), cast(x, to=u), when=(keeps_every_value(x, t, u),)
    ),
)

_halved = mul(x, _number(0.5))
_line = add(mul(x, _number(alpha)), _number(beta))
_cube = mul(mul(x, x), x)
_bent = mul(add(x, mul(_cube, _number(0.044715))), _number(math.sqrt(2 / math.pi)))
_moved = sub(x, reduce_max(x, axes=only(n), keepdims=True))
_powers = exp(_moved)
_axes = axes_from_on(n, x)
_centred = sub(x, reduce_mean(x, axes=_axes, keepdims=True))
_variance = reduce_mean(mul(_centred, _centred), axes=_axes, keepdims=True)
_slope = div(scale, sqrt(add(var, Const(like(var, epsilon)))))


def _column(vector: Any) -> Apply:
    return reshape(vector, Const(column_of(x)), allowzero=False)


DEFINITIONS = (
    _real("sigmoid", sigmoid(x), reciprocal(add(exp(neg(x)), _number(1.0)))),
    _fast("softplus", softplus(x), log(add(exp(x), _number(1.0)))),
    _real("tanh", tanh(x), sub(mul(sigmoid(mul(x, _number(2.0))), _number(2.0)), _number(1.0))),
    _real(
        "hard-sigmoid",
        hard_sigmoid(x, alpha=alpha, beta=beta),
        max_(min_(_line, _number(1.0)), _number(0.0)),
    ),
    _real("hard-swish", hard_swish(x), mul(x, hard_sigmoid(x, alpha=1 / 6, beta=0.5))),
    _real(
        "gelu",
        gelu(x, approximate="none"),
        mul(_halved, add(erf(mul(x, _number(math.sqrt(0.5)))), _number(1.0))),
    ),
    _real(
        "gelu-by-tanh",
        gelu(x, approximate="tanh"),
        mul(_halved, add(tanh(_bent), _number(1.0))),
    ),
    _real(
        "softmax",
        softmax(x, axis=n),
        div(_powers, reduce_sum(_powers, axes=only(n), keepdims=True)),
    ),
    _real(
        "log-softmax",
        log_softmax(x, axis=n),
        sub(_moved, log(reduce_sum(_powers, axes=only(n), keepdims=True))),
    ),
    _real(
        "batch-normalization",
        batch_normalization(x, scale, bias, mean, var, epsilon=epsilon),
        add(mul(sub(x, _column(mean)), _column(_slope)), _column(bias)),
    ),
    _real(
        "layer-normalization",
        layer_normalization(x, g, axis=n, epsilon=epsilon),
        mul(div(_centred, sqrt(add(_variance, _number(epsilon)))), g),
    ),
    _real(
        "layer-normalization-bias",
        layer_normalization(x, g, b, axis=n, epsilon=epsilon),
        add(layer_normalization(x, g, axis=n, epsilon=epsilon), b),
    ),
)

RULES = (*_POWERS, *_ORDER, *_SELECTION, *DEFINITIONS)
