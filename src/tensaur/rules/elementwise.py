"""Rules of elementwise arithmetic: neutral elements, constants, signs, powers, minima, selection."""

from __future__ import annotations

from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, OpVar, Var
from tensaur.ir.types import DType
from tensaur.ops import (
    abs_,
    add,
    cast,
    div,
    exp,
    expand,
    log,
    max_,
    min_,
    mul,
    neg,
    not_,
    pow_,
    reciprocal,
    sqrt,
    sub,
    where,
)
from tensaur.ops.activation import Relu, Sigmoid
from tensaur.ops.elementwise import Abs, Ceil, Exp, Floor, Sign
from tensaur.rules.casts import keeps_every_value, to_own_type
from tensaur.rules.conditions import (
    absorbs,
    any_varying,
    constant,
    filled,
    has_dtype,
    is_float,
    like,
    nonzero,
    one_element,
    same_type,
    static_shape,
    varying,
)

x, y, z, a, b, c = (Var(name) for name in "xyzabc")
t, u = AttrVar("t"), AttrVar("u")
_rounding = OpVar("f", (Floor, Ceil))
_rounding_after = OpVar("g", (Floor, Ceil))
_idempotent = OpVar("f", (Relu, Abs, Sign))
_never_negative = OpVar("f", (Exp, Sigmoid, Abs))

