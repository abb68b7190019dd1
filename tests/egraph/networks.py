"""The papers' networks, small, explored by both rule sets; what several tests look at is made once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks.models.networks import NETWORKS
from benchmarks.tensat import RULES as TENSAT_RULES
from tensaur.cost.analytic import Roofline
from tensaur.egraph.budget import Limits
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.egraph.record import Exploration, Iteration
from tensaur.extract.problem import Problem
from tensaur.extract.space import Space, child_tuples
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator
from tensaur.rules import ALL_RULES
from tests.benchmarks.test_models import WIDTHS
from tests.extract.spaces import never

RULE_SETS = {"tensat": TENSAT_RULES, "library": ALL_RULES}


@functools.cache
def network(name: str) -> Graph:
    """Return a network of small width."""
    return NETWORKS[name](width=WIDTHS[name])


class Row(NamedTuple):
    """An e-node with its child classes and its own class."""

    number: int
    op: Operator
    kids: tuple[int, ...]
    cls: int
    banned: bool


def rows_of(egraph: EGraph) -> list[Row]:
    """Return the live e-nodes, oldest first."""
    rows = egraph.rows()
    kids = child_tuples(rows)
    columns = (rows.row, rows.symbol, rows.cls, rows.banned)
    return [
        Row(number, egraph.operators[symbol], kids[i], cls, banned)
        for i, (number, symbol, cls, banned) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]


@dataclass
class Explored:
    """A network in an e-graph that is or will be explored.

    `classes` are those that the graph's nodes had before, `lost` the nodes found in another class, or
    not at all, after some iteration.
    """

    graph: Graph
    limits: Limits
    egraph: EGraph = field(default_factory=EGraph)
    lost: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.root = self.egraph.load(self.graph)
        self.classes: list[int] = []
        for node in self.graph:
            kids = [self.classes[item] for item in node.inputs]
            self.classes.append(self.egraph.add(node.op, kids))

    def explore(
        self, rules: str, cycle_filter: str, clock: Callable[[], float] = lambda: 0.0
    ) -> Exploration:
        """Apply a rule set; look after every iteration for parts of the network that were lost."""
        return Explorer(
            self.egraph, RULE_SETS[rules], self.limits, cycle_filter, self._look, clock=clock
        ).run()

    def problem(self) -> tuple[Space, Problem]:
        """Return the choices that extraction has, and the problem under estimated prices."""
        space = Space(self.egraph, self.root, self.graph.constants, never)
        prices = np.array([Roofline().estimate(query) for query in space.queries], dtype=float)
        refused = np.zeros(len(prices), dtype=bool)
        return space, space.problem(prices, refused, None)

    def _look(self, record: Iteration) -> None:
        self.lost |= set(self._not_represented())

    def _not_represented(self) -> Iterator[int]:
        for position, node in enumerate(self.graph):
            kids = [self.classes[item] for item in node.inputs]
            before = self.egraph.nodes.end
            found = self.egraph.add(node.op, kids)
            if self.egraph.nodes.end > before or found != self.egraph.find(self.classes[position]):
                yield position


@dataclass(frozen=True)
class Outcome:
    """A network explored within limits that take about a second."""

    explored: Explored
    exploration: Exploration


@functools.cache
def outcome(name: str, rules: str, cycle_filter: str) -> Outcome:
    """Explore a network: under the vanilla filter, which takes its time, only a little."""
    size = len(network(name)) + 1
    if cycle_filter == "vanilla":
        limits = Limits(nodes=size + 60, iterations=2)
    else:
        limits = Limits(nodes=size + 1000, iterations=4)
    explored = Explored(network(name), limits)
    return Outcome(explored, explored.explore(rules, cycle_filter))
