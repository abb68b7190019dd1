"""What an exploration reports: one `Iteration` per round, and why it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tensaur.egraph.budget import StopReason

# Reasons that a record lists; they may name shapes, so there may be very many.
_REASONS = 8


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """One rule in one iteration, in numbers of matches.

    `matches` were found, `applied` now (earlier ones are not applied again), `skipped` because they
    would have closed a cycle, `backed_off` because they were too many, `rejected` by reason (the most
    frequent ones); the rest was applied before or is over budget.
    """

    rule: str
    matches: int
    applied: int
    skipped: int
    backed_off: int
    rejected: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Seconds:
    """The time that the parts of an iteration took."""

    match: float = 0.0
    apply: float = 0.0
    rebuild: float = 0.0
    filter: float = 0.0

    @property
    def total(self) -> float:
        """Return the sum."""
        return self.match + self.apply + self.rebuild + self.filter


@dataclass(frozen=True, slots=True)
class Iteration:
    """One round: what each rule did, and the e-graph after it."""

    number: int
    rules: tuple[RuleRecord, ...]
    nodes: int
    classes: int
    banned: int
    seconds: Seconds

    @property
    def applied(self) -> int:
        """Return how many matches were applied."""
        return sum(rule.applied for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Exploration:
    """The records of all iterations and the reason to stop."""

    records: tuple[Iteration, ...]
    stop: StopReason


@dataclass(slots=True)
class RuleTally:
    """Counts one rule's matches while an iteration is under way."""

    rule: str
    matches: int = 0
    applied: int = 0
    skipped: int = 0
    backed_off: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def record(self) -> RuleRecord:
        """Return the counts as a record."""
        most = self.rejected.most_common(_REASONS)
        rest = sum(self.rejected.values()) - sum(count for _, count in most)
        rejected = dict(most) | ({"other reasons": rest} if rest else {})
        return RuleRecord(
            self.rule, self.matches, self.applied, self.skipped, self.backed_off, rejected
        )
