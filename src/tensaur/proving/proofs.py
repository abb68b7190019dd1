"""What is known of a rule after proving: by which method, from which axioms, for which cases; as text.

Proves nothing itself: that is `prove`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tensaur.proving.cases import Case
from tensaur.synth.counterexample import Counterexample


class Method(Enum):
    """A way to prove: by saturating an e-graph with axioms, or by asking Z3."""

    SATURATION = "saturation"
    SMT = "z3"


class Status(Enum):
    """The answer; AXIOM: the rule is itself what proofs start from, and checked on all small sizes."""

    AXIOM = "axiom"
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Missing:
    """A case that was not proved, and why."""

    case: Case
    reason: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What one method proved of one rule.

    `general` are the cases proved for all sizes, `sized` those proved for the sizes that they have.
    `axioms` are enough for all of them together. `unasked` says why there are no cases at all.
    """

    method: Method
    general: tuple[Case, ...]
    sized: tuple[Case, ...]
    missing: tuple[Missing, ...]
    axioms: tuple[str, ...]
    unasked: str = ""

    @property
    def is_complete(self) -> bool:
        """Tell whether there are cases and all are proved."""
        return not self.missing and bool(self.proved)

    @property
    def proved(self) -> tuple[Case, ...]:
        """Return the cases that are proved."""
        return (*self.general, *self.sized)

    def lines(self) -> list[str]:
        """Return the proof as text: how far it reaches, and from which axioms."""
        parts = [
            f"{len(cases)} for {what}"
            for cases, what in (
                (self.general, "all sizes"),
                (self.sized, "the sizes that they have"),
            )
            if cases
        ]
        total = len(self.proved) + len(self.missing)
        lines = [f"{self.method.value}: {len(self.proved)} of {total} cases proved"]
        if parts:
            lines[0] += f", {' and '.join(parts)}"
        if self.axioms:
            lines.append(f"  from {', '.join(self.axioms)}")
        reasons = dict.fromkeys(item.reason for item in self.missing)
        return [*lines, *(f"  not proved: {reason}" for reason in reasons)]


@dataclass(frozen=True, slots=True)
class Report:
    """The answer for one rule and what it rests on.

    Proofs are about real numbers for rules that are not exact, and say that both sides are equal wherever
    both have a value.
    """

    rule: str
    status: Status
    proofs: tuple[Proof, ...]
    counterexample: Counterexample | None = None
    reason: str = ""

    @property
    def is_proved(self) -> bool:
        """Tell whether every case of the rule is proved, or the rule is an axiom."""
        return self.status in (Status.AXIOM, Status.PROVED)

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return the cases that were proved by some method that proved them all."""
        return next((item.proved for item in self.proofs if item.is_complete), ())

    def text(self) -> str:
        """Return everything as lines of text."""
        lines = [f"{self.rule}: {self.status.value}" + (f": {self.reason}" if self.reason else "")]
        for proof in self.proofs:
            lines += [f"  {line}" for line in proof.lines()]
        lines += [f"  {what}: {', '.join(values)}" for what, values in scope(self.cases).items()]
        if self.counterexample is not None:
            lines += [f"  {line}" for line in self.counterexample.text().splitlines()]
        return "\n".join(lines)


def scope(cases: Iterable[Case]) -> Mapping[str, tuple[str, ...]]:
    """Return what some cases show, by kind: ranks, broadcasts, attributes, element types."""
    found: dict[str, set[str]] = {}
    for case in cases:
        for trait in case.traits:
            what, _, value = trait.partition(": ")
            if value:
                found.setdefault(what, set()).add(value)
    return {what: tuple(sorted(found[what])) for what in sorted(found)}


def table(reports: Sequence[Report]) -> str:
    """Return one line for each rule, and how many there are of each status."""
    width = max((len(item.rule) for item in reports), default=0)
    lines = [f"{item.rule:{width}}  {item.status.value:8}{_brief(item)}" for item in reports]
    return "\n".join([*lines, f"{len(reports)} rules: {tally(reports)}"])


def tally(reports: Sequence[Report]) -> str:
    """Return how many reports there are of each status that there is."""
    counts = {status: sum(item.status is status for item in reports) for status in Status}
    return ", ".join(f"{count} {status.value}" for status, count in counts.items() if count)


def _brief(report: Report) -> str:
    if report.reason:
        return f"  {report.reason}"
    complete = [item for item in report.proofs if item.is_complete]
    sizes = "for all sizes" if any(not item.sized for item in complete) else "for small sizes"
    methods = " and ".join(item.method.value for item in complete)
    return f"  by {methods}, {sizes}" if complete else ""
