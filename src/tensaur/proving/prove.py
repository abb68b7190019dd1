"""Prove rules from axioms, many at once: by saturation (TenSat's way) and by Z3 (TASO's way).

A rule is proved by its cases, of which there are enough to show every rank, broadcast and attribute that
sampling shows; what no case shows is not proved. So every rule is tested too, and refuted by a counterexample.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tensaur.egraph.explore import Limits
from tensaur.ir.rule import Exactness, Rule
from tensaur.proving.alike import is_like
from tensaur.proving.axioms import AXIOMS, GENERAL, PLAIN
from tensaur.proving.cases import Applied, Case, cases
from tensaur.proving.proofs import Method, Missing, Proof, Report, Status
from tensaur.proving.saturate import TIME_IS_OVER, Clock, Saturation, Stage, saturate
from tensaur.proving.smt import prove_by_z3
from tensaur.synth.verify import Verification, directions, verify

Say = Callable[[str], None]

# First for all sizes, then for those of the cases. Most cases need few iterations; what they leave over
# is tried further with fewer others beside it, since e-graphs grow fast.
_GENERAL = (
    Stage(GENERAL, iterations=3, seconds=10.0, batch=32),
    Stage(GENERAL, iterations=5, seconds=5.0, batch=8),
)
_SIZED = (
    Stage(PLAIN, iterations=3, seconds=10.0, batch=16),
    Stage(AXIOMS, iterations=4, seconds=10.0, batch=4),
    Stage(AXIOMS, iterations=7, seconds=10.0, batch=1, nodes=8_000),
    Stage(AXIOMS, iterations=12, seconds=15.0, batch=1, nodes=20_000, last=True),
)
# For finding out which axioms a proof needs.
_REPLAY = Limits(nodes=5_000, iterations=12, multi=12)
_REPLAY_SECONDS = 10.0
_Z3_SECONDS = 4.0

NO_INSTANCE = "no instance was found on which it applies"


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
    verifications by rule name; a rule that is not there is tested here. A
    counterexample outweighs a proof: where one side has no value, a proof says nothing.
    """
    proving = _Proving(rules, seed, clock() + seconds, clock, say, instances or {})
    proofs = [proving.prove(method) for method in methods]
    known = dict(tested or {})
    return tuple(
        _report(rule, tuple(item[number] for item in proofs), known, seed)
        for number, rule in enumerate(rules)
    )


def _report(
    rule: Rule, proofs: tuple[Proof, ...], tested: Mapping[str, Verification], seed: int
) -> Report:
    complete = any(proof.is_complete for proof in proofs)
    verification = tested.get(rule.name)
    if verification is None:
        verification = verify(rule, seed)
    if verification.counterexample is not None:
        return Report(rule.name, Status.REFUTED, proofs, verification.counterexample)
    if complete:
        is_axiom = any(is_like(rule, axiom) for axiom in AXIOMS)
        return Report(rule.name, Status.AXIOM if is_axiom else Status.PROVED, proofs)
    return Report(rule.name, Status.UNKNOWN, proofs, reason=_reason(proofs))


