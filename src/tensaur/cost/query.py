"""Small graphs as values that can be compared: operators, their wiring, and the facts of what they read.

Two e-nodes, or groups of them, with one query cost the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tensaur.cost.canonical import stand_in
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Operator
from tensaur.ir.types import Fact


@dataclass(frozen=True, slots=True)
class Query:
    """Operators in order of computation, the last of which makes the result.

    `wiring` holds, for each operator, its inputs: a position >= 0 in `facts`, or -k for the k-th operator.
    """

    ops: tuple[Operator, ...]
    wiring: tuple[tuple[int, ...], ...]
    facts: tuple[Fact, ...]

    def graph(self) -> Graph:
        """Return the small graph, over leaves that stand for what is read."""
        builder = GraphBuilder()
        leaves = [
            builder.add(stand_in(fact, f"x{i}"), (), f"x{i}") for i, fact in enumerate(self.facts)
        ]
        made: list[int] = []
        for op, wiring in zip(self.ops, self.wiring, strict=True):
            inputs = [leaves[place] if place >= 0 else made[-place - 1] for place in wiring]
            made.append(builder.add(op, inputs, f"y{len(made)}"))
        return builder.build([Output("y", made[-1])])


@dataclass(frozen=True, slots=True)
class Joint:
    """An operator that might be computed together with the group that makes one of its inputs."""

    inner: Query
    outer: Query
    whole: Query


# Tells of each joint whether the runtime computes its parts together.
Fuses = Callable[[Sequence[Joint]], Sequence[bool]]


def never(joints: Sequence[Joint]) -> Sequence[bool]:
    """Tell that no operators are computed together."""
    return [False] * len(joints)
