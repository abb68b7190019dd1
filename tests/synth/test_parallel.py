"""Verdicts do not depend on how many processes reach them."""

from __future__ import annotations

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ops import abs_, matmul, neg
from tensaur.synth.parallel import verify_all

x, y = Var("x"), Var("y")
RULES = (
    Rule("twice", neg(neg(x)), x),
    Rule("swapped", matmul(x, y), matmul(y, x), (), ROUNDING),
    Rule("of-negated", abs_(neg(x)), abs_(x)),
)


def test_workers_do_not_change_verdicts():
    alone = list(verify_all(RULES, seed=3, trials=10))
    assert [found.verified for found in alone] == [True, False, True]
    together = verify_all(RULES, seed=3, trials=10, workers=2)
    assert list(map(str, together)) == list(map(str, alone))
