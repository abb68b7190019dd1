"""Graphs in the language of Graphviz; meant for graphs small enough to look at."""

from __future__ import annotations

from tensaur.ir.graph import Graph
from tensaur.ir.operator import Absent, Input, Literal, Operator, Project, Weight


def dot(graph: Graph) -> str:
    """Return a graph in the language of Graphviz; weights and literals stand inside their users."""
    live = graph.live()
    lines = ["digraph {", "  node [shape=box];"]
    for position, node in enumerate(graph.nodes):
        if position in live and not _is_inline(node.op):
            label = _quoted(_node_label(graph, position))
            lines.append(f"  n{position} [label={label}{_style(node.op)}];")
            lines += [
                f"  n{item} -> n{position} [label={_quoted(str(graph.facts[item].type))}];"
                for item in node.inputs
                if not _is_inline(graph.nodes[item].op)
            ]
    for index, output in enumerate(graph.outputs):
        lines.append(f"  out{index} [label={_quoted(output.name)}, shape=ellipse];")
        lines.append(f"  n{output.node} -> out{index};")
    return "\n".join([*lines, "}"]) + "\n"


def _is_inline(op: Operator) -> bool:
    return isinstance(op, (Weight, Literal, Absent))


def _style(op: Operator) -> str:
    return ", shape=ellipse" if isinstance(op, Input) else ""


def _node_label(graph: Graph, position: int) -> str:
    node = graph.nodes[position]
    if isinstance(node.op, Input):
        return f"{node.op.name}\n{node.op.type}"
    if isinstance(node.op, Project):
        return f"output {node.op.index}"
    constants = [_constant_label(graph, item) for item in node.inputs]
    return "\n".join([str(node.op), *(label for label in constants if label)])


def _constant_label(graph: Graph, position: int) -> str:
    op = graph.nodes[position].op
    if isinstance(op, Weight):
        return f"{op.name}: {op.type}"
    return str(op.value) if isinstance(op, Literal) else ""


def _quoted(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
