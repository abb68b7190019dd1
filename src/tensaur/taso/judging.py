"""TASO's rules one by one: stated as ours, tried, and where they are wrong, narrowed to where they hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, Derived, Term, Var, subterms
from tensaur.ops import Concat, Conv
from tensaur.rules.conditions import same_type
from tensaur.synth.counterexample import Counterexample
from tensaur.synth.trial import Trial
from tensaur.synth.verify import Coverage, Verification, verify
from tensaur.taso.drawing import drawn
from tensaur.taso.equation import Equation, Unstated, equation
from tensaur.taso.repeats import signature
from tensaur.taso.statement import Statement, state
from tensaur.taso.wire import RuleRecord

Say = Callable[[str], None]

# Of instances that are made for a rule: how many are wanted, and drawn for that at most.
_TRIALS, _ATTEMPTS = 100, 3_000
_EXAMPLES = 12  # how many counterexamples to look at for the simplest


class Outcome(Enum):
    """What became of a rule; SAME: both sides are one term here."""

    VERIFIED = "verified"
    REFUTED = "refuted"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule of the file, and what became of it.

    `rule` is None if it cannot be stated, or if it says the same as rule `same_as`; `reason` says why
    it is unknown. `narrowed` holds where a refuted rule does not.
    """

    number: int
    outcome: Outcome
    equation: Equation | None = None
    rule: Rule | None = None
    instances: int = 0
    reason: str = ""
    counterexample: Counterexample | None = None
    narrowed: Rule | None = None
    same_as: int | None = None


def judge(records: Sequence[RuleRecord], say: Say = lambda message: None) -> tuple[Judged, ...]:
    """Judge every rule of a file; RuleError if a record contradicts itself."""
    read = [_read(number, record) for number, record in enumerate(records)]
    judged: list[Judged] = []
    first: dict[str, Judged] = {}
    for number, item in enumerate(read):
        say(f"trying rule {number} of {len(read)}")
        judged.append(item if isinstance(item, Judged) else _judge_once(item, first))
    return tuple(judged)


def count(judged: Sequence[Judged]) -> str:
    """Say of how many rules what became."""
    outcomes = [item.outcome for item in judged]
    parts = [
        f"{outcomes.count(Outcome.VERIFIED)} hold",
        f"{outcomes.count(Outcome.SAME)} say nothing here",
        f"{outcomes.count(Outcome.REFUTED)} are refuted",
        f"{outcomes.count(Outcome.UNKNOWN)} are unknown",
    ]
    narrowed = sum(item.narrowed is not None for item in judged)
    if narrowed:
        parts[2] += f" ({narrowed} of them hold where narrowed)"
    return f"{len(judged)} rules: {', '.join(parts)}"


def _read(number: int, record: RuleRecord) -> Equation | Judged:
    try:
        return equation(number, record)
    except Unstated as error:
        return Judged(number, Outcome.UNKNOWN, reason=str(error))


def _judge_once(item: Equation, first: dict[str, Judged]) -> Judged:
    key = signature(item)
    if key in first:
        return Judged(item.number, first[key].outcome, item, same_as=first[key].number)
    first[key] = _judge(item)
    return first[key]


def _judge(item: Equation) -> Judged:
    try:
        statement = state(item)
    except Unstated as error:
        return Judged(item.number, Outcome.UNKNOWN, item, reason=str(error))
    rule = statement.rule
    if item.is_trivial:
        return Judged(item.number, Outcome.SAME, item, rule)
    found = _tried(statement, rule)
    if found.verified:
        return Judged(item.number, Outcome.VERIFIED, item, rule, found.instances)
    if found.counterexample is None:
        reason = "no instance was found on which it applies"
        return Judged(item.number, Outcome.UNKNOWN, item, rule, reason=reason)
    return Judged(
        item.number,
        Outcome.REFUTED,
        item,
        rule,
        counterexample=found.counterexample,
        narrowed=next((one for one in _narrowings(rule) if _tried(statement, one).verified), None),
    )


def _tried(statement: Statement, rule: Rule) -> Verification:
    """Verify a rule, on instances that are made for it first."""
    trial = Trial(rule, seed=0, examples=_EXAMPLES)
    for instance, application in drawn(
        rule, statement.values, statement.equation, seed=0, attempts=_ATTEMPTS
    ):
        trial.consider(instance, application)
        if len(trial.tested) >= _TRIALS or len(trial.failures) >= _EXAMPLES:
            break
    wrong = trial.counterexample()
    if wrong is None:
        return verify(rule)
    return Verification(rule.name, (Coverage(rule.name, tuple(trial.tested)),), wrong)


def _narrowings(rule: Rule) -> Iterator[Rule]:
    """Yield rules that ask for more: one group everywhere, then also weights of one type."""
    groups = _group_variables(rule)
    if not groups:
        return
    ungrouped = replace(_with_groups(rule, groups, 1), name=f"{rule.name}-ungrouped")
    yield ungrouped
    more = tuple(same_type(first, second) for first, second in _joined_weights(rule))
    if more:
        yield replace(ungrouped, name=f"{ungrouped.name}-alike", when=(*ungrouped.when, *more))


def _group_variables(rule: Rule) -> tuple[AttrVar, ...]:
    found = (dict(term.attrs).get("group") for term in _operators(rule.finds) if term.op is Conv)
    return tuple(dict.fromkeys(item for item in found if isinstance(item, AttrVar)))


def _joined_weights(rule: Rule) -> list[tuple[Var, Var]]:
    """Return the pairs of variables that stand side by side in the weights of made convolutions."""
    weights = [term.inputs[1] for term in _operators(rule.makes) if term.op is Conv]
    joined = [term for term in weights if isinstance(term, Apply) and term.op is Concat]
    return [
        (first, second)
        for term in dict.fromkeys(joined)
        for first, second in itertools.pairwise(term.inputs)
        if isinstance(first, Var) and isinstance(second, Var)
    ]


def _operators(roots: Sequence[Term]) -> Iterator[Apply]:
    for root in roots:
        yield from (term for term in subterms(root) if isinstance(term, Apply))


def _with_groups(rule: Rule, variables: Sequence[AttrVar], count: int) -> Rule:
    def put(term: Any) -> Any:
        if isinstance(term, AttrVar):
            return count if term in variables else term
        if isinstance(term, Derived):
            return replace(term, args=tuple(map(put, term.args)))
        if isinstance(term, Apply):
            attrs = tuple((name, put(value)) for name, value in term.attrs)
            return replace(term, attrs=attrs, inputs=tuple(map(put, term.inputs)))
        return tuple(map(put, term)) if isinstance(term, tuple) else term

    return replace(rule, find=put(rule.find), make=put(rule.make), when=put(rule.when))