_NEUTRAL = (
    Rule("add-negative-zero", add(x, c), x, when=(filled(c, -0.0), absorbs(x, c))),
    # -0.0 + 0.0 is 0.0, so this is not exact.
    Rule(
        "add-zero",
        add(x, c),
        x,
        when=(filled(c, 0.0), absorbs(x, c)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule("subtract-zero", sub(x, c), x, when=(filled(c, 0.0), absorbs(x, c))),
    Rule("multiply-by-one", mul(x, c), x, when=(filled(c, 1.0), absorbs(x, c))),
    Rule("divide-by-one", div(x, c), x, when=(filled(c, 1.0), absorbs(x, c))),
    Rule(
        "multiply-by-zero",
        mul(x, c),
        expand(Const(like(c, 0.0)), Const(static_shape(mul(x, c)))),
        when=(filled(c, 0.0), varying(x)),
        exactness=FAST,
        integers=True,
    ),
    Rule(
        "subtract-itself",
        sub(x, x),
        expand(Const(like(x, 0.0)), Const(static_shape(x))),
        when=(varying(x),),
        exactness=FAST,
        integers=True,
    ),
    Rule(
        "divide-by-itself",
        div(x, x),
        expand(Const(like(x, 1.0)), Const(static_shape(x))),
        when=(varying(x),),
        exactness=FAST,
    ),
)

_CONSTANTS = (
    Rule(
        "add-constants",
        add(add(x, a), b),
        add(x, add(a, b)),
        when=(constant(a, b), varying(x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "multiply-constants",
        mul(mul(x, a), b),
        mul(x, mul(a, b)),
        when=(constant(a, b), varying(x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "scale-sum",
        mul(add(x, a), b),
        add(mul(x, b), mul(a, b)),
        when=(constant(a, b), varying(x)),
        exactness=ROUNDING,
        integers=True,
    ),
    # A scale outside can go into what follows even where a summand cannot (a padded convolution).
    Rule(
        "shift-scaled",
        add(mul(x, b), a),
        mul(add(x, div(a, b)), b),
        when=(constant(a, b), varying(x), is_float(x), nonzero(b)),
        exactness=ROUNDING,
    ),
    Rule(
        "subtract-constant",
        sub(x, a),
        add(x, neg(a)),
        when=(constant(a), varying(x)),
    ),
    Rule(
        "divide-by-constant",
        div(x, a),
        mul(x, reciprocal(a)),
        when=(constant(a), varying(x)),
        exactness=ROUNDING,
    ),
    # A constant moves outwards, to where it meets the next one.
    Rule(
        "add-constant-last",
        add(add(x, a), y),
        add(add(x, y), a),
        when=(constant(a), varying(x), varying(y)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "scale-last",
        mul(mul(x, a), y),
        mul(mul(x, y), a),
        when=(constant(a), one_element(a), varying(x), varying(y)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule("negate-scaled", neg(mul(x, a)), mul(x, neg(a)), when=(constant(a), varying(x))),
    Rule("scale-negated", mul(neg(x), a), mul(x, neg(a)), when=(constant(a), varying(x))),
)

_FACTORS = (
    Rule(
        "factor-product",
        add(mul(x, y), mul(x, z)),
        mul(x, add(y, z)),
        when=(any_varying(x, y, z),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "factor-difference",
        sub(mul(x, y), mul(x, z)),
        mul(x, sub(y, z)),
        when=(any_varying(x, y, z),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "factor-multiple",
        add(x, mul(x, a)),
        mul(x, add(a, Const(like(x, 1.0)))),
        when=(constant(a), varying(x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule("add-itself", add(x, x), mul(x, Const(like(x, 2.0))), when=(varying(x),)),
    Rule(
        "factor-divisor",
        add(div(x, z), div(y, z)),
        div(add(x, y), z),
        when=(is_float(x), varying(z)),
        exactness=FAST,
    ),
)

_SIGNS = (
    Rule("negate-twice", neg(neg(x)), x),
    Rule("add-negated", add(x, neg(y)), sub(x, y)),
    Rule("subtract-negated", sub(x, neg(y)), add(x, y)),
    Rule("negate-difference", neg(sub(x, y)), sub(y, x), exactness=ROUNDING, integers=True),
    Rule("multiply-negated", mul(neg(x), neg(y)), mul(x, y)),
    Rule("absolute-of-negated", abs_(neg(x)), abs_(x)),
    Rule("absolute-of-nonnegative", abs_(_never_negative(x)), _never_negative(x)),
    Rule("apply-once", _idempotent(_idempotent(x)), _idempotent(x)),
    Rule("round-once", _rounding_after(_rounding(x)), _rounding(x)),
)

_POWERS = (
    Rule(
        "power-half",
        pow_(x, c),
        sqrt(x),
        when=(filled(c, 0.5), absorbs(x, c)),
        exactness=ROUNDING,
    ),
    Rule(
        "power-two",
        pow_(x, c),
        mul(x, x),
        when=(filled(c, 2.0), absorbs(x, c)),
        exactness=ROUNDING,
    ),
    Rule(
        "power-three",
        pow_(x, c),
        mul(mul(x, x), x),
        when=(filled(c, 3.0), absorbs(x, c)),
        exactness=ROUNDING,
    ),
    Rule("power-one", pow_(x, c), x, when=(filled(c, 1.0), absorbs(x, c), is_float(x))),
    Rule(
        "power-minus-one",
        pow_(x, c),
        reciprocal(x),
        when=(filled(c, -1.0), absorbs(x, c), is_float(x)),
        exactness=ROUNDING,
    ),
    Rule(
        "power-minus-half",
        pow_(x, c),
        reciprocal(sqrt(x)),
        when=(filled(c, -0.5), absorbs(x, c), varying(x)),
        exactness=FAST,
    ),
    Rule("root-of-square", sqrt(mul(x, x)), abs_(x), exactness=ROUNDING),
    Rule("square-of-root", mul(sqrt(x), sqrt(x)), x, when=(varying(x),), exactness=FAST),
    Rule(
        "product-of-roots",
        mul(sqrt(x), sqrt(y)),
        sqrt(mul(x, y)),
        when=(varying(x), varying(y)),
        exactness=FAST,
    ),
    Rule("square-of-absolute", mul(abs_(x), abs_(x)), mul(x, x)),
    Rule("reciprocal-twice", reciprocal(reciprocal(x)), x, exactness=ROUNDING),
    Rule("multiply-by-reciprocal", mul(x, reciprocal(y)), div(x, y), exactness=ROUNDING),
    Rule("divide-one", div(c, x), reciprocal(x), when=(filled(c, 1.0), absorbs(x, c), is_float(x))),
    Rule(
        "divide-twice",
        div(div(x, y), z),
        div(x, mul(y, z)),
        when=(is_float(x),),
        exactness=ROUNDING,
    ),
    Rule(
        "multiply-exponentials",
        mul(exp(x), exp(y)),
        exp(add(x, y)),
        when=(varying(x), varying(y)),
        exactness=FAST,
    ),
    Rule("logarithm-of-exponential", log(exp(x)), x, when=(varying(x),), exactness=FAST),
    Rule("exponential-of-logarithm", exp(log(x)), x, when=(varying(x),), exactness=FAST),
)

_EXTREMES = (
    Rule("minimum-of-itself", min_(x, x), x),
    Rule("maximum-of-itself", max_(x, x), x),
    Rule("flatten-minimum", min_(min_(x, y), z), min_(x, y, z), exactness=ROUNDING, integers=True),
    Rule("flatten-maximum", max_(max_(x, y), z), max_(x, y, z), exactness=ROUNDING, integers=True),
    Rule("minimum-absorbs", min_(x, max_(x, y)), x, when=(absorbs(x, y),), exactness=FAST),
    Rule("maximum-absorbs", max_(x, min_(x, y)), x, when=(absorbs(x, y),), exactness=FAST),
    Rule("negate-minimum", neg(min_(neg(x), neg(y))), max_(x, y), exactness=ROUNDING),
    Rule("negate-maximum", neg(max_(neg(x), neg(y))), min_(x, y), exactness=ROUNDING),
)

_SELECTION = (
    Rule("not-twice", not_(not_(x)), x),
    Rule("select-negated", where(not_(c), x, y), where(c, y, x)),
    Rule(
        "select-first",
        where(c, x, y),
        x,
        when=(filled(c, 1.0), same_type(where(c, x, y), x)),
    ),
    Rule(
        "select-second",
        where(c, x, y),
        y,
        when=(filled(c, 0.0), same_type(where(c, x, y), y)),
    ),
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
    # mask * a + (1 - mask) * b, as exporters write a selection.
    Rule(
        "select-by-mask",
        add(mul(cast(c, to=t), x), mul(sub(a, cast(c, to=t)), y)),
        where(c, x, y),
        when=(
            filled(a, 1.0),
            one_element(a),
            has_dtype(c, DType.BOOL),
            same_type(add(mul(cast(c, to=t), x), mul(sub(a, cast(c, to=t)), y)), where(c, x, y)),
        ),
        exactness=FAST,
    ),
    Rule("cast-to-own-type", cast(x, to=t), x, when=(to_own_type(x, t),)),
    Rule(
        "cast-twice", cast(cast(x, to=t), to=u), cast(x, to=u), when=(keeps_every_value(x, t, u),)
    ),
)

RULES = (*_NEUTRAL, *_CONSTANTS, *_FACTORS, *_SIGNS, *_POWERS, *_EXTREMES, *_SELECTION)
