"""Small e-graphs as Graphviz text, for looking at them: a box per class, an edge per child."""

from __future__ import annotations

import numpy as np

from tensaur.egraph.egraph import EGraph


def to_dot(egraph: EGraph) -> str:
    """Return the live rows as DOT; banned rows are dashed, rows that rules made are blue."""
    rows = egraph.rows()
    lines = ["digraph egraph {", "  compound=true; rankdir=BT; node [shape=box];"]
    for cls in np.unique(rows.cls).tolist():
        lines.append(f"  subgraph cluster_{cls} {{")
        lines.append(f"    label={_quote(str(egraph.fact(cls).type))};")
        for i in np.flatnonzero(rows.cls == cls).tolist():
            style = _style(bool(rows.banned[i]), int(rows.origin[i]) >= 0)
            label = _quote(str(egraph.operators[int(rows.symbol[i])]))
            lines.append(f"    n{rows.row[i]} [label={label}{style}];")
        lines.append("  }")
    for i in range(len(rows)):
        for kid in rows.child[rows.child_start[i] : rows.child_start[i + 1]].tolist():
            # A class has the number of its oldest row, which is always live.
            lines.append(f"  n{kid} -> n{rows.row[i]} [ltail=cluster_{kid}];")
    return "\n".join([*lines, "}", ""])


def _style(banned: bool, made: bool) -> str:
    return (" style=dashed" if banned else "") + (" color=blue" if made else "")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
