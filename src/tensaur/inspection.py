"""What a model consists of: interface, operators, parameters, work on paper and estimated cost.

Holds the figures that `tensaur inspect` shows; `report` formats them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tensaur.cost.memory import type_size
from tensaur.cost.model import CostModel, PriceKind, runs
from tensaur.cost.objective import SIZE
from tensaur.cost.pricer import pricer_for
from tensaur.cost.sizes import (
    check_given,
    dim_size,
    graph_sizes,
    named_sizes,
    static_fact,
)
from tensaur.ir.dims import product
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Literal, Opaque, Weight, type_nbytes
from tensaur.ir.types import TensorType, Type
from tensaur.onnx_io.source import Source
from tensaur.options import Options


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output of a model."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """All nodes of one operator type: how many, their work on paper, and their cost.

    `measured` counts the nodes whose price is a measurement; `known` tells whether rules can see the
    operator or keep it as it is.
    """

    operator: str
    known: bool
    count: int
    flops: int
    nbytes: int
    cost: float
    measured: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a model consists of; rows are sorted by cost, the greatest first."""

    opset: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    parameters: int
    parameter_nbytes: int
    rows: tuple[OperatorRow, ...]
    cost_unit: str
    sizes: Mapping[str, int]

    @property
    def nodes(self) -> int:
        """Return the number of operators that run."""
        return sum(row.count for row in self.rows)

    @property
    def cost(self) -> float:
        """Return the estimated cost of the whole model."""
        return sum(row.cost for row in self.rows)


def inspect(
    graph: Graph,
    prices: CostModel,
    *,
    opset: int,
    cost_unit: str,
    sizes: Mapping[str, int] | None = None,
    byte_price: float = 0,
) -> Inspection:
    """Look at every live node of a graph; sizes not given are the defaults of costs.

    What constants cost, `byte_price` a byte, is with the first operator that reads them.
    """
    complete = graph_sizes(graph, sizes)
    live = sorted(graph.live())
    parameters = _parameters(graph, live)
    rows: dict[str, OperatorRow] = {}
    unread = {place for place in live if isinstance(graph.nodes[place].op, (Weight, Literal))}
    for position in live:
        op = graph.nodes[position].op
        if runs(op):
            name = str(op) if isinstance(op, Opaque) else type(op).__name__
            row = rows.get(name, OperatorRow(name, not isinstance(op, Opaque), 0, 0, 0, 0, 0))
            row = _with_node(row, graph, position, prices, complete)
            read = unread.intersection(graph.nodes[position].inputs)
            unread -= read
            nbytes = sum(type_size(graph.facts[item].type, {}) for item in read)
            rows[name] = replace(row, cost=row.cost + byte_price * nbytes)
    return Inspection(
        opset=opset,
        inputs=tuple(Port(item.name, item.type) for item in graph.inputs),
        outputs=tuple(Port(item.name, graph.facts[item.node].type) for item in graph.outputs),
        parameters=sum(dim_size(product(kind.shape or ()), {}) for kind in parameters),
        parameter_nbytes=sum(dim_size(type_nbytes(kind), {}) for kind in parameters),
        rows=tuple(sorted(rows.values(), key=lambda row: (-row.cost, -row.count, row.operator))),
        cost_unit=cost_unit,
        sizes=named_sizes(graph, complete),
    )


def inspect_source(source: Source, options: Options) -> Inspection:
    """Inspect a model that was read; latency is what the store holds, else estimated, never measured."""
    check_given(source.graph, options.sizes)
    sizes = graph_sizes(source.graph, options.sizes)
    wanted = options.objective
    prices = pricer_for(wanted, sizes, options.threads, options.store, budget_seconds=0)
    return inspect(
        source.graph,
        prices,
        opset=source.opset,
        cost_unit=wanted.unit,
        sizes=sizes,
        byte_price=wanted.factor(SIZE),
    )


def _with_node(
    row: OperatorRow, graph: Graph, position: int, prices: CostModel, sizes: Mapping[str, int]
) -> OperatorRow:
    node = graph.nodes[position]
    inputs = [static_fact(graph.facts[item], sizes) for item in node.inputs]
    output = static_fact(graph.facts[position], sizes)
    work = node.op.work(inputs, output)
    quote = prices.quote(node.op, inputs, output)
    return replace(
        row,
        count=row.count + 1,
        flops=row.flops + dim_size(work.flops, sizes),
        nbytes=row.nbytes + dim_size(work.nbytes, sizes),
        cost=row.cost + quote.amount,
        measured=row.measured + (quote.kind is PriceKind.MEASURED),
    )


def _parameters(graph: Graph, live: Sequence[int]) -> list[TensorType]:
    """Return the types of the constants that are numbers to compute with, not shapes and axes."""
    ops = [graph.nodes[position].op for position in live]
    types = [op.type for op in ops if isinstance(op, Weight)]
    small = [op.value.type for op in ops if isinstance(op, Literal)]
    return types + [kind for kind in small if kind.dtype.is_float]
