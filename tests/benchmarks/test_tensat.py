"""TenSat's rules: every one is sound on samples and applies to something, and none is there twice."""

import pytest

from benchmarks.tensat import RULES
from tensaur.ir.rule import Rule
from tensaur.synth.verify import verify

TRIALS = 10


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_is_verified(rule: Rule) -> None:
    verification = verify(rule, seed=0, trials=TRIALS)
    assert verification.verified, str(verification)


def test_names_and_equations_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert len({(rule.finds, rule.makes, rule.when) for rule in RULES}) == len(RULES)
    assert all(rule.name.startswith("tensat-") for rule in RULES)
