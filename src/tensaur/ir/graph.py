"""Graph: an immutable, topologically ordered list of operators with one value each.

A multi-output operator is one tuple-valued node plus `Project` nodes. Inputs, weights and literals are
nodes without inputs. What ONNX says beyond that (documentation, metadata, opsets) is not here but with
`onnx_io`, which keeps the source model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Input, Operator, infer_fact
from tensaur.ir.types import Array, Fact


class ConstantData(Protocol):
    """The data of a large constant, perhaps still on disk; `numpy()` brings it into memory."""

    @property
    def nbytes(self) -> int:
        """Return the size of the data in bytes."""

    def numpy(self) -> Array:
        """Return the data as an array of the declared type."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayData:
    """Constant data in memory."""

    array: Array

    @property
    def nbytes(self) -> int:
        """Return the size of the data in bytes."""
        return int(self.array.nbytes)

    def numpy(self) -> Array:
        """Return the array."""
        return self.array


class Node(NamedTuple):
    """An operator and the positions of its inputs; `name` hints at the value's name in ONNX."""

    op: Operator
    inputs: tuple[int, ...]
    name: str = ""


class Output(NamedTuple):
    """A named output of the graph: the value of the node at position `node`."""

    name: str
    node: int


@dataclass(frozen=True)
class Graph:
    """Nodes in topological order (inputs of a node stand before it), outputs, and constants' data.

    `constants` maps the name of each `Weight` to its data, by reference.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    constants: Mapping[str, ConstantData] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for position, node in enumerate(self.nodes):
            if any(not 0 <= item < position for item in node.inputs):
                raise ValueError(
                    f"node {position} ({node.op}) reads a node that does not precede it"
                )
        for output in self.outputs:
            if not 0 <= output.node < len(self.nodes):
                raise ValueError(
                    f"output {output.name!r} reads node {output.node}, which does not exist"
                )

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """Return the fact of every node; TypeMismatch names the first node that is ill-typed."""
        facts: list[Fact] = []
        for position, node in enumerate(self.nodes):
            try:
                facts.append(infer_fact(node.op, [facts[item] for item in node.inputs]))
            except TypeMismatch as error:
                raise TypeMismatch(f"node {node.name or position!r}: {error}") from error
        return tuple(facts)

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """Return for every node the nodes that read it, each once."""
        users: list[dict[int, None]] = [{} for _ in self.nodes]
        for position, node in enumerate(self.nodes):
            for item in node.inputs:
                users[item][position] = None
        return tuple(tuple(item) for item in users)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Return the graph inputs, in the order of their nodes."""
        return tuple(node.op for node in self.nodes if isinstance(node.op, Input))

    def live(self) -> frozenset[int]:
        """Return the positions of the nodes that some output depends on."""
        needed: set[int] = set()
        stack = [output.node for output in self.outputs]
        while stack:
            position = stack.pop()
            if position not in needed:
                needed.add(position)
                stack.extend(self.nodes[position].inputs)
        return frozenset(needed)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)


class GraphBuilder:
    """Collects nodes for a `Graph`, merging equal ones."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, ConstantData] = {}
        self._positions: dict[tuple[Operator, tuple[int, ...]], int] = {}

    def add(self, op: Operator, inputs: Sequence[int] = (), name: str = "") -> int:
        """Return the position of the node `op(inputs)`, adding it if it is new."""
        key = (op, tuple(inputs))
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self.nodes)
            self.nodes.append(Node(op, tuple(inputs), name))
        return position

    def build(self, outputs: Sequence[Output]) -> Graph:
        """Return the graph with these outputs."""
        return Graph(tuple(self.nodes), tuple(outputs), dict(self.constants))
