"""Axioms of elementwise arithmetic: a commutative ring with signs, quotients and absolute values.

Equations are directed towards sums of products: what both sides of a rule come to, they share. Over
the reals the reciprocal of zero may be taken as zero; then all but the `fast` ones hold everywhere.
"""

from __future__ import annotations

from typing import Any

from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import Const, OpVar, Var
from tensaur.ops import (
    Abs,
    Ceil,
    Exp,
    Floor,
    Relu,
    Sigmoid,
    Sign,
    abs_,
    add,
    div,
    expand,
    mul,
    neg,
    reciprocal,
    sub,
    sum_,
)
from tensaur.proving.axioms.conditions import is_power_of_two, one_number
from tensaur.rules.conditions import (
    absorbs,
    filled,
    is_float,
    like,
    near,
    nonzero,
    same_type,
    static_shape,
)
from tensaur.rules.kinds import PAIRWISE

x, y, z, a, c = (Var(name) for name in "xyzac")
_pairwise = OpVar("f", PAIRWISE)
_rounding = OpVar("f", (Floor, Ceil))
_rounding_after = OpVar("g", (Floor, Ceil))
_idempotent = OpVar("f", (Relu, Abs, Sign))
_never_negative = OpVar("f", (Exp, Sigmoid, Abs))


def _ring(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING, integers=True)


def _real(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING)


def _numbers(value: float, whole: Any) -> Any:
    """A tensor of the type of a term, filled with one number."""
    return expand(Const(like(whole, value)), Const(static_shape(whole)))


_SUMS_AND_PRODUCTS = (
    Rule("sum-commutes", add(x, y), add(y, x)),
    Rule("product-commutes", mul(x, y), mul(y, x)),
    _ring("sum-associates", add(add(x, y), z), add(x, add(y, z))),
    _ring("product-associates", mul(mul(x, y), z), mul(x, mul(y, z))),
    _ring("product-distributes", mul(x, add(y, z)), add(mul(x, y), mul(x, z))),
    _ring("difference-distributes", mul(x, sub(y, z)), sub(mul(x, y), mul(x, z))),
    _ring("add-zero", add(x, c), x, filled(c, 0.0), absorbs(x, c)),
    Rule("add-negative-zero", add(x, c), x, when=(filled(c, -0.0), absorbs(x, c))),
    Rule("subtract-zero", sub(x, c), x, when=(filled(c, 0.0), absorbs(x, c))),
    Rule("multiply-by-one", mul(x, c), x, when=(filled(c, 1.0), absorbs(x, c))),
    _real("multiply-by-about-one", mul(x, c), x, near(c, 1.0), absorbs(x, c)),
    Rule(
        "multiply-by-zero",
        mul(x, c),
        _numbers(0.0, mul(x, c)),
        when=(filled(c, 0.0),),
        exactness=FAST,
        integers=True,
    ),
    Rule("double", add(x, x), mul(x, Const(like(x, 2.0)))),
    _ring("multiple", add(x, mul(x, a)), mul(x, add(a, Const(like(x, 1.0))))),
    Rule("sum-of-two", sum_(x, y), add(x, y)),
)

_SIGNS = (
    Rule("subtract", sub(x, y), add(x, neg(y))),
    Rule("subtract-itself", sub(x, x), _numbers(0.0, x), exactness=FAST, integers=True),
    Rule("negate-twice", neg(neg(x)), x),
    _ring("negate-sum", neg(add(x, y)), add(neg(x), neg(y))),
    Rule("negate-factor", mul(x, neg(y)), neg(mul(x, y))),
    Rule("absolute-of-negated", abs_(neg(x)), abs_(x)),
    Rule("square-of-absolute", mul(abs_(x), abs_(x)), mul(x, x)),
    Rule("absolute-of-nonnegative", abs_(_never_negative(x)), _never_negative(x)),
    Rule("apply-once", _idempotent(_idempotent(x)), _idempotent(x)),
    Rule("round-once", _rounding_after(_rounding(x)), _rounding(x)),
)

_QUOTIENTS = (
    _real("divide", div(x, y), mul(x, reciprocal(y)), is_float(x)),
    Rule(
        "divide-by-power-of-two",
        div(x, c),
        mul(x, reciprocal(c)),
        when=(is_float(x), is_power_of_two(c)),
    ),
    Rule("divide-by-one", div(x, c), x, when=(filled(c, 1.0), absorbs(x, c))),
    Rule("divide-one", div(c, x), reciprocal(x), when=(filled(c, 1.0), absorbs(x, c), is_float(x))),
    _real("reciprocal-of-product", reciprocal(mul(x, y)), mul(reciprocal(x), reciprocal(y))),
    _real("reciprocal-of-negated", reciprocal(neg(x)), neg(reciprocal(x))),
    _real("reciprocal-twice", reciprocal(reciprocal(x)), x),
    _real("cancel", mul(mul(x, y), reciprocal(y)), x, nonzero(y), absorbs(x, y)),
    _real("cancel-quotient", mul(mul(x, reciprocal(y)), y), x, nonzero(y), absorbs(x, y)),
    Rule("divide-by-itself", mul(x, reciprocal(x)), _numbers(1.0, x), exactness=FAST),
    Rule(
        "cancel-factor",
        mul(mul(x, y), mul(z, reciprocal(y))),
        mul(x, z),
        when=(same_type(mul(mul(x, y), z), mul(x, z)),),
        exactness=FAST,
    ),
)

# A constant of one number is as good as that number wherever it only broadcasts.
_NUMBERS = (
    Rule(
        "uniform-second",
        _pairwise(x, c),
        _pairwise(x, Const(one_number(c))),
        when=(same_type(_pairwise(x, c), _pairwise(x, Const(one_number(c)))),),
    ),
    Rule(
        "uniform-first",
        _pairwise(c, x),
        _pairwise(Const(one_number(c)), x),
        when=(same_type(_pairwise(c, x), _pairwise(Const(one_number(c)), x)),),
    ),
)

RULES = (*_SUMS_AND_PRODUCTS, *_SIGNS, *_QUOTIENTS, *_NUMBERS)
