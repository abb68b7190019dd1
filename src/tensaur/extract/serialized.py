"""E-graphs in the egraph-serialize JSON format, as extraction problems, and extraction problems as such files.

The format: `nodes` by identifier, each with `op`, `cost`, `eclass` and `children` (identifiers of nodes,
which stand for their classes), and `root_eclasses`. It is what extraction-gym reads. It has no sizes, so a
size budget is not written.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Problem
from tensaur.extract.space import Space
from tensaur.extract.structure import derivable
from tensaur.output import write_beside

DIGITS = 12
"""Costs are read as whole multiples of a power of ten; their sum has at most so many digits."""

ROUNDING = Decimal(2) ** -23
"""Relative precision of single-precision numbers, of which many files are made."""


@dataclass(frozen=True, slots=True, eq=False)
class Serialized:
    """An extraction problem, and what the file calls its rows.

    A cost of 1 in the file is `scale` in the problem, a power of ten. `node[n]` and `op[n]` are the
    identifier and the operator of row n. Several roots are made children of one more row.
    """

    problem: Problem
    scale: int
    node: Sequence[str]
    op: Sequence[str]

    @classmethod
    def of(cls, space: Space, problem: Problem, scale: int) -> Serialized:
        """Name the rows of a problem that was made from a space."""
        names = [str(row) for row in range(problem.row_count)]
        return cls(problem, scale, names, operators(space, problem))

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write(self.problem, self.op, path, self.scale)


def read(path: Path) -> Serialized:
    """Read a file; ExtractionError if it is no e-graph, or a cost is negative or not finite."""
    try:
        found = json.loads(path.read_text(), parse_float=Decimal, parse_constant=Decimal)
    except OSError as error:
        raise ExtractionError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise ExtractionError(f"{path}: not a JSON file: {error}") from error
    try:
        return from_dict(found)
    except ExtractionError as error:
        raise ExtractionError(f"{path}: {error}") from error


def from_dict(found: Any) -> Serialized:
    """Return the problem of a file's contents."""
    nodes = _field(found, "the file", "nodes", dict)
    roots = _field(found, "the file", "root_eclasses", list)
    names = list(nodes)
    cls: dict[str, int] = {}
    for name in names:
        cls.setdefault(_field(nodes[name], f"node {name}", "eclass", str), len(cls))
    row_class = [cls[nodes[name]["eclass"]] for name in names]
    children = [_children(nodes, name, cls) for name in names]
    costs = [_cost(name, nodes[name].get("cost", 1)) for name in names]
    for root in roots:
        if root not in cls:
            raise ExtractionError(f"root class {root!r} has no nodes")
    if not roots:
        raise ExtractionError("there is no root class")
    if len(roots) > 1:
        row_class.append(len(cls))
        children.append([cls[root] for root in roots])
        costs.append(Decimal(0))
        names.append("")
    scale = _scale(costs)
    whole = [int((cost * scale).to_integral_value()) for cost in costs]
    root = row_class[-1] if len(roots) > 1 else cls[roots[0]]
    problem = Problem.of(children, row_class, whole, root=root)
    return Serialized(problem, scale, names, [str(nodes.get(n, {}).get("op", "")) for n in names])


def to_dict(problem: Problem, op: Sequence[str], scale: int = 1) -> dict[str, Any]:
    """Return a problem as a file's contents; rows without an acyclic derivation are left out."""
    names = [str(row) for row in range(problem.row_count)]
    first = np.full(problem.class_count, -1, dtype=np.int64)
    kept = np.flatnonzero(derivable(problem))[::-1]
    first[problem.node_class[kept]] = kept
    named = first[problem.child].tolist()
    nodes = {}
    start = problem.child_start.tolist()
    for row in kept[::-1].tolist():
        cost = int(problem.cost[row])
        nodes[names[row]] = {
            "op": op[row],
            "cost": cost if scale == 1 else cost / scale,
            "eclass": str(int(problem.node_class[row])),
            "children": [names[child] for child in named[start[row] : start[row + 1]]],
        }
    return {"nodes": nodes, "root_eclasses": [str(problem.root)], "class_data": {}}


def operators(space: Space, problem: Problem) -> list[str]:
    """Return the operators of each row of a problem that was made from a space."""
    names = []
    for tag in problem.tag.tolist():
        rows = space.options[tag].rows
        names.append("+".join(type(space.operator(row)).__name__ for row in rows) or "Folded")
    return names


def write(problem: Problem, op: Sequence[str], path: Path, scale: int = 1) -> None:
    """Write a problem to a file, whole or not at all; a cost of `scale` becomes 1."""
    text = json.dumps(to_dict(problem, op, scale), indent=1, allow_nan=False)
    write_beside(path, (text + "\n").encode())


def _field(found: Any, place: str, name: str, kind: type) -> Any:
    value = found.get(name) if isinstance(found, dict) else None
    if not isinstance(value, kind):
        raise ExtractionError(f"{place}: {name} is missing or not a {_JSON[kind]}")
    return value


_JSON: dict[type, str] = {dict: "object", list: "list", str: "text"}


def _children(nodes: dict[str, Any], name: str, cls: dict[str, int]) -> list[int]:
    found = _field(nodes[name], f"node {name}", "children", list)
    for child in found:
        if child not in nodes:
            raise ExtractionError(f"node {name}: child {child!r} is not a node")
    return [cls[nodes[child]["eclass"]] for child in found]


def _cost(name: str, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ExtractionError(f"node {name}: the cost {value!r} is not a number")
    cost = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    if not cost.is_finite() or cost < 0:
        raise ExtractionError(f"node {name}: the cost {value} is negative or not finite")
    return cost


def _scale(costs: Sequence[Decimal]) -> int:
    """Return the least power of ten that makes all costs whole, up to rounding in single precision."""
    most = DIGITS - len(str(int(sum(costs, Decimal(0)))))
    for digits in range(most):
        scaled = [cost.scaleb(digits) for cost in costs]
        if all(abs(cost - round(cost)) <= cost * ROUNDING for cost in scaled):
            return int(10**digits)
    return int(10 ** max(most, 0))
