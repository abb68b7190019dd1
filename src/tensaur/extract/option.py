"""One way to obtain a value, and the e-nodes that such ways are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensaur.cost.query import Query
from tensaur.egraph.egraph import EGraph, Rows
from tensaur.ir.operator import Operator
from tensaur.ir.types import Fact


@dataclass(frozen=True, slots=True)
class Option:
    """One way to obtain the value of class `cls`.

    `rows` are the e-nodes computed, the one whose value it is last; empty means: folded into a constant.
    `children` are the classes read. `query` indexes the price list, -1 for what costs nothing; `nbytes`
    is what the option adds to the file. `loaded` tells that every row is of the original graph.
    """

    cls: int
    rows: tuple[int, ...]
    children: tuple[int, ...]
    query: int
    nbytes: int
    loaded: bool


@dataclass(frozen=True)
class ENodes:
    """The e-nodes of an e-graph by row, with the classes that each reads."""

    egraph: EGraph
    rows: Rows
    children: Sequence[tuple[int, ...]]

    def operator(self, row: int) -> Operator:
        """Return the operator of an e-node."""
        return self.egraph.operators[int(self.rows.symbol[row])]

    def cls(self, row: int) -> int:
        """Return the class of an e-node."""
        return int(self.rows.cls[row])

    def query(self, rows: Sequence[int]) -> Query:
        """Return what makes a group of e-nodes, in order of computation, cost what it does."""
        positions: dict[int, int] = {}
        inner: dict[int, int] = {}
        facts: list[Fact] = []
        wiring = []
        for number, row in enumerate(rows, start=1):
            places = []
            for child in self.children[row]:
                if child in inner:
                    places.append(-inner[child])
                    continue
                if child not in positions:
                    positions[child] = len(facts)
                    facts.append(self.egraph.fact(child))
                places.append(positions[child])
            wiring.append(tuple(places))
            inner[self.cls(row)] = number
        return Query(tuple(self.operator(row) for row in rows), tuple(wiring), tuple(facts))
