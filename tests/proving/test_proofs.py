"""Proofs as text, and which rules are one equation."""

from __future__ import annotations

import pytest

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import OpVar, Var
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.ops import Abs, Relu, add, matmul, mul, neg, sub
from tensaur.proving.alike import is_like
from tensaur.proving.cases import Case, relation
from tensaur.proving.proofs import Method, Missing, Proof, Report, Status, scope, table, tally

x, y, z, a, b, c = (Var(name) for name in "xyzabc")


def case(*traits):
    return Case("mine", (), (), {"x": Fact(TensorType(DType.FLOAT32, (2,)))}, frozenset(traits))


FLAT = case("rank of x: 1", "element type: float", "Neg")
DEEP = case("rank of x: 3", "element type: float", "Conv group: 2")
WHOLE = Proof(Method.SATURATION, (FLAT,), (DEEP,), (), ("sum-commutes", "double"))
PART = Proof(Method.SMT, (FLAT,), (), (Missing(DEEP, "timeout"), Missing(DEEP, "timeout")), ())
PROVED = Report("mine", Status.PROVED, (WHOLE, PART))
UNKNOWN = Report("other", Status.UNKNOWN, (PART,), reason="1 of 3 cases proved; timeout")


def test_a_proof_says_how_far_it_reaches_and_from_which_axioms():
    assert PROVED.text() == (
        "mine: proved\n"
        "  saturation: 2 of 2 cases proved, 1 for all sizes and 1 for the sizes that they have\n"
        "    from sum-commutes, double\n"
        "  z3: 1 of 3 cases proved, 1 for all sizes\n"
        "    not proved: timeout\n"
        "  Conv group: 2\n"
        "  element type: float\n"
        "  rank of x: 1, 3"
    )


def test_a_rule_that_is_not_proved_says_why_and_claims_nothing():
    assert UNKNOWN.text() == (
        "other: unknown: 1 of 3 cases proved; timeout\n"
        "  z3: 1 of 3 cases proved, 1 for all sizes\n"
        "    not proved: timeout"
    )
    assert not UNKNOWN.is_proved
    assert UNKNOWN.cases == ()


def test_a_table_has_a_line_for_each_rule():
    assert table([PROVED, UNKNOWN]) == (
        "mine   proved    by saturation, for small sizes\n"
        "other  unknown   1 of 3 cases proved; timeout\n"
        "2 rules: 1 proved, 1 unknown"
    )


def test_a_tally_leaves_out_what_there_is_none_of():
    assert tally([PROVED, PROVED]) == "2 proved"
    assert tally([]) == ""


def test_a_proof_of_nothing_is_none():
    assert not Proof(Method.SATURATION, (), (), (), ()).is_complete


def test_scope_is_what_the_cases_show_together():
    assert scope([FLAT, DEEP])["rank of x"] == ("1", "3")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((2, 3), (2, 3), "equal"),
        ((2, 3), (3,), "ranks differ"),
        ((2, 3), (2, 1), "broadcast"),
        ((2, 3), (4,), "unlike"),
        ((), (2,), "ranks differ"),
    ],
)
def test_how_shapes_lie_to_each_other(first, second, expected):
    assert relation(first, second) == expected


# Alike.

_f, _g = OpVar("f", (Relu,)), OpVar("g", (Relu, Abs))


@pytest.mark.parametrize(
    ("rule", "axiom"),
    [
        (Rule("r", neg(neg(a)), a), Rule("s", neg(neg(x)), x)),
        (Rule("r", add(a, b), add(b, a)), Rule("s", add(x, y), add(y, x))),
        (
            Rule("r", mul(a, add(b, c)), add(mul(a, b), mul(a, c)), (), ROUNDING),
            Rule("s", add(mul(x, y), mul(x, z)), mul(x, add(y, z)), (), ROUNDING),
        ),
        (Rule("r", mul(add(a, b), c), mul(c, add(b, a))), Rule("s", mul(z, add(x, y)), mul(z, add(x, y)))),
        (Rule("r", _f(_f(a)), _f(a)), Rule("s", _g(_g(x)), _g(x))),
    ],
)  # fmt: skip
def test_rules_that_are_one_equation(rule, axiom):
    assert is_like(rule, axiom)


@pytest.mark.parametrize(
    ("rule", "axiom"),
    [
        (Rule("r", sub(a, b), sub(b, a)), Rule("s", sub(x, y), sub(x, y))),
        (Rule("r", matmul(a, b), matmul(b, a)), Rule("s", matmul(x, y), matmul(x, y))),
        (Rule("r", add(a, a), add(a, a)), Rule("s", add(x, y), add(y, x))),
        (Rule("r", _g(_g(a)), _g(a)), Rule("s", _f(_f(x)), _f(x))),
    ],
)
def test_rules_that_are_not_one_equation(rule, axiom):
    assert not is_like(rule, axiom)
