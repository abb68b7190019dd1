"""From a timed run of a whole model to feedback: which parts of the graph ran together, next to what.

Reads the kernels that a runtime tells of; what prices are, and how factors come about, is `measured`'s
and `feedback`'s matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensaur.cost.feedback import Feedback
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.model import PriceKind, runs
from tensaur.cost.query import Query
from tensaur.errors import TypeMismatch
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Project
from tensaur.runtime.protocol import Kernel

Neighbours = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Part:
    """Operators of a graph that run together, as a graph of their own, and for how many seconds.

    `neighbours` are the kinds of the kernels that make what they read and that read what they make.
    """

    graph: Graph
    neighbours: Neighbours
    seconds: float


def learn(
    feedback: Feedback, pricer: MeasuredCost, graph: Graph, kernels: Sequence[Kernel]
) -> None:
    """Compare what a model's kernels took with the prices of the same operators alone.

    What the runtime has added to the model is shared out over all of its kernels. Operators without a
    measured price teach nothing.
    """
    total = sum(item.seconds for item in kernels)
    known = sum(item.seconds for item in kernels if item.computes)
    for part in parts(graph, kernels) if known else ():
        price = pricer.isolated(part.graph)
        if price.kind is PriceKind.MEASURED:
            path = (*pricer.path(part.graph), part.neighbours)
            feedback.observe(path, price.amount * 1e-9, part.seconds * total / known)


def parts(graph: Graph, kernels: Sequence[Kernel]) -> Iterator[Part]:
    """Yield what the kernels compute, part by part; nodes of the graph are found by their names."""
    by_name = {node.name: place for place, node in enumerate(graph.nodes) if node.name}
    seconds: defaultdict[tuple[int, ...], float] = defaultdict(float)
    kinds: dict[tuple[int, ...], str] = {}
    for kernel in kernels:
        found = [by_name[name] for name in kernel.computes if name in by_name]
        places = _running(graph, found)
        if places:
            seconds[places] += kernel.seconds  # what runs as several kernels is one part
            kinds[places] = f"{kinds[places]}+{kernel.kind}" if places in kinds else kernel.kind
    kind_of = {place: kind for places, kind in kinds.items() for place in places}
    for places, spent in seconds.items():
        query = _query(graph, places)
        if query is None:
            continue
        try:
            alone = query.graph()
            _ = alone.facts
        except TypeMismatch:  # inference knew more of an inner value from what stands before it
            continue
        yield Part(alone, _neighbours(graph, places, kind_of), spent)


def _running(graph: Graph, places: Sequence[int]) -> tuple[int, ...]:
    """Return the operators that make some values, in order."""
    makers = {
        graph.nodes[place].inputs[0] if isinstance(graph.nodes[place].op, Project) else place
        for place in places
    }
    return tuple(sorted(place for place in makers if runs(graph.nodes[place].op)))


def _query(graph: Graph, places: Sequence[int]) -> Query | None:
    """Return some operators as a query, None if one of them reads but a part of what another makes."""
    number = {place: -position for position, place in enumerate(places, start=1)}
    read: dict[int, int] = {}
    wiring = []
    for place in places:
        for item in graph.nodes[place].inputs:
            node = graph.nodes[item]
            if isinstance(node.op, Project) and node.inputs[0] in number:
                return None
            if item not in number:
                read.setdefault(item, len(read))
        wiring.append(
            tuple(number[i] if i in number else read[i] for i in graph.nodes[place].inputs)
        )
    ops = tuple(graph.nodes[place].op for place in places)
    return Query(ops, tuple(wiring), tuple(graph.facts[item] for item in read))


def _neighbours(graph: Graph, places: Sequence[int], kind_of: dict[int, str]) -> Neighbours:
    inside = set(places)
    before = {item for place in places for item in _makers(graph, place)} - inside
    after = {item for place in places for item in _readers(graph, place)} - inside
    return _kinds(before, kind_of), _kinds(after, kind_of)


def _makers(graph: Graph, place: int) -> Iterator[int]:
    for item in graph.nodes[place].inputs:
        node = graph.nodes[item]
        yield node.inputs[0] if isinstance(node.op, Project) else item


def _readers(graph: Graph, place: int) -> Iterator[int]:
    for item in graph.users[place]:
        if isinstance(graph.nodes[item].op, Project):
            yield from graph.users[item]
        else:
            yield item


def _kinds(places: set[int], kind_of: dict[int, str]) -> tuple[str, ...]:
    return tuple(sorted(kind_of[place] for place in places if place in kind_of))
