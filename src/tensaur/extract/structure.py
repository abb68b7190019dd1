"""The shape of a problem: what can be computed, what the root can need, and where cycles are.

Costs play no part here, so every function is exact and holds for any prices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tensaur.errors import ExtractionError
from tensaur.extract.problem import IntArray, Problem

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Which numbers belong to each class: `items[start[c]:start[c + 1]]`."""

    start: IntArray
    items: IntArray

    def lists(self) -> list[list[int]]:
        """Return the numbers as one list a class."""
        start, items = self.start.tolist(), self.items.tolist()
        return [items[start[c] : start[c + 1]] for c in range(len(start) - 1)]


def index_by(keys: IntArray, count: int, values: IntArray | None = None) -> Index:
    """Group positions, or the given values, by a key below `count`; the order within a key is kept."""
    order = np.argsort(keys, kind="stable")
    start = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=start[1:])
    return Index(start, order if values is None else values[order])


def rows_of(problem: Problem) -> list[list[int]]:
    """Return the rows of each class."""
    return index_by(problem.node_class, problem.class_count).lists()


def unique_edges(problem: Problem) -> Problem:
    """Return the same problem with every child listed once per row."""
    rows = problem.child_rows()
    keys = np.unique(rows * problem.class_count + problem.child)
    rows, child = np.divmod(keys, problem.class_count)
    start = np.searchsorted(rows, np.arange(problem.row_count + 1))
    return replace(problem, child_start=start, child=child)


def derivable(problem: Problem) -> BoolArray:
    """Tell for each row whether some acyclic choice of rows below it exists."""
    children = problem.child_lists()
    waiting = [len(row) for row in children]
    parents = index_by(problem.child, problem.class_count, problem.child_rows()).lists()
    node_class = problem.node_class.tolist()
    known = [False] * problem.class_count
    ready = [row for row, count in enumerate(waiting) if not count]
    while ready:
        cls = node_class[ready.pop()]
        if known[cls]:
            continue
        known[cls] = True
        for parent in dict.fromkeys(parents[cls]):
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return np.array([not count for count in waiting], dtype=bool)


def reachable(problem: Problem, rows: BoolArray) -> BoolArray:
    """Tell for each class whether the root reaches it through the given rows."""
    edges = rows[problem.child_rows()]
    index = index_by(
        problem.node_class[problem.child_rows()[edges]], problem.class_count, problem.child[edges]
    ).lists()
    seen = {problem.root}
    stack = [problem.root]
    while stack:
        below = set(index[stack.pop()]) - seen
        seen |= below
        stack.extend(below)
    found = np.zeros(problem.class_count, dtype=bool)
    found[list(seen)] = True
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A problem restricted to some rows, with numbers of its own, and the way back."""

    problem: Problem
    rows: IntArray
    classes: IntArray
    whole_class_count: int

    def lift(self, chosen: IntArray) -> IntArray:
        """Express a choice for the part as a choice for the whole."""
        lifted = np.full(self.whole_class_count, -1, dtype=np.int64)
        lifted[self.classes] = np.where(chosen >= 0, self.rows[chosen], -1)
        return lifted

    def lower(self, chosen: IntArray) -> IntArray:
        """Express a choice for the whole as a choice for the part; rows outside it become -1."""
        inverse = np.full(max(int(chosen.max(initial=0)), int(self.rows.max(initial=0))) + 2, -1)
        inverse[self.rows] = np.arange(len(self.rows))
        return inverse[chosen[self.classes]]


def keep_rows(problem: Problem, keep: BoolArray) -> Part:
    """Restrict a problem to some rows and to the classes that these and the root mention."""
    rows = np.flatnonzero(keep)
    edges = keep[problem.child_rows()]
    child = problem.child[edges]
    used = np.zeros(problem.class_count, dtype=bool)
    used[problem.node_class[rows]] = True
    used[child] = True
    used[problem.root] = True
    classes = np.flatnonzero(used)
    number = np.cumsum(used) - 1
    start = np.concatenate([[0], np.cumsum(np.diff(problem.child_start)[rows])])
    part = Problem(
        number[problem.node_class[rows]],
        start,
        number[child],
        problem.cost[rows],
        problem.size[rows],
        int(number[problem.root]),
        len(classes),
        problem.size_budget,
        problem.tag[rows],
    )
    return Part(part, rows, classes, problem.class_count)


def useful(problem: Problem) -> BoolArray:
    """Tell for each row whether it can occur in a solution, as far as reachability shows."""
    own = problem.child == problem.node_class[problem.child_rows()]
    keep = derivable(problem)
    keep[problem.child_rows()[own]] = False
    if not keep[problem.node_class == problem.root].any():
        raise ExtractionError(
            f"root class {problem.root}: every derivation of it is cyclic or missing"
        )
    return keep & reachable(problem, keep)[problem.node_class]


def simplify(problem: Problem) -> Part:
    """Restrict a problem to rows that can occur in a solution, with every child listed once."""
    problem = unique_edges(problem)
    return keep_rows(problem, useful(problem))


def components(problem: Problem) -> IntArray:
    """Number the strongly connected components of the classes, one number a class."""
    from scipy.sparse import coo_array  # noqa: PLC0415  # heavy: imported when used
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    above = problem.node_class[problem.child_rows()]
    shape = (problem.class_count, problem.class_count)
    graph = coo_array((np.ones(len(above), dtype=np.int8), (above, problem.child)), shape=shape)
    labels: IntArray = connected_components(graph.tocsr(), connection="strong")[1].astype(np.int64)
    return labels
