"""Names for the values of a graph that is being written: the source's where they survive, else fresh.

The names of inputs and outputs are the interface and are never changed. A fresh name differs from every
name in the source, those inside subgraph bodies included.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import GraphProto, ModelProto

from tensaur.ir.graph import Graph, Output
from tensaur.ir.operator import Absent, Input, Literal, Project, Root, Weight
from tensaur.onnx_io.check import constants_of
from tensaur.onnx_io.scopes import bodies, defined_names

_UNNAMED = (Absent, Root)


@dataclass(frozen=True, slots=True)
class Alias:
    """An output that is a copy of a value which has another name."""

    output: str
    position: int


@dataclass
class Naming:
    """Which name each value is written under.

    `names` maps positions of nodes to names, `projections` those of tuples to the positions of their
    items (None for an item that nobody uses). `inputs` and `initialisers` are the source's, `taken` all
    names that a fresh one must not be.
    """

    inputs: frozenset[str]
    initialisers: frozenset[str]
    taken: set[str]
    names: dict[int, str] = field(default_factory=dict)
    projections: dict[int, list[int | None]] = field(default_factory=dict)
    aliases: list[Alias] = field(default_factory=list)

    def value(self, position: int) -> str:
        """Return the name of a node's value, empty for an absent one."""
        return self.names.get(position, "")

    def outputs(self, position: int) -> list[str]:
        """Return the names of the outputs of a node, fresh ones for those that nobody uses."""
        if position not in self.projections:
            return [self.names[position]]
        found = ["" if item is None else self.names[item] for item in self.projections[position]]
        anchor = next(filter(None, found))
        return [name or self.fresh(anchor) for name in found]

    def all_names(self) -> set[str]:
        """Return the names that are visible everywhere in the written graph."""
        aliases = (alias.output for alias in self.aliases)
        return {*self.inputs, *self.names.values(), *aliases}

    def fresh(self, hint: str) -> str:
        """Return a name that nothing else has, like `hint`."""
        number = 1
        while f"{hint}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{hint}_{number}")
        return f"{hint}_{number}"


def name_values(graph: Graph, model: ModelProto) -> Naming:
    """Name every value that some output needs."""
    initialisers = frozenset(constants_of(model.graph))
    inputs = frozenset(
        value.name
        for value in model.graph.input
        if model.ir_version >= 4 or value.name not in initialisers
    )
    interface = inputs | {output.name for output in graph.outputs}
    own, inner = _own_names(model.graph), _inner_names(model.graph)
    naming = Naming(inputs, initialisers, {*own, *inner, *interface})
    first = _pair_projections(graph, naming)
    for output in sorted(graph.outputs, key=lambda item: item.name != graph.nodes[item.node].name):
        _name_output(graph, naming, output, first.get(output.node, output.node))
    claimed = set(interface | (inner - own))
    for position in sorted(graph.live()):
        if position in naming.projections or isinstance(graph.nodes[position].op, _UNNAMED):
            continue
        if first.get(position, position) != position:
            naming.names[position] = naming.names[first[position]]
        elif position not in naming.names:
            naming.names[position] = _name_node(graph, naming, position, claimed)
        claimed.add(naming.names[position])
        naming.taken.add(naming.names[position])
    return naming


def _own_names(source: GraphProto) -> set[str]:
    values = (name for node in source.node for name in node.output if name)
    return {*constants_of(source), *(value.name for value in source.input), *values}


def _inner_names(source: GraphProto) -> set[str]:
    return {name for node in source.node for body in bodies(node) for name in defined_names(body)}


def _pair_projections(graph: Graph, naming: Naming) -> dict[int, int]:
    """Record the items of tuples; return for every projection the first one that is equal to it."""
    seen: dict[tuple[int, int], int] = {}
    first: dict[int, int] = {}
    for position in sorted(graph.live()):
        node = graph.nodes[position]
        if isinstance(node.op, Project):
            (whole,) = node.inputs
            count = graph.nodes[whole].op.output_count
            items = naming.projections.setdefault(whole, [None] * count)
            first[position] = seen.setdefault((whole, node.op.index), position)
            items[node.op.index] = first[position]
    return first


def _name_output(graph: Graph, naming: Naming, output: Output, position: int) -> None:
    """Give the value the name of the output, unless it has or must have another."""
    op = graph.nodes[position].op
    if naming.names.get(position) == output.name:
        return
    if isinstance(op, Input):
        naming.names[position] = op.name
        if op.name != output.name:
            naming.aliases.append(Alias(output.name, position))
        return
    constant = isinstance(op, (Weight, Literal)) and output.name not in naming.initialisers
    if constant or position in naming.names:
        naming.aliases.append(Alias(output.name, position))
    else:
        naming.names[position] = output.name


def _name_node(graph: Graph, naming: Naming, position: int, claimed: set[str]) -> str:
    node = graph.nodes[position]
    if isinstance(node.op, Input):
        return node.op.name
    hint = node.op.name if isinstance(node.op, Weight) else node.name
    if hint and hint not in claimed:
        return hint
    return naming.fresh(hint or type(node.op).__name__.lower())
