"""Which rules are looked at when: phases within an iteration, and rules that pause after too much.

Knows rules by number and counts of matches; matches and applies nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensaur.errors import UsageError
from tensaur.ir.rule import Rule


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff, as in egg (Willsey et al., POPL 2021, section 4.4).

    A rule with more than `matches` new matches in an iteration has none of them applied and pauses for
    `iterations` iterations; both numbers double for that rule every time it happens. Multi-pattern
    rules, which have only few iterations to be applied in, never pause.
    """

    matches: int = 1000
    iterations: int = 5

    def __post_init__(self) -> None:
        if self.matches < 1 or self.iterations < 1:
            raise UsageError(
                f"backoff: {self.matches} matches, {self.iterations} iterations: below 1"
            )


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the rules take turns.

    With `phases`, multi-pattern rules have a phase of their own at the beginning of an iteration, and
    the others see what it made: TenSat's order (section 4.1; its multi-pattern rules run in a hook before
    the others). Otherwise all rules of an iteration see the same e-graph.
    """

    phases: bool = False
    backoff: Backoff | None = None


class Scheduler:
    """Keeps the schedule of one exploration."""

    def __init__(self, schedule: Schedule, rules: Sequence[Rule], multi: int) -> None:
        self._schedule = schedule
        groups = {rule.name for rule in rules if rule.group is not None}
        self._many = frozenset(
            number for number, rule in enumerate(rules) if rule.is_multi or rule.name in groups
        )
        self._single = frozenset(range(len(rules))) - self._many
        self._multi = multi
        self._pauses = [0] * len(rules)
        self._until = [0] * len(rules)

    def phases(self, iteration: int) -> Iterator[frozenset[int]]:
        """Yield the rules of each phase of an iteration; multi-patterns only in the first ones."""
        paused = self.paused(iteration)
        many = self._many - paused if iteration < self._multi else frozenset()
        if self._schedule.phases and many:
            yield many
            many = frozenset()
        yield many | (self._single - paused)

    def paused(self, iteration: int) -> frozenset[int]:
        """Return the rules that pause in an iteration."""
        return frozenset(rule for rule, until in enumerate(self._until) if until > iteration)

    def exceeds(self, rule: int, matches: int, iteration: int) -> bool:
        """Tell whether a rule has found too much, in which case it pauses from the next iteration on."""
        backoff = self._schedule.backoff
        if (
            backoff is None
            or rule in self._many
            or matches <= backoff.matches << self._pauses[rule]
        ):
            return False
        self._until[rule] = iteration + 1 + (backoff.iterations << self._pauses[rule])
        self._pauses[rule] += 1
        return True

    def resume(self) -> None:
        """Let all rules that pause go on: the others have nothing left to do."""
        self._until = [0] * len(self._until)