def _reason(proofs: Sequence[Proof]) -> str:
    if not any(proof.proved or proof.missing for proof in proofs):
        return next((proof.unasked for proof in proofs if proof.unasked), NO_INSTANCE)
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
    causes: frozenset[str] = frozenset()
    applied: frozenset[str] = frozenset()


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
        self._drawn = 0
        for number, rule in enumerate(rules):
            if clock() >= deadline:
                break
            self._drawn += 1
            say(f"drawing cases of {rule.name} ({number + 1} of {len(rules)})")
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
            self._proof(method, number, [goal for goal in goals if goal.rule == number])
            for number in range(len(self._rules))
        ]

    def _saturate(self, goals: Sequence[_Goal], level: Exactness) -> None:
        for number, stage in enumerate((*_GENERAL, *_SIZED)):
            general = number < len(_GENERAL)
            left = [g for g in goals if not (g.proved or (general and g.case.general is None))]
            if left:
                self._say(
                    f"saturating: {len(left)} cases of {level.name.lower()} rules, "
                    f"for {'all' if general else 'their'} sizes"
                )
                self._attempt(left, stage, level, general)

    def _attempt(
        self, goals: Sequence[_Goal], stage: Stage, level: Exactness, general: bool
    ) -> None:
        admitted = replace(stage, axioms=_admitted(stage.axioms, level))
        given_up: set[int] = set()
        for batch in _batches(goals, stage.batch):
            wanted = [goal for goal in batch if goal.rule not in given_up]
            tried = [_of(goal.case, general) for goal in wanted]
            outcomes = saturate(tried, admitted, self._deadline, self._clock)
            for goal, outcome in zip(wanted, outcomes, strict=True):
                goal.proved, goal.general = outcome.proved, general
                goal.reason = outcome.reason
                goal.causes, goal.applied = outcome.causes, outcome.applied
                if stage.last and not outcome.proved:
                    given_up.add(goal.rule)

    def _ask(self, goal: _Goal) -> None:
        axioms = tuple(one for axiom in _admitted(GENERAL, goal.level) for one in axiom.directed())
        for general in (True, False):
            seconds = min(_Z3_SECONDS, self._deadline - self._clock())
            if seconds <= 0:
                goal.reason = TIME_IS_OVER
                return
            if general and goal.case.general is None:
                continue
            goal.reason = prove_by_z3(_of(goal.case, general), axioms, seconds)
            goal.proved, goal.general = not goal.reason, general
            if goal.proved:
                return

    def _proof(self, method: Method, number: int, goals: Sequence[_Goal]) -> Proof:
        proved = [goal for goal in goals if goal.proved]
        return Proof(
            method,
            tuple(_of(goal.case, True) for goal in proved if goal.general),
            tuple(goal.case for goal in proved if not goal.general),
            tuple(Missing(goal.case, goal.reason) for goal in goals if not goal.proved),
            self._axioms(proved, number) if method is Method.SATURATION else (),
            TIME_IS_OVER if number >= self._drawn else "" if goals else NO_INSTANCE,
        )

    def _axioms(self, goals: Sequence[_Goal], number: int) -> tuple[str, ...]:
        """Return axioms that suffice for some goals of one rule, in the order in which they stand.

        What time is left is shared by this rule and those after it.
        """
        now = self._clock()
        share = (self._deadline - now) / (len(self._rules) - number)
        until = now + min(share, _REPLAY_SECONDS)
        used: frozenset[str] = frozenset()
        for general in (True, False):
            same = [goal for goal in goals if goal.general == general]
            if same:
                used |= _Replay(same, general, until, self._clock).axioms()
        return tuple(axiom.name for axiom in AXIOMS if _base(axiom.name) in used)


class _Replay:
    """Finds few axioms that prove some cases, beginning with those that the e-graph names as causes.

    The e-graph names why two classes were joined, but not why the terms that an axiom matched were there.
    All axioms that had been applied until then do suffice; of these, what can be spared is left out.
    """

    def __init__(
        self, goals: Sequence[_Goal], general: bool, deadline: float, clock: Clock
    ) -> None:
        self._cases = [_of(goal.case, general) for goal in goals]
        self._causes = {_base(name) for goal in goals for name in goal.causes}
        self._applied = {_base(name) for goal in goals for name in goal.applied}
        self._admitted = _admitted(AXIOMS, goals[0].level)
        self._clock = clock
        self._deadline = deadline

    def axioms(self) -> frozenset[str]:
        """Return the names of axioms that suffice."""
        if self._suffice(self._causes):
            return frozenset(self._causes)
        needed = self._applied
        size = len(needed - self._causes)
        while size > 1 and self._clock() < self._deadline:
            size = (size + 1) // 2
            optional = sorted(needed - self._causes)
            for start in range(0, len(optional), size):
                fewer = needed - set(optional[start : start + size])
                if self._suffice(fewer):
                    needed = fewer
        return frozenset(needed)

    def _suffice(self, names: Iterable[str]) -> bool:
        left = self._deadline - self._clock()
        if left <= 0:
            return False
        chosen = tuple(axiom for axiom in self._admitted if axiom.name in set(names))
        limits = replace(_REPLAY, seconds=left)
        outcomes = Saturation(self._cases, chosen, limits, self._clock).run()
        return all(outcome.proved for outcome in outcomes)


def _batches(goals: Sequence[_Goal], size: int) -> Iterator[Sequence[_Goal]]:
    return (goals[start : start + size] for start in range(0, len(goals), size))


def _admitted(axioms: Iterable[Rule], level: Exactness) -> tuple[Rule, ...]:
    return tuple(axiom for axiom in axioms if axiom.exactness <= level)


def _of(case: Case, general: bool) -> Case:
    return case.general if general and case.general is not None else case


def _base(name: str) -> str:
    """Return the name of an axiom whose one direction is named."""
    return name.removesuffix("~")
