"""Union-find over rows, and the log of every union with its cause. Holds no e-nodes and no facts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensaur.egraph.columns import Column
from tensaur.egraph.components import connected, spanning_forest
from tensaur.egraph.relations import IntArray, distinct

# Causes of unions and origins of rows that are no rule instance (those are >= 0).
LOADED = -1  # the row is part of a loaded graph; the union was asked for by the caller
CONGRUENCE = -2  # equal operators with equal children
FOLDED = -3  # a class whose value is known equals the literal with that value


@dataclass(frozen=True, slots=True)
class Union:
    """A logged union: two rows as they were born, and its cause (a rule instance if >= 0)."""

    first: int
    second: int
    cause: int


@dataclass(frozen=True, slots=True)
class Merge:
    """What a batch of unions does: sets of classes that become one, and the unions that do it.

    `members` are canonical classes, sorted; `group` numbers the set of each; `roots` holds the oldest
    class of each set. `effective` are positions in the batch that suffice: a spanning forest.
    """

    members: IntArray
    group: IntArray
    roots: IntArray
    effective: IntArray


class Unions:
    """A class is born with each row and has its number; the oldest class of a set is canonical.

    So a canonical class is the number of its oldest row. Only unions that join two classes are logged:
    the log is a forest, in which the path between two rows is the reason why they are equal, and a
    congruence edge is younger than the reasons for its children's equality.
    """

    def __init__(self) -> None:
        self.parent = Column()
        self.first, self.second, self.cause = Column(), Column(), Column()
        self._forest: _Forest | None = None

    def grow(self, end: int) -> None:
        """Give every row below `end` its class (or forget the classes of rolled-back rows)."""
        if end < self.parent.size:
            self.parent.resize(end)
        else:
            self.parent.extend(np.arange(self.parent.size, end), end - self.parent.size)

    def find(self, row: int) -> int:
        """Return the canonical class of a row, halving the path to it."""
        parent = self.parent.view
        while True:
            above = int(parent[row])
            if above == row:
                return row
            parent[row] = parent[above]
            row = int(parent[row])

    def find_many(self, rows: IntArray) -> IntArray:
        """Return the canonical classes of rows."""
        parent = self.parent.view
        found: IntArray = parent[rows]
        while True:
            above = parent[found]
            if np.array_equal(above, found):
                return found
            found = above

    def compress(self) -> IntArray:
        """Point every row at its canonical class and return that column."""
        self.parent.view[:] = self.find_many(self.parent.view)
        return self.parent.view

    def plan(self, first: IntArray, second: IntArray) -> Merge | None:
        """Work out what joining the pairs would merge; None if nothing."""
        a, b = self.find_many(first), self.find_many(second)
        low, high = np.minimum(a, b), np.maximum(a, b)
        apart = np.flatnonzero(low != high)
        if not apart.size:
            return None
        _, once = np.unique(low[apart] * self.parent.size + high[apart], return_index=True)
        once = np.sort(apart[once])
        members = distinct(np.concatenate([low[once], high[once]]), self.parent.size)
        ends = (np.searchsorted(members, low[once]), np.searchsorted(members, high[once]))
        group = connected(*ends, len(members))
        _, oldest = np.unique(group, return_index=True)
        effective = once[spanning_forest(*ends, len(members))]
        return Merge(members, group, members[oldest], effective)

    def merge(self, merge: Merge, first: IntArray, second: IntArray, cause: IntArray) -> None:
        """Carry out a plan made for the same pairs."""
        self.parent.view[merge.members] = merge.roots[merge.group]
        for column, values in ((self.first, first), (self.second, second), (self.cause, cause)):
            column.extend(values[merge.effective], len(merge.effective))

    def merge_one(self, first: int, second: int, cause: int) -> None:
        """Join the different classes of two rows."""
        a, b = self.find(first), self.find(second)
        self.parent.view[max(a, b)] = min(a, b)
        for column, value in ((self.first, first), (self.second, second), (self.cause, cause)):
            column.append(value)

    def log(self) -> Iterator[Union]:
        """Yield all logged unions, oldest first."""
        columns = (self.first.view, self.second.view, self.cause.view)
        for first, second, cause in zip(*(item.tolist() for item in columns), strict=True):
            yield Union(first, second, cause)

    def path(self, start: int, goal: int) -> tuple[Union, ...]:
        """Return the logged unions that lead from one row's class at birth to another's."""
        if start == goal:
            return ()
        if self._forest is None or self._forest.size != self.first.size:
            self._forest = _Forest(self.first.view, self.second.view)
        steps = self._forest.path(start, goal)
        columns = (self.first.view, self.second.view, self.cause.view)
        first, second, cause = (item[steps].tolist() for item in columns)
        return tuple(Union(*step) for step in zip(first, second, cause, strict=True))


class _Forest:
    """The union log with every tree hung up at one of its rows, so that paths are found by climbing."""

    def __init__(self, first: IntArray, second: IntArray) -> None:
        self.size = len(first)
        edges: dict[int, list[tuple[int, int]]] = {}
        for number, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            edges.setdefault(a, []).append((b, number))
            edges.setdefault(b, []).append((a, number))
        self._above: dict[int, tuple[int, int]] = {}
        self._depth: dict[int, int] = {}
        for top in edges:
            if top not in self._depth:
                self._hang(top, edges)

    def path(self, start: int, goal: int) -> list[int]:
        """Return the numbers of the edges between two rows; KeyError if there is no path."""
        rising: list[int] = []
        falling: list[int] = []
        while start != goal:
            if self._depth[start] >= self._depth[goal]:
                start, number = self._above[start]
                rising.append(number)
            else:
                goal, number = self._above[goal]
                falling.append(number)
        return rising + falling[::-1]

    def _hang(self, top: int, edges: dict[int, list[tuple[int, int]]]) -> None:
        self._depth[top] = 0
        waiting = deque([top])
        while waiting:
            row = waiting.popleft()
            for below, number in edges[row]:
                if below not in self._depth:
                    self._depth[below] = self._depth[row] + 1
                    self._above[below] = (row, number)
                    waiting.append(below)
