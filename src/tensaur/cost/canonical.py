"""Small graphs in the form in which they are measured, and the signature that keys their prices.

Two graphs with one signature run equally fast. Names, symbolic dimensions, weights' data and most
literals' values are gone from it; what the runtime looks at before it runs is not. Holds no prices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensaur.cost.model import runs
from tensaur.cost.sizes import Sizes, static_fact, static_type, static_value
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import (
    Absent,
    Input,
    Literal,
    Opaque,
    Operator,
    Project,
    Weight,
)
from tensaur.ir.types import ABSENT, Fact, Known, TensorType, TupleType, Type
from tensaur.ops import Pow

# The runtime drops operations with these values (x * 1, x + 0) and computes powers by them specially.
_SPECIAL_SCALARS = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0)
_ORDINARY_SCALAR = 1.25
# Operators whose bodies would have to be made static too.
_WITH_BODIES = ("If", "Loop", "Scan", "SequenceMap")


class Unpriceable(Exception):
    """Control flow between the cost modules: no model can be built that runs this alone."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """A graph ready to be measured, and its signature."""

    graph: Graph
    signature: str


def operator_graph(op: Operator, inputs: Sequence[Fact], sizes: Sizes) -> Graph:
    """Return the graph that runs one operator; Unpriceable if an input's type is not known enough."""
    builder = GraphBuilder()
    leaves = [
        builder.add(leaf(fact, str(index), sizes), (), str(index))
        for index, fact in enumerate(inputs)
    ]
    return builder.build([Output("y", builder.add(op, leaves))])


def leaf(fact: Fact, name: str, sizes: Sizes) -> Operator:
    """Return the leaf that stands for a value of which only the fact is known."""
    fact = static_fact(fact, sizes)
    kind = fact.type
    if kind != ABSENT and (not isinstance(kind, TensorType) or kind.static_shape is None):
        raise Unpriceable(f"an input is {kind}")
    return stand_in(fact, name)


def stand_in(fact: Fact, name: str) -> Operator:
    """Return the leaf for a value of which only the fact is known, with the sizes it has."""
    if fact.type == ABSENT:
        return Absent()
    if fact.value is not None:
        return Literal(fact.value)
    if fact.constant and isinstance(fact.type, TensorType):
        return Weight(name, fact.type)
    return Input(name, fact.type)


def canonical(graph: Graph, sizes: Sizes) -> Canonical:
    """Bring a graph into the form in which it is measured."""
    builder = GraphBuilder()
    live = graph.live()
    alone = sum(runs(graph.nodes[item].op) for item in live) == 1
    position: dict[int, int] = {}
    lines: list[str] = []
    for index, node in enumerate(graph.nodes):
        if index not in live:
            continue
        op = _static_operator(node.op, sizes)
        if isinstance(op, Literal) and alone:
            users = [graph.nodes[user].op for user in graph.users[index]]
            op = Literal(_ordinary(op.value, users[0])) if users else op
        op = _renamed(op, len(lines))
        inputs = tuple(position[item] for item in node.inputs)
        # Equal literals of a graph stay apart, so that numbers in the text are node numbers.
        builder.nodes.append(node._replace(op=op, inputs=inputs, name=f"v{len(lines)}"))
        position[index] = len(lines)
        lines.append(_line(op, inputs))
    returned = [position[output.node] for output in graph.outputs]
    lines.append("return " + ",".join(f"%{node}" for node in returned))
    outputs = [
        node
        for output, made in zip(graph.outputs, returned, strict=True)
        for node in _items(builder, made, graph.facts[output.node].type)
    ]
    named = [Output(f"y{number}", node) for number, node in enumerate(outputs)]
    return Canonical(builder.build(named), "; ".join(lines))


def _items(builder: GraphBuilder, node: int, kind: Type) -> list[int]:
    """Return the tensors of a value: itself, or its items if it is a tuple."""
    if not isinstance(kind, TupleType):
        return [node]
    return [builder.add(Project(index), [node]) for index in range(len(kind.items))]


def _static_operator(op: Operator, sizes: Sizes) -> Operator:
    if isinstance(op, (Input, Weight)):
        kind = static_type(op.type, sizes)
        if not isinstance(kind, TensorType) or kind.static_shape is None:
            raise Unpriceable(f"an input is {kind}")
        return replace(op, type=kind)
    if isinstance(op, Literal):
        return Literal(static_value(op.value, sizes))
    if isinstance(op, Opaque):
        if op.captured or op.op_type in _WITH_BODIES:
            raise Unpriceable(f"{op.op_type} runs a subgraph")
        declared = tuple(static_type(item, sizes) for item in op.declared)
        return replace(op, declared=declared, unique="")
    return op


def _renamed(op: Operator, number: int) -> Operator:
    return replace(op, name=f"v{number}") if isinstance(op, (Input, Weight)) else op


def _ordinary(value: Known, user: Operator) -> Known:
    """Return a literal that stands for all that make an operator, alone, run equally fast."""
    array = value.array
    if array is None or not value.dtype.is_float:
        return value  # integers are shapes, axes and indices: what is done depends on them
    if array.size == 1:
        special = isinstance(user, Pow) or float(array.ravel()[0]) in _SPECIAL_SCALARS
        return value if special else Known.of(np.full(array.shape, _ORDINARY_SCALAR), value.dtype)
    return Known.of(np.full(array.shape, _ORDINARY_SCALAR), value.dtype)


def _line(op: Operator, inputs: tuple[int, ...]) -> str:
    arguments = f"({','.join(f'%{item}' for item in inputs)})" if inputs else ""
    return _text(op) + arguments


def _text(op: Operator) -> str:
    if isinstance(op, (Input, Weight)):
        return f"{type(op).__name__.lower()} {op.type}"
    if isinstance(op, Literal):
        return str(op.value)
    if isinstance(op, Opaque):
        content = repr((op.domain, op.overload, op.attributes)).encode()
        types = ",".join(str(item) for item in op.declared)
        return f"{op}#{hashlib.sha256(content).hexdigest()[:16]}:{types}"
    return str(op)
