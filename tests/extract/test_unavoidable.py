"""What the runtime always fuses costs what it costs fused, unless a form of the value escapes."""

import pytest

from tensaur.extract.solve import extract
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ops import Abs, Exp, Neg, abs_, exp, neg, sin
from tests.extract.spaces import explored

X = Var("x")
AS_EXP = Rule("as-exp", neg(X), exp(X), (), ROUNDING)
AS_SIN = Rule("as-sin", abs_(neg(X)), sin(X), (), ROUNDING)
CHAIN = "input x: f32[4]\na = Neg(x)\ny = Abs(a)\noutput y\n"
SINGLE = {"Neg": 10.0, "Exp": 30.0, "Abs": 20.0, "Sin": 45.0}


def fused(*producers):
    return lambda inner, outer: isinstance(inner[-1], producers) and isinstance(outer, Abs)


def priced(found, **groups):
    """Return prices of single operators, and of groups by their names joined by an underscore."""
    return found.prices() * 0 + [
        (groups | SINGLE)["_".join(type(op).__name__ for op in query.ops)]
        for query in found.space.signatures
    ]


def cost(found, prices):
    problem = found.space.problem(prices, found.none(), None)
    return found.space.price(found.space.picked(problem, extract(problem)), prices)


@pytest.mark.parametrize(("group", "total"), [(100.0, 100.0), (25.0, 25.0), (30.0, 30.0)])
def test_a_pair_costs_what_the_group_costs(group, total):
    found = explored(CHAIN, fuses=fused(Neg))
    assert cost(found, priced(found, Neg_Abs=group)) == total


def test_a_value_with_another_reader_is_not_fused():
    found = explored(CHAIN + "z = Exp(a)\noutput z\n", fuses=fused(Neg))
    assert cost(found, priced(found, Neg_Abs=100.0)) == 60.0


def test_a_value_that_is_returned_is_not_fused():
    found = explored(CHAIN + "output a\n", fuses=fused(Neg))
    assert cost(found, priced(found, Neg_Abs=100.0)) == 30.0


def test_an_operator_stays_while_some_form_of_what_it_reads_is_not_fused():
    found = explored(CHAIN, AS_EXP, fuses=fused(Neg))
    assert "Abs" in {found.ops(option) for option in found.of_class("y")}
    found = explored(CHAIN, AS_EXP, fuses=fused(Neg, Exp))
    assert "Abs" not in {found.ops(option) for option in found.of_class("y")}


def test_the_cheapest_group_counts_where_all_forms_are_fused():
    found = explored(CHAIN, AS_EXP, fuses=fused(Neg, Exp))
    prices = priced(found, Neg_Abs=100.0, Exp_Abs=60.0)
    assert cost(found, prices) == 60.0


def test_another_operator_is_taken_instead():
    found = explored(CHAIN, AS_SIN, fuses=fused(Neg))
    assert cost(found, priced(found, Neg_Abs=100.0)) == 45.0
    assert cost(found, priced(found, Neg_Abs=40.0)) == 40.0


def test_what_makes_a_fused_value_is_fused_too():
    text = "input x: f32[4]\na = Neg(x)\nb = Exp(a)\ny = Abs(b)\noutput y\n"
    found = explored(text, fuses=lambda inner, outer: isinstance(inner[0], Neg))
    assert cost(found, priced(found, Neg_Exp=50.0, Neg_Exp_Abs=200.0)) == 200.0
