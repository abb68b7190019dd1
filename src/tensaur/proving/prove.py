"""Prove rules from axioms, many at once: by saturation (TenSat's way) and by Z3 (TASO's way).

A rule is proved by its cases, of which there are enough to show every rank, broadcast and attribute that
sampling shows. Rules that no method proves are tested, and refuted if the test finds a counterexample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tensaur.egraph.explore import Limits
from tensaur.ir.rule import Exactness, Rule
from tensaur.proving.alike import is_like
from tensaur.proving.axioms import AXIOMS, GENERAL, PLAIN
from tensaur.proving.cases import Applied, Case, cases
from tensaur.proving.proofs import Method, Missing, Proof, Report, Status
from tensaur.proving.saturate import Clock, Saturation, Stage, saturate
from tensaur.proving.smt import prove_by_z3
from tensaur.synth.verify import Verification, directions, verify

Say = Callable[[str], None]

# First for all sizes, then for those of the cases: without arithmetic, with it, and for long.
_GENERAL = Stage(GENERAL, iterations=6, seconds=3.0, batch=100)
_SIZED = (
    Stage(PLAIN, iterations=8, seconds=3.0, batch=60),
    Stage(AXIOMS, iterations=8, seconds=3.0, batch=40),
    Stage(AXIOMS, iterations=12, seconds=15.0, batch=12),
)
# For finding out which axioms a proof needs.
_REPLAY = Limits(nodes=20_000, seconds=5.0, iterations=12, multi=12)
_REPLAY_SECONDS = 3.0
_Z3_SECONDS = 4.0


def prove(
    rules: Sequence[Rule],
    *,
    seconds: float = 600.0,
    methods: Sequence[Method] = (Method.SATURATION,),
    tested: Mapping[str, Verification] | None = None,
    instances: Mapping[str, Sequence[Applied]] | None = None,
    seed: int = 0,
    say: Say = lambda message: None,
    clock: Clock = time.perf_counter,
) -> tuple[Report, ...]:
    """Prove rules, each by every method, within about `seconds`; UsageError if Z3 is asked for and absent.

    `instances` are some to be proved beside those drawn, by the name of a one-way rule. `tested` are
    verifications by rule name; a rule that is neither proved nor there is tested here. A
    counterexample outweighs a proof: where one side has no value, a proof says nothing.
    """
    proving = _Proving(rules, seed, clock() + seconds, clock, say, instances or {})
    proofs = [proving.prove(method) for method in methods]
    known = dict(tested or {})
    reports = []
    for number, rule in enumerate(rules):
        own = tuple(item[number] for item in proofs)
        reports.append(_report(rule, own, known, seed))
    return tuple(reports)


def _report(
    rule: Rule, proofs: tuple[Proof, ...], tested: Mapping[str, Verification], seed: int
) -> Report:
    complete = any(proof.is_complete for proof in proofs)
    verification = tested.get(rule.name)
    if verification is None and not complete:
        verification = verify(rule, seed)
    if verification is not None and verification.counterexample is not None:
        return Report(rule.name, Status.REFUTED, proofs, verification.counterexample)
    if complete:
        is_axiom = any(is_like(rule, axiom) for axiom in AXIOMS)
        return Report(rule.name, Status.AXIOM if is_axiom else Status.PROVED, proofs)
    return Report(rule.name, Status.UNKNOWN, proofs, reason=_reason(proofs))


def _reason(proofs: Sequence[Proof]) -> str:
    if not any(proof.proved or proof.missing for proof in proofs):
        return "no instance was found on which it applies"
    best = max(proofs, key=lambda proof: len(proof.proved))
    total = len(best.proved) + len(best.missing)
    reasons = dict.fromkeys(item.reason for item in best.missing)
    return f"{len(best.proved)} of {total} cases proved; {'; '.join(reasons)}"


@dataclass
class _Goal:
    """One case on the way to its proof."""

    rule: int
    level: Exactness
    case: Case
    general: bool = False
    proved: bool = False
    reason: str = "not tried"
    axioms: frozenset[str] = field(default_factory=frozenset)


class _Proving:
    """The cases of some rules, and what has been proved of them."""

    def __init__(
        self,
        rules: Sequence[Rule],
        seed: int,
        deadline: float,
        clock: Clock,
        say: Say,
        instances: Mapping[str, Sequence[Applied]],
    ) -> None:
        self._rules = rules
        self._deadline = deadline
        self._clock = clock
        self._say = say
        self._cases: list[tuple[int, Exactness, Case]] = []
        for number, rule in enumerate(rules):
            say(f"drawing cases of {rule.name}")
            for one_way in directions(rule):
                drawn = cases(one_way, seed, given=instances.get(one_way.name, ()))
                self._cases += [(number, rule.exactness, case) for case in drawn]

    def prove(self, method: Method) -> list[Proof]:
        """Return what a method proves of every rule."""
        goals = [_Goal(*item) for item in self._cases]
        if method is Method.SATURATION:
            for level in sorted({goal.level for goal in goals}):
                self._saturate([goal for goal in goals if goal.level == level], level)
        else:
            for goal in goals:
                self._ask(goal)
        return [
            self._proof(method, [goal for goal in goals if goal.rule == number])
            for number in range(len(self._rules))
        ]

    def _saturate(self, goals: Sequence[_Goal], level: Exactness) -> None:
        self._say(f"saturating with axioms: {len(goals)} cases of {level.name.lower()} rules")
        self._attempt([g for g in goals if g.case.general is not None], _GENERAL, level, True)
        for stage in _SIZED:
            self._attempt([goal for goal in goals if not goal.proved], stage, level, False)

    def _attempt(
        self, goals: Sequence[_Goal], stage: Stage, level: Exactness, general: bool
    ) -> None:
        admitted = Stage(
            _admitted(stage.axioms, level), stage.iterations, stage.seconds, stage.batch
        )
        tried = [_of(goal.case, general) for goal in goals]
        outcomes = saturate(tried, admitted, self._deadline, self._clock)
        for goal, outcome in zip(goals, outcomes, strict=True):
            goal.proved, goal.general = outcome.proved, general
            goal.reason, goal.axioms = outcome.reason, outcome.axioms

    def _ask(self, goal: _Goal) -> None:
        axioms = tuple(one for axiom in _admitted(GENERAL, goal.level) for one in axiom.directed())
        for general in (True, False):
            seconds = min(_Z3_SECONDS, self._deadline - self._clock())
            if seconds <= 0:
                goal.reason = "the time is over"
                return
            if general and goal.case.general is None:
                continue
            goal.reason = prove_by_z3(_of(goal.case, general), axioms, seconds)
            goal.proved, goal.general = not goal.reason, general
            if goal.proved:
                return

    def _proof(self, method: Method, goals: Sequence[_Goal]) -> Proof:
        proved = [goal for goal in goals if goal.proved]
        axioms = self._axioms(proved) if method is Method.SATURATION else ()
        return Proof(
            method,
            tuple(_of(goal.case, True) for goal in proved if goal.general),
            tuple(goal.case for goal in proved if not goal.general),
            tuple(Missing(goal.case, goal.reason) for goal in goals if not goal.proved),
            axioms,
        )

    def _axioms(self, goals: Sequence[_Goal]) -> tuple[str, ...]:
        """Return axioms that suffice for some goals of one rule, in the order in which they stand."""
        used: frozenset[str] = frozenset()
        for general in (True, False):
            same = [goal for goal in goals if goal.general == general]
            if same:
                used |= _Replay(same, general, self._clock).axioms()
        return tuple(axiom.name for axiom in AXIOMS if _base(axiom.name) in used)


class _Replay:
    """Finds few axioms that prove some cases, beginning with those that the e-graph names as causes.

    The e-graph names why two classes were joined, but not why the terms that an axiom matched were there.
    """

    def __init__(self, goals: Sequence[_Goal], general: bool, clock: Clock) -> None:
        self._cases = [_of(goal.case, general) for goal in goals]
        self._causes = {_base(name) for goal in goals for name in goal.axioms}
        self._admitted = _admitted(GENERAL if general else AXIOMS, goals[0].level)
        self._clock = clock
        self._deadline = clock() + _REPLAY_SECONDS

    def axioms(self) -> frozenset[str]:
        """Return the names of axioms that suffice."""
        if self._suffice(self._causes):
            return frozenset(self._causes)
        whole = Saturation(self._cases, self._admitted, _REPLAY, self._clock)
        whole.run()
        needed = self._causes | {_base(name) for name in whole.fired()}
        size = len(needed)
        while size > 1 and self._clock() < self._deadline:
            size = (size + 1) // 2
            optional = sorted(needed - self._causes)
            for start in range(0, len(optional), size):
                fewer = needed - set(optional[start : start + size])
                if self._clock() < self._deadline and self._suffice(fewer):
                    needed = fewer
        return frozenset(needed)

    def _suffice(self, names: Iterable[str]) -> bool:
        chosen = tuple(axiom for axiom in self._admitted if axiom.name in set(names))
        outcomes = Saturation(self._cases, chosen, _REPLAY, self._clock).run()
        return all(outcome.proved for outcome in outcomes)


def _admitted(axioms: Iterable[Rule], level: Exactness) -> tuple[Rule, ...]:
    return tuple(axiom for axiom in axioms if axiom.exactness <= level)


def _of(case: Case, general: bool) -> Case:
    return case.general if general and case.general is not None else case


def _base(name: str) -> str:
    """Return the name of an axiom whose one direction is named."""
    return name.removesuffix("~")
