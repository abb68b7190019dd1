"""TASO's rules one by one: stated as ours, tried, proved, and where wrong, narrowed to where they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tensaur.errors import RuleError
from tensaur.ir.rule import Rule
from tensaur.proving.cases import Applied
from tensaur.proving.proofs import Proof, Report
from tensaur.proving.prove import prove
from tensaur.proving.saturate import Clock
from tensaur.synth.counterexample import Counterexample
from tensaur.synth.trial import Trial
from tensaur.synth.verify import Coverage, Verification, verify
from tensaur.taso.drawing import drawn
from tensaur.taso.equation import Equation, Unstated, equation
from tensaur.taso.narrowing import forms
from tensaur.taso.repeats import signature
from tensaur.taso.statement import Statement, state
from tensaur.taso.wire import RuleRecord

Say = Callable[[str], None]

SECONDS = 600.0  # for all proofs together

# Of instances that are made for a rule: how many are wanted, and drawn for that at most.
_TRIALS, _ATTEMPTS = 40, 3_000
_EXAMPLES = 12  # how many counterexamples to look at for the simplest
_NO_INSTANCE = "no instance was found on which it applies"


class Outcome(Enum):
    """What became of a rule; SAME: both sides are one term here."""

    PROVED = "proved"
    TESTED = "tested"
    REFUTED = "refuted"
    SAME = "same"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of one form of a rule: `proofs` if it was to be proved, `reason` if none is complete.

    `instances` are those made for it on which both sides agreed.
    """

    rule: Rule
    outcome: Outcome
    instances: int = 0
    proofs: tuple[Proof, ...] = ()
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Tell whether the form is proved, or at least tested without a counterexample."""
        return self.outcome in (Outcome.PROVED, Outcome.TESTED)

    @property
    def axioms(self) -> tuple[str, ...]:
        """Return the axioms that a complete proof needs."""
        return next((proof.axioms for proof in self.proofs if proof.is_complete), ())

    @property
    def reach(self) -> str:
        """Say for which sizes a complete proof holds."""
        return "small sizes" if any(proof.sized for proof in self.proofs) else "all sizes"


@dataclass(frozen=True, slots=True)
class Judged:
    """A rule of the file, and what became of it.

    `answer` is None if it cannot be stated, or if it says the same as rule `same_as`; `reason` says why
    it is unknown. `narrowed` is about a form that holds where a refuted rule does not.
    """

    number: int
    outcome: Outcome
    equation: Equation | None = None
    answer: Answer | None = None
    narrowed: Answer | None = None
    reason: str = ""
    same_as: int | None = None

    @property
    def rule(self) -> Rule | None:
        """Return the rule as TASO has it."""
        return None if self.answer is None else self.answer.rule

    @property
    def counterexample(self) -> Counterexample | None:
        """Return what refutes the rule."""
        return None if self.answer is None else self.answer.counterexample


def judge(
    records: Sequence[RuleRecord],
    say: Say = lambda message: None,
    *,
    seconds: float | None = SECONDS,
    clock: Clock = time.perf_counter,
) -> tuple[Judged, ...]:
    """Judge every rule of a file; one that cannot be stated or contradicts itself is unknown.

    Proofs take at most about `seconds` together; None: rules are only tested.
    """
    read = [_read(number, record) for number, record in enumerate(records)]
    stated = {item.key: item for item in reversed(read) if isinstance(item, _Candidate)}
    candidates = [stated[key] for key in reversed(stated)]
    _Judging(candidates, say, seconds, clock).run()
    return tuple(
        item if isinstance(item, Judged) else item.judged(stated[item.key]) for item in read
    )


def count(judged: Sequence[Judged]) -> str:
    """Say of how many rules what became."""
    outcomes = [item.outcome for item in judged]
    parts = [
        f"{outcomes.count(Outcome.PROVED)} proved",
        f"{outcomes.count(Outcome.TESTED)} tested only",
        f"{outcomes.count(Outcome.SAME)} that say nothing here",
        f"{outcomes.count(Outcome.REFUTED)} refuted",
        f"{outcomes.count(Outcome.UNKNOWN)} unknown",
    ]
    first = {item.number: item for item in judged}
    originals = (item if item.same_as is None else first[item.same_as] for item in judged)
    narrowed = [item.narrowed for item in originals if item.narrowed is not None]
    if narrowed:
        proved = sum(item.outcome is Outcome.PROVED for item in narrowed)
        parts[3] += f" ({len(narrowed)} of them hold where narrowed, {proved} of these proved)"
    return f"{len(judged)} rules: {', '.join(parts)}"


def _read(number: int, record: RuleRecord) -> _Candidate | Judged:
    try:
        item = equation(number, record)
    except (Unstated, RuleError) as error:
        return Judged(number, Outcome.UNKNOWN, reason=str(error))
    try:
        return _Candidate(item, state(item))
    except Unstated as error:
        return Judged(number, Outcome.UNKNOWN, item, reason=str(error))


class _Candidate:
    """An equation on the way to its answer: the form that is looked at, and the answers so far."""

    def __init__(self, item: Equation, statement: Statement) -> None:
        self.key = signature(item)
        self.statement = statement
        self._equation = item
        self._forms = forms(statement.rule)
        self._answers: list[Answer] = []
        self.form: Rule | None = next(self._forms)
        if item.is_trivial:
            self.answer(Answer(statement.rule, Outcome.SAME))

    def answer(self, answer: Answer) -> None:
        """Note the answer for the form that is looked at; if it is wrong, go on to the next."""
        self._answers.append(answer)
        wrong = answer.outcome is Outcome.REFUTED
        self.form = next(self._forms, None) if wrong else None

    def judged(self, first: _Candidate) -> Judged:
        """Return what became of it; `first` is the first candidate that says the same."""
        answer, *others = first._answers
        number, same_as = self._equation.number, first._equation.number
        if number != same_as:
            return Judged(number, answer.outcome, self._equation, same_as=same_as)
        narrowed = next((item for item in others if item.holds), None)
        return Judged(
            number, answer.outcome, self._equation, answer, narrowed, reason=answer.reason
        )


@dataclass
class _Judging:
    """Tries forms on instances made for them, and proves together those that stand."""

    candidates: Sequence[_Candidate]
    say: Say
    seconds: float | None
    clock: Clock
    _agreed: dict[str, list[Applied]] = field(default_factory=dict)
    _tested: dict[str, Verification] = field(default_factory=dict)

    def run(self) -> None:
        """Answer for every candidate."""
        while standing := [item for item in self.candidates if self._stands(item)]:
            for candidate, answer in zip(standing, self._answers(standing), strict=True):
                candidate.answer(answer)

    def _stands(self, candidate: _Candidate) -> bool:
        """Try one form after the other; tell whether one is not refuted so."""
        while candidate.form is not None:
            self.say(f"trying {candidate.form.name}")
            trial = Trial(candidate.form, seed=0, examples=_EXAMPLES)
            agreed = _run(trial, candidate.statement)
            wrong = trial.counterexample()
            if wrong is None:
                name = candidate.form.name
                covered = (Coverage(name, tuple(trial.tested)),)
                self._agreed[name] = agreed
                self._tested[name] = Verification(name, covered, None)
                return True
            refuted = Answer(candidate.form, Outcome.REFUTED, len(agreed), counterexample=wrong)
            candidate.answer(refuted)
        return False

    def _answers(self, candidates: Sequence[_Candidate]) -> Iterator[Answer]:
        rules = [item.form for item in candidates if item.form is not None]
        # What seems to apply nowhere needs a long search, which a test makes and a proof need not.
        wanted = [] if self.seconds is None else [r for r in rules if self._agreed[r.name]]
        proved = {report.rule: report for report in self._reports(wanted)}
        for rule in rules:
            report = proved.get(rule.name)
            if report is not None and report.is_proved:
                instances = len(self._agreed[rule.name])
                yield Answer(rule, Outcome.PROVED, instances, report.proofs)
            else:
                yield self._verified(rule, report)

    def _reports(self, rules: Sequence[Rule]) -> tuple[Report, ...]:
        if not rules or self.seconds is None:
            return ()
        start = self.clock()
        reports = prove(
            rules,
            seconds=self.seconds,
            tested=self._tested,
            instances=self._agreed,
            say=self.say,
            clock=self.clock,
        )
        self.seconds = max(0.0, self.seconds - (self.clock() - start))
        return reports

    def _verified(self, rule: Rule, report: Report | None) -> Answer:
        """Test a rule in full; `report` says why it is not proved."""
        self.say(f"verifying {rule.name}")
        found = verify(rule)
        instances = len(self._agreed[rule.name]) + found.instances
        if found.counterexample is not None:
            return Answer(rule, Outcome.REFUTED, instances, counterexample=found.counterexample)
        if not instances:
            return Answer(rule, Outcome.UNKNOWN, reason=_NO_INSTANCE)
        if report is None:
            return Answer(rule, Outcome.TESTED, instances)
        return Answer(rule, Outcome.TESTED, instances, report.proofs, reason=report.reason)


def _run(trial: Trial, statement: Statement) -> list[Applied]:
    """Try a rule on instances that are made for it, and return those on which it is right."""
    agreed: list[Applied] = []
    made = drawn(trial.rule, statement.values, statement.equation, seed=0, attempts=_ATTEMPTS)
    for instance, application in made:
        before = len(trial.tested)
        trial.consider(instance, application)
        if len(trial.tested) > before:
            agreed.append((instance, application))
        if len(agreed) >= _TRIALS or len(trial.failures) >= _EXAMPLES:
            break
    return agreed
