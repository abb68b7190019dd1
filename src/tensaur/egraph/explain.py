"""Why two rows are equal, from the union log; and whether an e-graph is what it should be."""

from __future__ import annotations

import numpy as np

from tensaur.egraph.classes import Classes
from tensaur.egraph.columns import NodeTable
from tensaur.egraph.unions import CONGRUENCE


def causes(nodes: NodeTable, classes: Classes, first: int, second: int) -> tuple[int, ...]:
    """Return the rule instances because of which two rows are equal, each once, in order of need.

    A congruence on the way stands for the reasons why the rows' children are equal.
    """
    found: dict[int, None] = {}
    seen: set[tuple[int, int]] = set()
    stack = [(first, second)]
    while stack:
        pair = stack.pop()
        if pair in seen:
            continue
        seen.add(pair)
        for step in classes.unions.path(*pair):
            if step.cause >= 0:
                found.setdefault(step.cause)
            elif step.cause == CONGRUENCE:
                below = (_birth_kids(nodes, step.first), _birth_kids(nodes, step.second))
                stack += reversed([item for item in zip(*below, strict=True)])
    return tuple(found)


def check_invariants(nodes: NodeTable, classes: Classes) -> None:
    """Assert what `EGraph` promises after a rebuild."""
    live = np.flatnonzero(nodes.alive.view)
    find = classes.unions.find_many
    assert nodes.live == len(live)
    assert nodes.count == nodes.end == classes.unions.parent.size == classes.fact.size
    assert np.array_equal(find(nodes.kids.view), nodes.kids.view), "children are not canonical"
    assert np.array_equal(find(nodes.birth_kids.view), nodes.kids.view), "children were forgotten"
    seen: set[tuple[int, tuple[int, ...]]] = set()
    for row in live.tolist():
        _check_row(nodes, classes, row, seen)
    canonical = np.flatnonzero(find(np.arange(nodes.end)) == np.arange(nodes.end))
    assert nodes.alive.view[canonical].all(), "the oldest row of a class is dead"
    assert not nodes.banned.view[canonical].any(), "the oldest row of a class is banned"
    joined = [find(np.array([union.first, union.second])) for union in classes.unions.log()]
    assert all(a == b for a, b in joined), "a logged union was lost"
    assert len(joined) == nodes.end - len(canonical), "the union log is not a forest"


def _check_row(
    nodes: NodeTable, classes: Classes, row: int, seen: set[tuple[int, tuple[int, ...]]]
) -> None:
    start, arity = int(nodes.start.view[row]), int(nodes.arity.view[row])
    kids = tuple(nodes.kids.view[start : start + arity].tolist())
    node = (int(nodes.symbol.view[row]), kids)
    assert node not in seen, f"row {row} has a congruent twin"
    seen.add(node)
    assert nodes.find_one(*node) == row, f"row {row} is not found by its content"
    fact = int(classes.fact.view[classes.unions.find(row)])
    inferred = classes.facts.infer(node[0], tuple(classes.fact.view[list(kids)].tolist()))
    assert classes.facts.meet(fact, inferred) == fact, f"row {row} knows more than its class"


def _birth_kids(nodes: NodeTable, row: int) -> list[int]:
    start, arity = int(nodes.start.view[row]), int(nodes.arity.view[row])
    kids: list[int] = nodes.birth_kids.view[start : start + arity].tolist()
    return kids
