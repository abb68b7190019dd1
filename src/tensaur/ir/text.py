"""Print and parse graphs, for golden tests, reports and debugging; terms by way of `term_text`.

A graph is one line a node; ``parse_graph(graph_text(g), operators, g.constants) == g``::

    input x: f32[N,4]
    weight w: f32[4,6]
    two = f32[](2.0)
    %3 = MatMul(x, w)
    s = Split{axis=-1, sizes=(2, 4)}(%3)
    y = s[0]
    output y
    output z = x

Nodes without a name of their own are called ``%POSITION``. Attributes that have their class's default are
left out. The data of weights are not in the text. Operators are looked up in what the caller hands in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tensaur.errors import ParseError
from tensaur.ir.graph import ConstantData, Graph, Node, Output
from tensaur.ir.notation import (
    Tokens,
    known_text,
    parse_attribute,
    parse_known,
    parse_tensor_type,
    parse_type,
    quoted,
    type_text,
)
from tensaur.ir.operator import Absent, Input, Literal, Project, Weight
from tensaur.ir.term_text import (
    Operators,
    check_arity,
    operator_text,
    parse_operator,
    parse_term,
    parse_tree,
    registry,
    term_text,
    tree_text,
)

__all__ = [
    "graph_text", "operator_text", "parse_graph", "parse_term", "parse_tree", "term_text", "tree_text",
]  # fmt: skip


def graph_text(graph: Graph) -> str:
    """Return a graph as text, one line for each node and output."""
    labels = _labels(graph)
    lines = [_node_text(node, labels, i) for i, node in enumerate(graph.nodes)]
    for name, position in graph.outputs:
        label = labels[position]
        lines.append(
            f"output {label}" if quoted(name) == label else f"output {quoted(name)} = {label}"
        )
    return "".join(f"{line}\n" for line in lines)


def parse_graph(
    text: str, operators: Operators, constants: Mapping[str, ConstantData] | None = None
) -> Graph:
    """Return the graph that a text describes; ParseError names the line of the first fault."""
    parser = _GraphParser(operators)
    for number, line in enumerate(text.splitlines(), 1):
        tokens = Tokens(line, number)
        if tokens.peek().kind != "end":
            parser.parse_line(tokens)
            tokens.end()
    return Graph(tuple(parser.nodes), tuple(parser.outputs), dict(constants or {}))


def _labels(graph: Graph) -> list[str]:
    counts = Counter(node.name for node in graph.nodes)
    labels = []
    absent = False
    for position, node in enumerate(graph.nodes):
        own = node.name and counts[node.name] == 1 and not _is_stand_in(node.name)
        label = quoted(node.name) if own else f"%{position}"
        if isinstance(node.op, Absent) and not node.name and not absent:
            label, absent = "_", True
        labels.append(label)
    return labels


def _is_stand_in(label: str) -> bool:
    """Tell whether a label stands for a node that has no name of its own."""
    return label.startswith("%") or label == "_"


def _node_text(node: Node, labels: Sequence[str], position: int) -> str:
    op, label = node.op, labels[position]
    own = not _is_stand_in(label)
    if isinstance(op, (Input, Weight)) and own and op.name == node.name:
        return f"{'input' if isinstance(op, Input) else 'weight'} {label}: {type_text(op.type)}"
    left = label if own or not node.name else f"{label} as {quoted(node.name)}"
    if isinstance(op, Literal):
        return f"{left} = {known_text(op.value)}"
    inputs = [labels[item] for item in node.inputs]
    if isinstance(op, Project) and len(inputs) == 1:
        return f"{left} = {inputs[0]}[{op.index}]"
    return f"{left} = {operator_text(op)}({', '.join(inputs)})"


class _GraphParser:
    """Collects the nodes and outputs of a graph line by line."""

    def __init__(self, operators: Operators) -> None:
        self.nodes: list[Node] = []
        self.outputs: list[Output] = []
        self._classes = registry(operators)
        self._positions: dict[str, int] = {}

    def parse_line(self, tokens: Tokens) -> None:
        """Take one line."""
        if tokens.at("input") or tokens.at("weight"):
            self._parse_leaf(tokens)
        elif tokens.accept("output"):
            name = tokens.name()
            label = tokens.name() if tokens.accept("=") else name
            self.outputs.append(Output(name, self._position(tokens, label)))
        else:
            self._parse_node(tokens)

    def _parse_leaf(self, tokens: Tokens) -> None:
        is_input = tokens.accept("input")
        if not is_input:
            tokens.expect("weight")
        name = tokens.name()
        tokens.expect(":")
        if is_input:
            self._add(tokens, name, Node(Input(name, parse_type(tokens)), (), name))
        else:
            self._add(tokens, name, Node(Weight(name, parse_tensor_type(tokens)), (), name))

    def _parse_node(self, tokens: Tokens) -> None:
        label = tokens.name()
        name = "" if _is_stand_in(label) else label
        if tokens.accept("as"):
            name = tokens.name()
        tokens.expect("=")
        self._add(tokens, label, self._parse_value(tokens)._replace(name=name))

    def _parse_value(self, tokens: Tokens) -> Node:
        following = tokens.peek(1).text
        if following == "[":
            if tokens.peek().text in self._positions or tokens.peek().kind == "string":
                source = self._position(tokens, tokens.name())
                tokens.expect("[")
                index = parse_attribute(tokens)
                tokens.expect("]")
                return Node(Project(index), (source,))
            return Node(Literal(parse_known(tokens)), ())
        op = parse_operator(tokens, self._classes)
        tokens.expect("(")
        inputs = tokens.listed(")", lambda: self._position(tokens, tokens.name()))
        check_arity(tokens, type(op), len(inputs))
        return Node(op, tuple(inputs))

    def _position(self, tokens: Tokens, label: str) -> int:
        if label not in self._positions:
            raise ParseError(f"line {tokens.line}: no value is called {label!r} up to here")
        return self._positions[label]

    def _add(self, tokens: Tokens, label: str, node: Node) -> None:
        if label in self._positions:
            raise ParseError(f"line {tokens.line}: value {label!r} is defined twice")
        self._positions[label] = len(self.nodes)
        self.nodes.append(node)
