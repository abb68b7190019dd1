"""Explored e-graphs and their spaces from graphs in text form; what the tests of extraction share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensaur.cost.analytic import Bytes, Flops, Launches
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer, Limits
from tensaur.extract.lower import lower
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import ArrayData, Graph
from tensaur.ir.operator import Literal, Weight
from tensaur.ir.text import graph_text, parse_graph
from tensaur.ops import OPERATORS

METRICS = {"flops": Flops(), "bytes": Bytes(), "launches": Launches()}


def never(joints):
    """Fuse nothing."""
    return [False] * len(joints)


def by_operators(fuses):
    """Return the answers of a function of the inner operators and the outer one."""
    return lambda joints: [fuses(joint.inner.ops, joint.outer.ops[-1]) for joint in joints]


@dataclass
class Explored:
    """A graph, its e-graph after the rules were applied, and the space of choices."""

    graph: Graph
    egraph: EGraph
    space: Space

    def of_class(self, name):
        """Return the options for the value that the original calls by this name."""
        return [option for option in self.space.options if option.cls == self.cls(name)]

    def cls(self, name):
        """Return the class of the value that the original calls by this name."""
        (row,) = (row for row, known in self.egraph.names.items() if known == name)
        return self.egraph.find(row)

    def ops(self, option):
        """Return the names of the operators of an option, "folded" for a constant."""
        return "+".join(type(self.space.operator(r)).__name__ for r in option.rows) or "folded"

    def prices(self, metric="flops"):
        """Return the price of every query on paper."""
        if metric == "none":
            return np.zeros(len(self.space.queries))
        model = METRICS[metric]
        return np.array([model.estimate(query) for query in self.space.queries], dtype=float)

    def none(self):
        """Return that no query is refused."""
        return np.zeros(len(self.space.queries), dtype=bool)

    def picked(self, metric="flops", budget=None, **changes):
        """Return the options of the cheapest graph."""
        arguments = {"prices": self.prices(metric), "refused": self.none(), "budget": budget}
        problem = self.space.problem(**{**arguments, **changes})
        return self.space.picked(problem, extract(problem))

    def lowered(self, metric="flops", budget=None, **changes):
        """Return the cheapest graph."""
        return lower(self.space, self.picked(metric, budget, **changes), self.graph)

    def text(self, *arguments, **changes):
        """Return the cheapest graph as text."""
        return graph_text(self.lowered(*arguments, **changes))


def graph_of(text, seed=0):
    """Return a graph from its text, with random weights."""
    graph = parse_graph(text, OPERATORS, {})
    random = np.random.default_rng(seed)
    for node in graph.nodes:
        if isinstance(node.op, Weight):
            data = random.standard_normal(node.op.type.static_shape)
            graph.constants[node.op.name] = ArrayData(data.astype(node.op.type.dtype.numpy))
    return graph


def explored(text, *rules, fuses=None, **arguments: Any):
    """Load a graph, apply rules until nothing changes, and collect the choices."""
    graph = graph_of(text)
    egraph = EGraph()
    root = egraph.load(graph)
    Explorer(egraph, rules, Limits(iterations=8)).run()
    fused = by_operators(fuses) if fuses else never
    return Explored(graph, egraph, Space(egraph, root, graph.constants, fused, **arguments))


def literals(graph):
    """Return the elements of the graph's literals."""
    return [n.op.value.array.tolist() for n in graph.nodes if isinstance(n.op, Literal)]
