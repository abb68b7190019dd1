"""Right rules are proved, by saturation and by Z3; wrong ones never; what a proof says is all there."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import pytest

from tensaur.errors import UsageError
from tensaur.ir.rule import EXACT, Rule
from tensaur.ir.term import Var, tree_fact
from tensaur.ops import add
from tensaur.proving.axioms import AXIOMS, GENERAL
from tensaur.proving.cases import cases
from tensaur.proving.proofs import Method, Status, table
from tensaur.proving.prove import prove
from tensaur.proving.saturate import TIME_IS_OVER, Stage, saturate
from tensaur.proving.smt import TypedAxioms, prove_by_z3
from tensaur.rules import ALL_RULES
from tensaur.synth.verify import Coverage, Verification, directions
from tests.proving.samples import REPEATED, RIGHT, WRONG

x = Var("x")


def named(rules):
    return [pytest.param(rule, id=rule.name) for rule in rules]


def unrefuted(rules):
    """Verifications that have found nothing wrong, so that the proof alone decides."""
    return {rule.name: Verification(rule.name, (Coverage(rule.name, ()),), None) for rule in rules}


def by_name(reports):
    return {report.rule: report for report in reports}


# What is right.


@pytest.fixture(scope="module")
def right():
    return by_name(prove(RIGHT, seconds=60, tested=unrefuted(RIGHT)))


@pytest.mark.parametrize("rule", named(RIGHT))
def test_right_rule_is_proved_by_saturation_for_all_sizes(right, rule):
    report = right[rule.name]
    assert report.status is Status.PROVED
    (proof,) = report.proofs
    assert proof.is_complete
    assert len(proof.general) >= 2
    assert set(proof.axioms) <= {axiom.name for axiom in AXIOMS}


@pytest.mark.parametrize("rule", named(RIGHT))
def test_the_axioms_that_a_proof_names_suffice(right, rule):
    (proof,) = right[rule.name].proofs
    chosen = tuple(axiom for axiom in AXIOMS if axiom.name in proof.axioms)
    assert len(chosen) <= 12
    outcomes = saturate(proof.proved, Stage(chosen, 12, 10.0, 1), float("inf"))
    assert all(outcome.proved for outcome in outcomes)


def test_without_the_axiom_that_it_needs_a_rule_is_not_proved(right):
    (proof,) = right["chain-of-three"].proofs
    assert proof.axioms == ("matmul-associates",)
    others = tuple(axiom for axiom in GENERAL if axiom.name not in proof.axioms)
    outcomes = saturate(proof.general, Stage(others, 3, 5.0, 4), float("inf"))
    assert not any(outcome.proved for outcome in outcomes)


@pytest.mark.parametrize("rule", named([RIGHT[0], RIGHT[3], REPEATED]))
def test_right_rule_is_proved_by_z3(rule):
    (report,) = prove([rule], seconds=60, methods=[Method.SMT], tested=unrefuted([rule]))
    assert report.is_proved, report.text()
    assert report.proofs[0].method is Method.SMT


def test_what_is_assumed_for_sizes_that_are_not_known_is_of_one_type():
    (rule,) = (rule for rule in ALL_RULES if rule.name == "layout-reshape-twice")
    axioms = tuple(one for axiom in GENERAL for one in axiom.directed())
    typed = [item for case in cases(rule, most=4) for item in TypedAxioms(case, axioms).run()]
    assert typed
    for item in typed:
        left, right = (tree_fact(tree, item.facts).type for tree in (item.left, item.right))
        assert left == right


def test_an_axiom_is_called_one():
    commuted = Rule("mine", add(x, Var("y")), add(Var("y"), x))
    (report,) = prove([commuted], seconds=20, tested=unrefuted([commuted]))
    assert report.status is Status.AXIOM
    assert report.is_proved


# What is wrong.


# Wrong only for attributes so rare that the cases may not show them; then the test refutes them.
RARELY_WRONG = ("composed-in-wrong-order", "any-group")


@pytest.mark.parametrize("rule", named(rule for rule in WRONG if rule.name in RARELY_WRONG))
def test_rarely_wrong_rule_is_refuted_whatever_its_cases_show(rule):
    (report,) = prove([rule], seconds=5)
    assert report.status is Status.REFUTED


@pytest.mark.parametrize("rule", named(rule for rule in WRONG if rule.name not in RARELY_WRONG))
def test_wrong_rule_is_not_proved_by_saturation(rule):
    drawn = cases(rule)
    assert drawn
    axioms = tuple(axiom for axiom in AXIOMS if axiom.exactness <= rule.exactness)
    outcomes = saturate(drawn, Stage(axioms, 3, 5.0, 4), float("inf"))
    assert not all(outcome.proved for outcome in outcomes)


@pytest.mark.parametrize("rule", named([WRONG[0], *WRONG[3:5]]))
def test_wrong_rule_is_not_proved_by_z3(rule):
    axioms = tuple(
        one for axiom in GENERAL if axiom.exactness <= rule.exactness for one in axiom.directed()
    )
    answers = [prove_by_z3(case, axioms, 0.5) for case in cases(rule, most=4)]
    assert any(answers)


def test_a_counterexample_is_found_where_nothing_is_tested_yet():
    (report,) = prove([WRONG[0]], seconds=0.1)
    assert report.status is Status.REFUTED
    assert report.counterexample is not None
    assert "is wrong here" in report.text()


@pytest.mark.slow
def test_wrong_rules_are_not_proved_however_long_it_takes():
    shown = [rule for rule in WRONG if rule.name not in RARELY_WRONG]
    reports = prove(shown, seconds=400, tested=unrefuted(shown))
    assert {report.status for report in reports} == {Status.UNKNOWN}
    reports = prove(WRONG, seconds=400)
    assert {report.status for report in reports} == {Status.REFUTED}


def test_exact_rules_need_exact_axioms():
    # Over the reals it is true, to the bit it is not.
    exact = replace(RIGHT[1], exactness=EXACT)
    (report,) = prove([exact], seconds=2, tested=unrefuted([exact]))
    assert report.status is Status.UNKNOWN


# Limits.


def test_the_deadline_is_kept():
    seconds = itertools.count()  # each look at the clock costs one
    rules = RIGHT[:3]
    reports = prove(rules, seconds=0, tested=unrefuted(rules), clock=lambda: next(seconds))
    assert {report.status for report in reports} == {Status.UNKNOWN}
    assert {report.reason for report in reports} == {TIME_IS_OVER}


def test_a_rule_of_which_the_cases_are_not_proved_in_time_says_so():
    seconds = itertools.count()
    rules = RIGHT[:1]
    (report,) = prove(rules, seconds=2, tested=unrefuted(rules), clock=lambda: next(seconds))
    assert report.status is Status.UNKNOWN
    assert report.reason == f"0 of {len(report.proofs[0].missing)} cases proved; {TIME_IS_OVER}"


def test_proof_by_z3_needs_z3(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(UsageError, match=r"tensaur\[prove\]"):
        prove(RIGHT[:1], methods=[Method.SMT], tested=unrefuted(RIGHT[:1]))


# The library.

SAMPLE = (
    "activation-recognise-sigmoid",
    "convolution-absorb-bias",
    "layout-transpose-twice",
    "matmul-join-sum",
    "reduction-sum-twice",
)


def test_rules_of_the_library_are_proved():
    rules = [rule for rule in ALL_RULES if rule.name in SAMPLE]
    reports = prove(rules, seconds=120, tested=unrefuted(rules))
    assert all(report.is_proved for report in reports), table(reports)


LEAST_PROVED = 0.95


@pytest.mark.slow
def test_nearly_all_rules_of_the_library_are_proved():
    reports = prove(ALL_RULES, seconds=1200)
    assert [report.rule for report in reports if report.status is Status.REFUTED] == []
    share = sum(report.is_proved for report in reports) / len(reports)
    assert share >= LEAST_PROVED, table(reports)


# Cases.


def test_cases_show_ranks_broadcasts_and_attributes():
    (one_way,) = directions(RIGHT[4])
    drawn = cases(one_way)
    traits = frozenset().union(*(case.traits for case in drawn))
    assert {"rank of x: 1", "rank of x: 2", "element type: float"} <= traits
    assert any(trait.startswith("Concat axis: ") for trait in traits)
    assert len(drawn) <= 16


def test_a_general_case_has_symbols_for_sizes():
    (one_way,) = directions(RIGHT[0])
    drawn = [case for case in cases(one_way) if case.facts["x"].tensor.rank == 2]
    general = drawn[0].general
    assert general is not None
    shape = general.facts["x"].tensor.shape
    sized = drawn[0].facts["x"].tensor.static_shape
    assert shape is not None
    assert sized is not None
    assert [dim in (0, 1) for dim in shape] == [size in (0, 1) for size in sized]
