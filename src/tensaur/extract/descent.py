"""Local search: a valid choice of rows improved one class at a time, until no such change pays.

Greedy choices are made from nothing and do not see what others share. Where a good choice is known,
such as a graph as it was before any rewriting, most of it should stay; this looks for the places where
another row, with all that it newly needs and all that is no longer needed, is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np

from tensaur.extract.greedy import DagTotals, Network
from tensaur.extract.problem import IntArray, totals
from tensaur.extract.structure import rows_of

# Derivations that newly need more classes than this are not tried.
MOST_ADDED = 64
# Where more classes than this have to be walked to rule out a cycle, one is assumed.
MOST_WALKED = 1000


@dataclass(slots=True)
class _Change:
    """What taking another row for one class would do; `uses` are changes of how often classes are read."""

    added: dict[int, int] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)
    uses: dict[int, int] = field(default_factory=dict)
    cost: int = 0
    size: int = 0


class Descent:
    """Improves a choice while it stays valid and within the size budget.

    `chosen[c]` is the row of each class that the root needs, -1 elsewhere. A row is only taken if nothing
    that it reads, or newly needs, is computed from its class, so no cycle can arise.
    """

    def __init__(
        self,
        network: Network,
        chosen: IntArray,
        deadline: float = inf,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        problem = network.problem
        self.problem, self.children = problem, network.children
        self.deadline, self.clock = deadline, clock
        self.cost: list[int] = problem.cost.tolist()
        self.size: list[int] = problem.size.tolist()
        self.rows = rows_of(problem)
        self.chosen: list[int] = chosen.tolist()
        self.room = inf
        if problem.size_budget is not None:
            self.room = problem.size_budget - totals(problem, chosen).size
        self.spare = self._spare(network, chosen)
        self.uses = [0] * problem.class_count
        self.uses[problem.root] = 1
        for row in chosen[chosen >= 0].tolist():
            for child in self.children[row]:
                self.uses[child] += 1
        self.place: dict[int, int] = {}

    def run(self) -> IntArray:
        """Change classes until nothing pays any more or the time is over; return the choice."""
        paid = True
        while paid:
            paid = False
            for cls in self._order():
                if self.clock() > self.deadline:
                    return np.array(self.chosen, dtype=np.int64)
                if self.chosen[cls] >= 0 and self._improve(cls):
                    paid = True
        return np.array(self.chosen, dtype=np.int64)

    def _spare(self, network: Network, chosen: IntArray) -> list[int]:
        """Return a row for every class that may newly be needed, cheap where the choice is at hand."""
        cost = self.problem.cost.copy()
        cost[chosen[chosen >= 0]] = 0
        rows = network.settle(cost.tolist(), DagTotals(self.problem.class_count))
        spare: list[int] = rows.tolist()
        return spare

    def _order(self) -> list[int]:
        """Return the needed classes, children first, and note their places."""
        self.place = {}
        stack = [self.problem.root]
        while stack:
            cls = stack[-1]
            missing = [c for c in self.children[self.chosen[cls]] if c not in self.place]
            if missing and cls not in self.place:
                stack.extend(missing)
                continue
            self.place.setdefault(cls, len(self.place))
            stack.pop()
        return list(self.place)

    def _improve(self, cls: int) -> bool:
        """Take the row that saves most for a class, if any saves something."""
        best: _Change | None = None
        for row in self.rows[cls]:
            change = None if row == self.chosen[cls] else self._change(cls, row)
            if change is None or change.cost >= 0 or change.size > max(self.room, 0):
                continue
            if best is None or change.cost < best.cost:
                best = change
        if best is not None:
            self._take(best)
        return best is not None

    def _change(self, cls: int, row: int) -> _Change | None:
        """Work out what another row means; None if it would read what depends on the class."""
        change = _Change({cls: row})
        stack = [row]
        while stack:
            for child in self.children[stack.pop()]:
                change.uses[child] = change.uses.get(child, 0) + 1
                if self.chosen[child] >= 0:
                    if self._depends(child, cls):
                        return None
                elif child not in change.added:
                    if self.spare[child] < 0 or len(change.added) > MOST_ADDED:
                        return None
                    change.added[child] = self.spare[child]
                    stack.append(self.spare[child])
        self._release(cls, change)
        rows = list(change.added.values())
        gone = [self.chosen[removed] for removed in (*change.removed, cls)]
        change.cost = sum(self.cost[r] for r in rows) - sum(self.cost[r] for r in gone)
        change.size = sum(self.size[r] for r in rows) - sum(self.size[r] for r in gone)
        return change

    def _depends(self, first: int, cls: int) -> bool:
        """Tell whether a needed class is computed from another (or may be: long ways are not walked)."""
        limit = self.place[cls]
        seen = {first}
        stack = [first] if self.place[first] >= limit else []
        while stack and len(seen) < MOST_WALKED:
            current = stack.pop()
            if current == cls:
                return True
            # Whatever reads the class, directly or not, stands after it.
            below = {c for c in self.children[self.chosen[current]] if self.place[c] >= limit}
            stack.extend(below - seen)
            seen |= below
        return bool(stack)

    def _release(self, cls: int, change: _Change) -> None:
        """Find what is no longer needed once the class no longer has its row."""
        stack = [self.chosen[cls]]
        while stack:
            for child in self.children[stack.pop()]:
                change.uses[child] = change.uses.get(child, 0) - 1
                if self.uses[child] + change.uses[child] == 0 and child not in change.added:
                    change.removed.append(child)
                    stack.append(self.chosen[child])

    def _take(self, change: _Change) -> None:
        for cls in change.removed:
            self.chosen[cls] = -1
        for cls, row in change.added.items():
            self.chosen[cls] = row
        for cls, count in change.uses.items():
            self.uses[cls] += count
        self.room -= change.size
        self._order()
