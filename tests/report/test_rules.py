"""Rules as text: equations, what was tried, what is wrong, and an example."""

from __future__ import annotations

from tensaur import report
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, OpVar, Var
from tensaur.ops import Abs, Neg, add, concat, matmul, neg, split, sub, transpose
from tensaur.rules.axes import compose
from tensaur.rules.conditions import alike_but, ranks_at_least
from tensaur.rules.products import sizes_along
from tensaur.synth.trial import applications
from tensaur.synth.verify import Coverage, Verification, verify

x, y, z = Var("x"), Var("y"), Var("z")


def test_rules_are_listed_as_equations():
    rule = Rule("elementwise-negate-twice", neg(neg(Var("x"))), Var("x"), exactness=ROUNDING)
    text = report.rule_list([rule])
    assert "elementwise-negate-twice  rounding  Neg(Neg(x)) => x" in text
    assert text.endswith("1 rule")
    assert report.rule_list([]) == "no rules"


def test_tried_directions_are_named_by_arrows():
    rule = Rule("mine-sum", add(x, neg(y)), sub(x, y), (), ROUNDING, both_ways=True)
    lines = report.verification_text(verify(rule, trials=10)).splitlines()
    assert lines[0] == "mine-sum: verified"
    assert [line[:4] for line in lines if line[2] != " "] == ["mine", "  =>", "  <="]
    assert all(len(line) <= 80 for line in lines)


def test_element_types_of_one_width_have_an_order():
    text = report.verification_text(verify(Rule("mine-negate-twice", neg(neg(x)), x)))
    assert "bf16, f16, f32, f64, i8, i16" in " ".join(text.split())


def test_a_direction_without_instances_is_said():
    found = Verification("mine-never", (Coverage("mine-never", ()),), None)
    text = report.verification_text(found)
    assert text.startswith("mine-never: not verified: no instance was found")
    assert report.verification_summary([found]) == "1 rule: 0 verified, 1 not tried on anything"


def test_a_refuted_rule_comes_with_both_graphs():
    text = report.verification_text(
        verify(Rule("mine-swap", matmul(x, y), matmul(y, x), (), ROUNDING))
    )
    for part in (
        "mine-swap: refuted",
        "  found",
        "  made",
        "  values",
        "  results",
        "MatMul(y, x)",
    ):
        assert part in text


def test_a_rule_in_full():
    p, q = AttrVar("p"), AttrVar("q")
    rule = Rule(
        "mine-transposes",
        transpose(transpose(x, perm=p), perm=q),
        transpose(x, perm=compose(q, p)),
        (ranks_at_least(2, x),),
    )
    example = next(applications(rule, 0, 500))
    text = report.rule_text(rule, verify(rule, trials=5), example)
    lines = text.splitlines()
    assert lines[0] == "mine-transposes"
    assert "  found       Transpose(Transpose(x; perm=$p); perm=$q)" in lines
    assert "  when        ranks-at-least(2, x)" in lines
    assert "  computed    compose($q, $p)" in lines
    assert "  exactness   exact: the same bits; every element type" in lines
    assert any(line.startswith("  before      ") for line in lines)
    assert any(line.startswith("  after       ") for line in lines)
    assert text.count("Transpose{perm=") == 3
    assert "before" not in report.rule_text(rule, verify(rule, trials=5), None)


def test_operator_variables_and_several_outputs_are_shown():
    unary = OpVar("f", (Abs, Neg))
    found = (unary(x), unary(y))
    make = split(unary(concat(x, y, axis=-1)), axis=-1, sizes=sizes_along(-1, x, y))
    rule = Rule("mine-joined", found, make, (alike_but(-1, x, y),))
    lines = report.rule_text(rule, verify(rule, trials=3), None).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("  found")] == ["?f(x)", "?f(y)"]
    assert sum(line.startswith("  made") for line in lines) == 1
    assert "  operator    ?f: Abs or Neg" in lines
