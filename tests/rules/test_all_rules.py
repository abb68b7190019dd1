"""Every rule is sound on samples, and finds what its own left side is."""

from __future__ import annotations

import pytest

from tensaur.ir.operator import Absent, Operator, Project
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, OpVar, evaluate_derived, subterms
from tensaur.rules import ALL_RULES
from tensaur.synth.verify import applications, directions, verify

TRIALS = 20


def _named(rules: tuple[Rule, ...]) -> list[object]:
    return [pytest.param(rule, id=rule.name) for rule in rules]


def test_names_are_unique_and_kebab_case():
    names = [rule.name for rule in ALL_RULES]
    assert len(set(names)) == len(names)
    for name in names:
        assert name == name.lower() and " " not in name and "_" not in name


def test_there_are_many_rules():
    assert len(ALL_RULES) >= 80


@pytest.mark.parametrize("rule", _named(ALL_RULES))
def test_rule_is_verified(rule: Rule):
    verification = verify(rule, seed=0, trials=TRIALS)
    assert verification.verified, str(verification)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("rule", _named(ALL_RULES))
def test_rule_is_verified_on_many(rule: Rule, seed: int):
    # One instance in thousands found that no window fits into an empty slice.
    verification = verify(rule, seed=seed, trials=150)
    assert verification.verified, str(verification)


@pytest.mark.parametrize("rule", _named(ALL_RULES))
def test_found_terms_name_every_attribute(rule: Rule):
    # What a found term leaves out would mean "the default", which is easily mistaken for "any".
    for one_way in directions(rule):
        for term in (item for root in one_way.finds for item in subterms(root)):
            if not isinstance(term, Apply) or isinstance(term.op, OpVar):
                continue
            if term.op not in (Project, Absent):
                assert {name for name, _ in term.attrs} == set(term.op.field_names()), str(term)


@pytest.mark.parametrize("rule", _named(ALL_RULES))
def test_rule_fires_on_what_it_finds(rule: Rule):
    for one_way in directions(rule):
        instance, application = next(applications(one_way, seed=1, attempts=4000))
        assert all(evaluate_derived(item, instance.bindings) for item in one_way.when)
        assert len(application.makes) == len(instance.finds)
        for term, tree in zip(one_way.finds, instance.finds, strict=True):
            assert _matches(term, tree)


def _matches(term, tree) -> bool:
    """Match a pattern against a tree the slow way, looking at operators only."""
    if not isinstance(term, Apply):
        return True
    kinds = term.op.choices if isinstance(term.op, OpVar) else (term.op,)
    if not isinstance(tree.op, kinds):
        return False
    plain = [(name, value) for name, value in term.attrs if isinstance(value, (int, float, tuple))]
    if any(getattr(tree.op, name) != value for name, value in plain):
        return False
    if any(not isinstance(item, (Apply,)) and hasattr(item, "item") for item in term.inputs):
        return True
    return len(term.inputs) == len(tree.inputs) and all(map(_matches, term.inputs, tree.inputs))


def test_operators_of_rules_are_classes():
    for rule in ALL_RULES:
        assert all(issubclass(op, Operator) for op in rule.operators_made())
