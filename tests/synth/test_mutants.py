"""Wrong variants of the library's rules are refuted, unless they are no different functions."""

from __future__ import annotations

from random import Random

import pytest

from tensaur.ir.rule import Rule
from tensaur.rules import ALL_RULES
from tests.synth.mutations import FEWEST, Mutant
from tests.synth.sweep import Judgement, judge, mutants_of

SAMPLE = 20  # mutants that are judged in the quick test


def _sample() -> list[object]:
    rng = Random(4)
    drawn = (rng.choice(mutants_of(rule)) for rule in rng.sample(ALL_RULES, SAMPLE))
    return [pytest.param(mutant, id=mutant.rule.name) for mutant in drawn]


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_every_rule_has_mutants(rule: Rule):
    assert len(mutants_of(rule)) >= FEWEST


@pytest.mark.parametrize("mutant", _sample())
def test_wrong_mutant_is_not_accepted(mutant: Mutant):
    verdict = judge(mutant)
    assert verdict.judgement != Judgement.MISSED.value, verdict


def test_most_mutants_are_refuted():
    (rule,) = (rule for rule in ALL_RULES if rule.name == "matmul-join-sum")
    verdicts = [judge(mutant).judgement for mutant in mutants_of(rule)[-4:]]
    assert verdicts.count(Judgement.REFUTED.value) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.name)
def test_no_wrong_mutant_is_accepted(rule: Rule):
    verdicts = [judge(mutant) for mutant in mutants_of(rule)]
    missed = [verdict for verdict in verdicts if verdict.judgement == Judgement.MISSED.value]
    assert not missed, missed
