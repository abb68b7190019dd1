"""Which rules a chosen graph rests on."""

from tensaur.extract.provenance import instances_used, rules_used
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Var
from tensaur.ops import exp, log, matmul, neg, sub, transpose
from tests.extract.spaces import explored

x, y, z = (Var(name) for name in "xyz")
p = AttrVar("p")
ASSOCIATE = Rule("associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), (), ROUNDING)
TWICE = Rule("twice", neg(neg(x)), x)
BACK = Rule("back", transpose(transpose(x, perm=p), perm=p), x)
INVERSE = Rule("inverse", log(exp(x)), x, (), ROUNDING)
ITSELF = Rule("itself", sub(x, neg(x)), neg(neg(x)))


def used(text, *rules, **arguments):
    found = explored(text, *rules)
    return rules_used(found.space, found.picked("flops", **arguments))


def test_nothing_is_owed_to_rules_without_any():
    assert used("input x: f32[4]\ny = Neg(x)\noutput y\n", TWICE) == []


def test_a_rule_that_removes_is_reported():
    # Nothing that the rule made is in the result: what counts is that it joined two classes.
    assert used("input x: f32[4]\na = Neg(x)\ny = Neg(a)\noutput y\n", TWICE) == [("twice", 1)]


def test_a_rule_in_the_middle_is_reported():
    text = "input x: f32[4]\na = Neg(x)\nb = Neg(a)\ny = Exp(b)\noutput y\n"
    assert used(text, TWICE) == [("twice", 1)]


def test_a_rule_that_makes_is_reported():
    text = """\
input x: f32[2,64]
weight a: f32[64,64]
weight b: f32[64,64]
xa = MatMul(x, a)
y = MatMul(xa, b)
output y
"""
    assert used(text, ASSOCIATE) == [("associate", 1)]


def test_rules_that_were_applied_in_vain_are_not_reported():
    text = """\
input x: f32[64,2]
weight a: f32[2,64]
weight b: f32[64,64]
xa = MatMul(x, a)
y = MatMul(xa, b)
output y
"""
    longer = Rule("longer", matmul(x, y), neg(neg(matmul(x, y))), (), ROUNDING)
    assert used(text, longer) == []


def test_a_chain_of_rules_is_reported():
    text = "input x: f32[4]\ne = Exp(x)\nl = Log(e)\na = Neg(l)\ny = Neg(a)\noutput y\n"
    assert used(text, TWICE, INVERSE) == [("inverse", 1), ("twice", 1)]


def test_rules_behind_rules_are_reported():
    # The first rule makes what the second removes.
    text = "input x: f32[4]\nn = Neg(x)\ny = Sub(x, n)\noutput y\n"
    assert used(text, ITSELF, TWICE) == [("itself", 1), ("twice", 1)]


def test_instances_are_counted():
    text = """\
input x: f32[4]
a = Neg(x)
b = Neg(a)
c = Exp(b)
d = Neg(c)
y = Neg(d)
output y
"""
    assert used(text, TWICE) == [("twice", 2)]


def test_most_used_rules_come_first():
    text = """\
input x: f32[4,6]
a = Neg(x)
b = Neg(a)
t = Transpose{perm=(1, 0)}(b)
u = Transpose{perm=(1, 0)}(t)
c = Exp(u)
d = Neg(c)
y = Neg(d)
output y
"""
    assert used(text, TWICE, BACK) == [("twice", 2), ("back", 1)]


def test_folding_alone_is_no_rewrite():
    text = "input x: f32[64]\nweight w: f32[64]\nv = Neg(w)\ny = Mul(x, v)\noutput y\n"
    assert used(text) == []


def test_instances_name_their_rule():
    found = explored("input x: f32[4]\na = Neg(x)\ny = Neg(a)\noutput y\n", TWICE)
    (number,) = instances_used(found.space, found.picked())
    assert found.egraph.instances[number].rule == "twice"
