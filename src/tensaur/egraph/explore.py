"""Explorer: apply rules to an e-graph, iteration by iteration, within exact budgets.

TenSat, section 4 (algorithm 1), with multi-pattern rules only in the first iterations because their
matches grow doubly exponentially; in egg's manner, all matches of a phase are found before any is
applied. When they do not all fit, every rule gets a fair share of the nodes: rules that need little
come first, and half of what is left is kept for the next iteration. What a rule could not apply waits
for that iteration, in which the rule is not matched again (as in egg's backoff scheduling).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from tensaur.egraph.apply import Inserter
from tensaur.egraph.banning import ban_cycles
from tensaur.egraph.budget import Budget, Limits, Stopped, StopReason
from tensaur.egraph.candidates import Candidates
from tensaur.egraph.cycles import CycleFilter, Descendants, Uses, closes_cycle
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.finder import Finder
from tensaur.egraph.record import Exploration, Iteration, RuleTally, Seconds
from tensaur.egraph.schedule import Backoff, Schedule, Scheduler
from tensaur.ir.rule import Rule

__all__ = [
    "Backoff",
    "CycleFilter",
    "Exploration",
    "Explorer",
    "Iteration",
    "Limits",
    "Schedule",
    "StopReason",
]

# With fewer nodes left, or this part of the limit, an iteration may use them all.
_REST, _REST_PART = 256, 20


class Explorer:
    """Applies directed rules to an e-graph until nothing changes or a limit is reached.

    After `run`, however it ended, the e-graph is rebuilt, has at most `limits.nodes` live rows (unless
    it had more before), and under a cycle filter no cycle among unbanned rows.
    """

    def __init__(
        self,
        egraph: EGraph,
        rules: Iterable[Rule],
        limits: Limits | None = None,
        cycle_filter: CycleFilter | str = CycleFilter.EFFICIENT,
        on_iteration: Callable[[Iteration], None] | None = None,
        schedule: Schedule | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._egraph = egraph
        self._rules = tuple(one for rule in rules for one in rule.directed())
        self._limits = limits = limits or Limits()
        self._filter = CycleFilter(cycle_filter)
        self._on_iteration = on_iteration
        self._budget = Budget(limits, clock)
        self._clock = clock
        self._scheduler = Scheduler(schedule or Schedule(), self._rules, limits.multi)
        self._finder = Finder(egraph, self._rules, self._budget)
        names = tuple(rule.name for rule in self._rules)
        self._inserter = Inserter(egraph, self._budget, names)
        self._seconds: dict[str, float] = {}
        self._tallies: list[RuleTally] = []
        self._left_over: list[Candidates] = []
        self._busy: frozenset[int] = frozenset()
        self._paused: frozenset[int] = frozenset()

    def run(self) -> Exploration:
        """Explore; a limit, saturation or Ctrl-C ends it and is returned, never raised."""
        records: list[Iteration] = []
        self._budget.start()
        self._egraph.node_limit = self._limits.nodes
        self._egraph.rebuild()
        if self._filter is not CycleFilter.NONE:
            ban_cycles(self._egraph, self._budget.is_over)
        stop: StopReason | None = None
        with self._budget.interruptible():
            while stop is None and len(records) < self._limits.iterations:
                before = self._state()
                stop = self._iterate(len(records))
                records.append(self._record(len(records)))
                if self._on_iteration is not None:
                    self._on_iteration(records[-1])
                stop = stop or self._judge(before)
        return Exploration(tuple(records), stop or StopReason.ITERATION_LIMIT)

    def _iterate(self, number: int) -> StopReason | None:
        self._seconds = dict.fromkeys(("match", "apply", "rebuild", "filter"), 0.0)
        self._tallies = [RuleTally(rule.name) for rule in self._rules]
        self._budget.truncated = False
        self._paused = self._scheduler.paused(number)
        waiting, self._left_over, self._busy = self._left_over, [], frozenset()
        stop: StopReason | None = None
        *earlier, last = self._scheduler.phases(number)
        for due in earlier:
            stop = stop or self._run_phase(number, due, [i for i in waiting if i.rule in due])
        # What multi-patterns found while they were due is still applied when they are no more.
        done = frozenset().union(*earlier)
        return stop or self._run_phase(number, last, [i for i in waiting if i.rule not in done])

    def _run_phase(
        self, number: int, due: frozenset[int], waiting: Sequence[Candidates]
    ) -> StopReason | None:
        """Find, filter and apply what some rules have to do; `waiting` was left over earlier."""
        self._budget.begin(number, self._egraph.node_count)
        descendants = Descendants(self._egraph, self._budget.check)
        stop: StopReason | None = None
        try:
            with self._timed("match"):
                candidates = self._find(number, due, waiting, descendants)
            with self._timed("filter"):
                candidates = self._without_cycles(candidates, descendants)
            with self._timed("apply"):
                left_over = self._apply(candidates, number)
            self._left_over += left_over
            unsettled = frozenset(item.rule for item in left_over) | self._paused
            self._finder.settle(self._tallies, unsettled)
        except Stopped as stopped:
            stop = stopped.reason
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
        self._egraph.rollback()
        begin, nodes = self._clock(), self._egraph.node_count
        with self._timed("rebuild"):
            self._inserter.finish()
        if self._filter is not CycleFilter.NONE:
            with self._timed("filter"):
                ban_cycles(self._egraph, self._budget.is_over)
        self._budget.learn(self._clock() - begin, nodes)
        return stop

    def _judge(self, before: tuple[int, ...]) -> StopReason | None:
        """Return why to stop after an iteration that was not cut short, None to go on."""
        changed = self._state() != before
        if self._budget.is_nearly_over():
            return StopReason.SATURATED if self._is_saturated(changed) else StopReason.TIME_LIMIT
        if self._left_over:
            room = self._limits.nodes - self._egraph.node_count
            least = min(len(item.structure.nodes) for item in self._left_over)
            return StopReason.NODE_LIMIT if room < least or not changed else None
        if self._paused and self._is_quiet(changed):
            self._scheduler.resume()
            return None
        return StopReason.SATURATED if self._is_saturated(changed) else None

    def _is_saturated(self, changed: bool) -> bool:
        return self._is_quiet(changed) and not self._paused

    def _is_quiet(self, changed: bool) -> bool:
        return not (changed or self._budget.truncated or self._busy or self._left_over)

    def _state(self) -> tuple[int, ...]:
        egraph = self._egraph
        return egraph.nodes.end, egraph.unions.first.size, egraph.banned_count

    def _find(
        self,
        number: int,
        due: frozenset[int],
        waiting: Sequence[Candidates],
        descendants: Descendants,
    ) -> list[Candidates]:
        """Return what earlier iterations left over, and what the other rules find."""
        banned = self._egraph.nodes.banned.view
        candidates: list[Candidates] = []
        for item in waiting:
            item = item.take(~np.logical_or.reduce([banned[rows] for rows in item.matches.rows]))
            if len(item):
                candidates.append(item)
                self._tallies[item.rule].matches += len(item)
        busy = frozenset(item.rule for item in candidates)
        self._busy |= busy
        found = list(self._finder.find(due - busy, descendants, self._tallies))
        return [*candidates, *self._without_excess(found, number)]

    def _without_excess(self, found: Sequence[Candidates], number: int) -> list[Candidates]:
        """Leave out the candidates of rules that found too much and pause for it."""
        counts = Counter[int]()
        for item in found:
            counts[item.rule] += len(item)
        excess = {
            rule for rule, count in counts.items() if self._scheduler.exceeds(rule, count, number)
        }
        for rule in excess:
            self._tallies[rule].backed_off = counts[rule]
        self._paused |= excess
        return [item for item in found if item.rule not in excess]

    def _without_cycles(
        self, candidates: list[Candidates], descendants: Descendants
    ) -> list[Candidates]:
        if self._filter is not CycleFilter.EFFICIENT or not candidates:
            return candidates
        skips = closes_cycle(descendants, [_uses(item, self._egraph) for item in candidates])
        kept = []
        for item, skip in zip(candidates, skips, strict=True):
            self._tallies[item.rule].skipped += int(skip.sum())
            kept.append(item.take(~skip) if skip.any() else item)
        return [item for item in kept if len(item)]

    def _apply(self, candidates: list[Candidates], number: int) -> list[Candidates]:
        """Apply candidates as far as there is room; return what is left over."""
        if self._filter is CycleFilter.VANILLA:
            candidates = [item.take(np.array([i])) for item in candidates for i in range(len(item))]
        room = self._limits.nodes - self._egraph.node_count
        demand = sum(item.demand for item in candidates)
        if demand > room and number + 1 < self._limits.iterations:
            rest = max(_REST, self._limits.nodes // _REST_PART)
            room = room if room <= rest else room // 2
        if demand > room:
            candidates = sorted((i.oldest_first() for i in candidates), key=lambda i: i.demand)
        for _ in range(2):
            candidates, room = self._apply_once(candidates, number, room)
            if not candidates or room <= 0:
                break
        return candidates

    def _apply_once(
        self, candidates: list[Candidates], number: int, room: int
    ) -> tuple[list[Candidates], int]:
        """Give each rule its share of the room; return what was left over, and the room."""
        left_over: list[Candidates] = []
        fits = sum(item.demand for item in candidates) <= room
        for position, item in enumerate(candidates):
            share = room
            if not fits:
                fair = room // (len(candidates) - position)
                share = min(room, max(fair, len(item.structure.nodes)))
            done, used = self._insert(item, number, share)
            room -= used
            if done < len(item):
                left_over.append(item.take(np.arange(done, len(item))))
        return left_over, room

    def _insert(self, item: Candidates, number: int, share: int) -> tuple[int, int]:
        tally, before = self._tallies[item.rule], self._egraph.node_count
        if self._filter is CycleFilter.VANILLA:
            descendants = Descendants(self._egraph, self._budget.check)
            if closes_cycle(descendants, [_uses(item, self._egraph)])[0].any():
                tally.skipped += 1
                return len(item), 0
        inserted = self._inserter.insert(item, number, share)
        tally.applied += inserted.done - inserted.ill_typed
        if inserted.ill_typed:
            tally.rejected["ill-typed"] += inserted.ill_typed
        self._finder.applied(item.take(np.arange(inserted.done)))
        if self._filter is CycleFilter.VANILLA:
            self._inserter.finish()
            ban_cycles(self._egraph, self._budget.is_over)
        # Under the vanilla filter, rebuilding has joined nodes and added literals meanwhile.
        return inserted.done, self._egraph.node_count - before

    def _record(self, number: int) -> Iteration:
        return Iteration(
            number,
            tuple(tally.record() for tally in self._tallies),
            self._egraph.node_count,
            self._egraph.class_count,
            self._egraph.banned_count,
            Seconds(**self._seconds),
        )

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = self._clock()
        try:
            yield
        finally:
            self._seconds[part] += self._clock() - begin


def _uses(item: Candidates, egraph: EGraph) -> Uses:
    find, matches = egraph.unions.find_many, item.matches
    names = sorted(frozenset().union(*item.structure.below))
    place = {name: position for position, name in enumerate(names)}
    return Uses(
        tuple(find(root) for root in matches.roots),
        tuple(find(matches.columns[name]) for name in names),
        tuple(tuple(sorted(place[name] for name in below)) for below in item.structure.below),
    )
