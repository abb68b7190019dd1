"""Explorer: apply rules to an e-graph, iteration by iteration, within exact budgets.

TenSat, section 4 (algorithm 1), with multi-pattern rules only in the first iterations because their
matches grow doubly exponentially; in egg's manner, all matches of an iteration are found before any is
applied. When they do not all fit, every rule gets a fair share of the nodes: rules that need little
come first, and half of what is left is kept for the next iteration.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from tensaur.egraph.apply import Inserter
from tensaur.egraph.budget import Budget, Limits, Stopped, StopReason
from tensaur.egraph.candidates import Candidates, Selector
from tensaur.egraph.cycles import CycleFilter, Descendants, Uses, ban_cycles, closes_cycle
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.groups import Grouper
from tensaur.egraph.match import Matcher
from tensaur.egraph.pattern import Source, sequence_operators, sources
from tensaur.egraph.record import Exploration, Iteration, RuleTally, Seconds
from tensaur.ir.rule import Rule

__all__ = ["CycleFilter", "Exploration", "Explorer", "Iteration", "Limits", "StopReason"]

# With fewer nodes left, an iteration may use them all.
_REST = 256


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
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._egraph = egraph
        self._rules = tuple(one for rule in rules for one in rule.directed())
        self._limits = limits = limits or Limits()
        self._filter = CycleFilter(cycle_filter)
        self._on_iteration = on_iteration
        self._budget = Budget(limits, clock)
        self._clock = clock
        self._matcher = Matcher(egraph, self._budget)
        self._selector = Selector(egraph, self._rules, self._budget)
        names = tuple(rule.name for rule in self._rules)
        self._inserter = Inserter(egraph, self._budget, names)
        self._sources: dict[tuple[int, tuple[int, ...]], tuple[Source, ...]] = {}
        self._seconds: dict[str, float] = {}
        self._tallies: list[RuleTally] = []
        self._left_over = False
        self._descendants = Descendants(egraph, self._budget.check)
        self._groups = frozenset(rule.name for rule in self._rules if rule.group is not None)

    def run(self) -> Exploration:
        """Explore; a limit, saturation or Ctrl-C ends it and is returned, never raised."""
        records: list[Iteration] = []
        self._egraph.node_limit = self._limits.nodes
        self._egraph.rebuild()
        if self._filter is not CycleFilter.NONE:
            ban_cycles(self._egraph)
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
        self._left_over = False
        self._budget.begin(number)
        stop: StopReason | None = None
        try:
            with self._timed("match"):
                candidates = list(self._find(number))
            with self._timed("filter"):
                candidates = self._without_cycles(candidates)
            with self._timed("apply"):
                self._apply(candidates, number)
        except Stopped as stopped:
            stop = stopped.reason
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
        self._egraph.rollback()
        with self._timed("rebuild"):
            self._inserter.finish()
        if self._filter is not CycleFilter.NONE:
            with self._timed("filter"):
                ban_cycles(self._egraph)
        return stop

    def _judge(self, before: tuple[int, ...]) -> StopReason | None:
        """Return why to stop after an iteration that was not cut short, None to go on."""
        changed = self._state() != before
        if self._left_over and (not changed or self._egraph.node_count >= self._limits.nodes):
            return StopReason.NODE_LIMIT
        if changed or self._budget.truncated:
            return None
        return StopReason.SATURATED

    def _state(self) -> tuple[int, ...]:
        egraph = self._egraph
        return egraph.nodes.end, egraph.unions.first.size, egraph.banned_count

    def _find(self, number: int) -> Iterator[Candidates]:
        self._matcher.refresh()
        facts = self._egraph.fact_of
        self._descendants = Descendants(self._egraph, self._budget.check)
        grouper = Grouper(self._egraph, facts, self._descendants, self._groups)
        for index, rule in enumerate(self._rules):
            several = rule.is_multi or rule.group is not None
            if several and number >= self._limits.multi:
                continue
            for source in self._sources_of(index):
                matches = self._matcher.find(source)
                groups = (matches,) if source.group is None else grouper.groups(matches)
                for each in groups:
                    yield from self._selector.select(each, facts, self._tallies[index])

    def _sources_of(self, index: int) -> tuple[Source, ...]:
        rule = self._rules[index]
        lengths = tuple(self._matcher.lengths(sequence_operators(rule)))
        key = (index, lengths)
        if key not in self._sources:
            self._sources[key] = tuple(sources(index, rule, lengths))
        return self._sources[key]

    def _without_cycles(self, candidates: list[Candidates]) -> list[Candidates]:
        if self._filter is not CycleFilter.EFFICIENT or not candidates:
            return candidates
        descendants = self._descendants
        uses = [_uses(item, self._egraph) for item in candidates]
        descendants.prepare(uses)
        kept = []
        for item, use in zip(candidates, uses, strict=True):
            skip = closes_cycle(descendants, use)
            self._tallies[item.rule].skipped += int(skip.sum())
            kept.append(item.take(~skip) if skip.any() else item)
        return [item for item in kept if len(item)]

    def _apply(self, candidates: list[Candidates], number: int) -> None:
        if self._filter is CycleFilter.VANILLA:
            candidates = [item.take(np.array([i])) for item in candidates for i in range(len(item))]
        room = self._limits.nodes - self._egraph.node_count
        demand = sum(item.demand for item in candidates)
        if demand > room and number + 1 < self._limits.iterations:
            room = room if room <= _REST else room // 2
        if demand > room:
            candidates = sorted((i.oldest_first() for i in candidates), key=lambda i: i.demand)
        for _ in range(2):
            candidates, room = self._apply_once(candidates, number, room)
            if not candidates or room <= 0:
                break
        self._left_over = bool(candidates)

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
        tally = self._tallies[item.rule]
        if self._filter is CycleFilter.VANILLA:
            descendants = Descendants(self._egraph, self._budget.check)
            use = _uses(item, self._egraph)
            descendants.prepare([use])
            if closes_cycle(descendants, use).any():
                tally.skipped += 1
                return len(item), 0
        inserted = self._inserter.insert(item, number, share)
        tally.applied += inserted.done - inserted.ill_typed
        if inserted.ill_typed:
            tally.rejected["ill-typed"] += inserted.ill_typed
        self._selector.applied(item.rule, item.keys[: inserted.done])
        if self._filter is CycleFilter.VANILLA:
            self._inserter.finish()
            ban_cycles(self._egraph)
        return inserted.done, inserted.nodes

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
    below = (
        tuple(find(matches.columns[name]) for name in sorted(names))
        for names in item.structure.below
    )
    return Uses(tuple(find(root) for root in matches.roots), tuple(below))
