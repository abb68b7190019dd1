"""Finder: all candidates of one iteration, from the rules that have anything new to find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensaur.egraph.budget import Budget
from tensaur.egraph.candidates import Candidates, Selector
from tensaur.egraph.cycles import Descendants
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.groups import Grouper
from tensaur.egraph.match import Matcher
from tensaur.egraph.pattern import Source, sequence_operators, sources
from tensaur.egraph.record import RuleTally
from tensaur.egraph.relations import IntArray
from tensaur.egraph.watch import Watch
from tensaur.ir.rule import Rule


class Finder:
    """Matches and judges the rules against the e-graph as it is at the start of an iteration."""

    def __init__(self, egraph: EGraph, rules: Sequence[Rule], budget: Budget) -> None:
        self._egraph = egraph
        self._rules = rules
        self._budget = budget
        self._matcher = Matcher(egraph, budget)
        self._selector = Selector(egraph, rules, budget)
        self._watch = Watch(egraph, rules)
        self._matches = [0] * len(rules)
        self._looked_at: list[int] = []
        self._next = 0
        self._sources: dict[tuple[int, tuple[int, ...]], tuple[Source, ...]] = {}
        self._products = frozenset(rule.name for rule in rules if rule.group is not None)

    def find(
        self, due: frozenset[int], descendants: Descendants, tallies: Sequence[RuleTally]
    ) -> Iterator[Candidates]:
        """Yield the candidates of the rules that are due."""
        self._matcher.refresh()
        facts = self._egraph.fact_of
        self._watch.refresh(self._matcher.view, facts)
        self._looked_at = []
        grouper = Grouper(self._egraph, facts, descendants, self._products)
        for index in self._order():
            if self._budget.enough_matching():
                self._next = index
                return
            rule = self._rules[index]
            if index not in due or self._watch.is_void(index):
                continue
            # Groups also depend on what depends on what, which is not watched.
            if self._watch.is_settled(index) and rule.name not in self._products:
                tallies[index].matches = self._matches[index]
                continue
            yield from self._find_rule(index, grouper, facts, tallies[index])
            self._matches[index] = tallies[index].matches
            self._looked_at.append(index)

    def applied(self, candidates: Candidates) -> None:
        """Remember candidates as applied."""
        self._selector.applied(candidates)

    def settle(self, tallies: Sequence[RuleTally], left_over: frozenset[int]) -> None:
        """Note after a whole iteration that nothing it found is left to do, except for some rules."""
        if not self._budget.truncated:
            for index in self._looked_at:
                if index not in left_over and not tallies[index].skipped:
                    self._watch.settle(index)

    def _order(self) -> list[int]:
        """Return the rules, beginning with the one that an iteration had no time for."""
        count = len(self._rules)
        return [(self._next + i) % count for i in range(count)]

    def _find_rule(
        self, index: int, grouper: Grouper, facts: IntArray, tally: RuleTally
    ) -> Iterator[Candidates]:
        # More than twice of what there is room for helps nobody; a margin, since nodes may coincide.
        enough = max(256, 2 * (self._budget.limits.nodes - self._egraph.node_count))
        for source in self._sources_of(index):
            matches = self._matcher.find(source)
            for each in (matches,) if source.group is None else grouper.groups(matches):
                for candidates in self._selector.select(each, facts, tally, enough):
                    enough = max(0, enough - candidates.demand)
                    yield candidates

    def _sources_of(self, index: int) -> tuple[Source, ...]:
        rule = self._rules[index]
        lengths = tuple(self._matcher.lengths(sequence_operators(rule)))
        key = (index, lengths)
        if key not in self._sources:
            self._sources[key] = tuple(sources(index, rule, lengths))
        return self._sources[key]
