"""Rules of comparisons and of logic: neutral elements, absorption, negation."""

from __future__ import annotations

from tensaur.ir.rule import Rule
from tensaur.ir.term import OpVar, Var
from tensaur.ops import (
    And,
    Or,
    and_,
    greater,
    greater_or_equal,
    less,
    less_or_equal,
    not_,
    or_,
)
from tensaur.rules.conditions import absorbs, any_varying, filled, is_integer, varying

x, y, z, c = (Var(name) for name in "xyzc")
_both = OpVar("f", (And, Or))

_LOGIC = (
    Rule("both-of-itself", _both(x, x), x),
    Rule("and-true", and_(x, c), x, when=(filled(c, 1.0), absorbs(x, c))),
    Rule("or-false", or_(x, c), x, when=(filled(c, 0.0), absorbs(x, c))),
    Rule("and-absorbs", and_(x, or_(x, y)), x, when=(absorbs(x, y),)),
    Rule("or-absorbs", or_(x, and_(x, y)), x, when=(absorbs(x, y),)),
    Rule("both-nested", _both(x, _both(x, y)), _both(x, y)),
    Rule("neither", and_(not_(x), not_(y)), not_(or_(x, y)), when=(any_varying(x, y),)),
    Rule("not-both", or_(not_(x), not_(y)), not_(and_(x, y)), when=(any_varying(x, y),)),
    Rule("and-of-ors", and_(or_(x, y), or_(x, z)), or_(x, and_(y, z)), when=(varying(x),)),
    Rule("or-of-ands", or_(and_(x, y), and_(x, z)), and_(x, or_(y, z)), when=(varying(x),)),
)

# Nothing compares with NaN.
_NEGATED = tuple(
    Rule(f"not-{name}", not_(compare(x, y)), opposite(x, y), when=(is_integer(x),))
    for name, compare, opposite in (
        ("less", less, greater_or_equal),
        ("greater", greater, less_or_equal),
        ("less-or-equal", less_or_equal, greater),
        ("greater-or-equal", greater_or_equal, less),
    )
)

RULES = (*_LOGIC, *_NEGATED)
