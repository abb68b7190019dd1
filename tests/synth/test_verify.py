"""The verifier refutes what is wrong and does not call verified what it could not try."""

from __future__ import annotations

import pytest

from tensaur.ir.rule import EXACT, FAST, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, OpVar, Var, derived
from tensaur.ir.types import Fact
from tensaur.ops import (
    Slice,
    add,
    concat,
    conv,
    div,
    exp,
    gather,
    matmul,
    mul,
    neg,
    reduce_mean,
    relu,
    softmax,
    split,
    sqrt,
    sub,
    transpose,
)
from tensaur.rules.axes import compose
from tensaur.rules.conditions import absorbs, constant, filled, like
from tensaur.synth.verify import verify

x, y, z, w, c, i = (Var(name) for name in "xyzwci")
p, q, n = AttrVar("p"), AttrVar("q"), AttrVar("n")
strides, pads, dilations, group = (AttrVar(name) for name in ("s", "pads", "d", "g"))
_window = {"strides": strides, "pads": pads, "dilations": dilations, "group": group}
_cut = OpVar("cut", (Slice,))

WRONG = (
    # TASO's published equation that loses y.
    Rule("conv-drops-operand", mul(conv(x, w, **_window), y), conv(x, w, **_window), (), ROUNDING),
    Rule("add-one", add(x, c), x, (filled(c, 1.0), absorbs(x, c)), ROUNDING),
    Rule("no-absorbs", mul(x, c), x, (filled(c, 1.0),)),
    Rule("zero-is-not-exact", add(x, c), x, (filled(c, 0.0), absorbs(x, c)), EXACT),
    Rule("swapped-difference", sub(x, y), sub(y, x), (), ROUNDING),
    Rule("swapped-product", matmul(x, y), matmul(y, x), (), ROUNDING),
    Rule("wrong-order", transpose(transpose(x, perm=p), perm=q), transpose(x, perm=compose(p, q))),
    Rule("wrong-inverse", transpose(relu(transpose(x, perm=p)), perm=q), relu(x)),
    Rule("wrong-factor", add(x, x), mul(x, Const(like(x, 3.0))), (), ROUNDING),
    Rule("wrong-axis", relu(concat(x, y, axis=n)), concat(relu(x), relu(y), axis=-1)),
    Rule("slice-of-broadcast", _cut(add(x, y)), add(_cut(x), _cut(y))),
    Rule("slice-of-softmax", _cut(softmax(x, axis=n)), softmax(_cut(x), axis=n), (), ROUNDING),
    Rule("softmax-wrong-axis", softmax(x, axis=n), softmax(x, axis=-1), (), ROUNDING),
    Rule("zero-times-anything", mul(x, c), mul(c, c), (filled(c, 0.0),), ROUNDING),
    Rule("root-of-square", sqrt(mul(x, x)), x, (), FAST),
    Rule("associate-difference", sub(sub(x, y), z), sub(x, sub(y, z)), (), ROUNDING),
    Rule("mean-of-product", reduce_mean(mul(x, y), axes=n, keepdims=True),
         mul(reduce_mean(x, axes=n, keepdims=True), reduce_mean(y, axes=n, keepdims=True)),
         (), ROUNDING),
    Rule("exp-of-sum", exp(add(x, y)), add(exp(x), exp(y)), (), FAST),
    Rule("any-rank", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), (), ROUNDING),
    Rule("divide-is-exact", div(x, c), mul(x, div(Const(like(x, 1.0)), c)), (constant(c),), EXACT),
    Rule("gather-wrong-side", matmul(gather(w, i, axis=n), x), gather(matmul(w, x), i, axis=n),
         (), ROUNDING),
    Rule("joined-in-wrong-order", (matmul(x, y), matmul(x, z)),
         split(matmul(x, concat(z, y, axis=-1)), axis=-1, sizes=(1, 1)), (), ROUNDING),
)  # fmt: skip


@pytest.mark.parametrize("rule", WRONG, ids=lambda rule: rule.name)
def test_wrong_rule_is_refuted(rule: Rule):
    verification = verify(rule, trials=100)
    assert verification.counterexample is not None, str(verification)
    assert not verification.verified
    assert rule.name in str(verification)


def test_rule_that_never_applies_is_not_verified(monkeypatch):
    monkeypatch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 500)
    verification = verify(Rule("never", neg(x), neg(neg(neg(x))), (constant(x), _never(x))))
    assert verification.counterexample is None
    assert verification.instances == 0
    assert not verification.verified


@derived
def _never(fact: object) -> bool:
    """Never true."""
    return False


def test_verification_says_what_it_tried():
    verification = verify(Rule("twice", neg(neg(x)), x), trials=100)
    (coverage,) = verification.directions
    assert verification.verified
    assert 100 <= coverage.instances <= 400
    assert coverage.ranks >= {0, 1, 2, 3, 4}
    assert coverage.symbolic > 10
    assert len(coverage.dtypes) >= 3


def test_seed_decides():
    rule = Rule("twice", neg(neg(x)), x)
    assert verify(rule, seed=3) == verify(rule, seed=3)


def test_both_directions_are_tried():
    rule = Rule("both", neg(relu(x)), neg(relu(x)), both_ways=True)
    assert [item.direction for item in verify(rule).directions] == ["both", "both~"]


@derived
def _may_be_equal(first: Fact, second: Fact) -> bool:
    """Whether nothing speaks against equal shapes."""
    return first.shape is None or second.shape is None or len(first.shape) == len(second.shape)


def test_unknown_dimensions_are_not_trusted():
    cut = Rule("trusting", _cut(add(x, y)), add(_cut(x), _cut(y)), (_may_be_equal(x, y),))
    found = verify(cut, trials=100).counterexample
    assert found is not None
