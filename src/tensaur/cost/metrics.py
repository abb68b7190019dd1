"""What a whole graph comes to on paper, as MetaFlow tabulates it, and limits on that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tensaur.cost.analytic import StaticWork, static_work
from tensaur.cost.memory import peak_memory, type_size
from tensaur.cost.model import is_free, is_view
from tensaur.cost.objective import LATENCY, Objective
from tensaur.cost.sizes import Sizes
from tensaur.errors import TypeMismatch
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Input


@dataclass(frozen=True, slots=True)
class Metrics:
    """Operations, bytes read and written, operators started, bytes of constants in the file, peak bytes."""

    flops: int
    bytes: int
    launches: int
    size: int
    peak_memory: int

    def weighted(self, objective: Objective) -> float:
        """Return what an objective comes to without the part that latency has in it."""
        values: dict[str, int] = asdict(self)
        return sum(factor * values[name] for name, factor in objective.factors if name != LATENCY)

    def exceeded(self, limits: Mapping[str, int]) -> dict[str, int]:
        """Return the values that are above their limits, by name."""
        values = asdict(self)
        return {name: values[name] for name, limit in limits.items() if values[name] > limit}


def metrics(graph: Graph, sizes: Sizes) -> Metrics:
    """Return the metrics of a graph at the given sizes."""
    flops = nbytes = launches = size = 0
    for place in sorted(graph.live()):
        node, fact = graph.nodes[place], graph.facts[place]
        if not node.inputs and fact.constant and not isinstance(node.op, Input):
            size += type_size(fact.type, {})
        if is_free(node.op, fact):
            continue
        work = _work(graph, place, sizes)
        flops, nbytes = flops + work.flops, nbytes + work.nbytes
        launches += not is_view(node.op)
    return Metrics(flops, nbytes, launches, size, peak_memory(graph, sizes))


def _work(graph: Graph, place: int, sizes: Sizes) -> StaticWork:
    node, output = graph.nodes[place], graph.facts[place]
    inputs = [graph.facts[item] for item in node.inputs]
    try:
        return static_work(node.op, inputs, output, sizes)
    except TypeMismatch:  # unknown dimensions whose representative sizes contradict each other
        nbytes = sum(type_size(fact.type, sizes) for fact in (*inputs, output))
        return StaticWork(0, nbytes)
