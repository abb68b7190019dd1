"""Which rules need not be looked at again because nothing that they can see has changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.hashing import hash_columns
from tensaur.egraph.match import View
from tensaur.egraph.pattern import operator_choices
from tensaur.egraph.relations import IntArray
from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule


class Watch:
    """Compares, by operator class, a digest of all that matching and judging see of the class's rows.

    These are the rows themselves, their classes, their child classes, and the facts of both. A rule
    whose operator classes have the digests that they had when all its matches were dealt with has
    nothing new to find; one of whose operators there is no row finds nothing at all. Digests are
    60-bit sums: that a change goes unseen has a probability below 1e-15.
    """

    def __init__(self, egraph: EGraph, rules: Sequence[Rule]) -> None:
        self._egraph = egraph
        self._choices = [operator_choices(rule) for rule in rules]
        self._seen: list[tuple[int, ...] | None] = [None] * len(rules)
        self._settled: list[tuple[int, ...] | None] = [None] * len(rules)
        self._digests: dict[type[Operator], int] = {}

    def refresh(self, view: View, facts: IntArray) -> None:
        """Look at the e-graph as it is in `view`."""
        digests = np.zeros(len(view.symbol), np.int64)
        for arity in np.unique(view.arity).tolist():
            at = np.flatnonzero(view.arity == arity)
            kids = [view.child(at, position) for position in range(arity)]
            seen = [view.cls[at], facts[view.cls[at]], *kids, *(facts[kid] for kid in kids)]
            digests[at] = hash_columns(view.symbol[at], seen)
        sums = np.zeros(len(self._egraph.operators), np.int64)
        np.add.at(sums, view.symbol, digests)
        present = set(np.unique(view.symbol).tolist())
        self._digests = {
            op: int(sums[symbols].sum()) & ((1 << 63) - 1)
            for op, symbols in self._egraph.symbols.of_class.items()
            if not present.isdisjoint(symbols)
        }

    def is_void(self, rule: int) -> bool:
        """Tell whether some operator that the rule must find is not there at all."""
        return any(self._digests.keys().isdisjoint(choices) for choices in self._choices[rule])

    def is_settled(self, rule: int) -> bool:
        """Tell whether the rule was settled on what it would see now; otherwise note what it sees."""
        seen = tuple(self._digests.get(op, 0) for node in self._choices[rule] for op in node)
        self._seen[rule] = seen
        return seen == self._settled[rule]

    def settle(self, rule: int) -> None:
        """Note that all matches of what the rule saw last are applied or rejected for good."""
        self._settled[rule] = self._seen[rule]
