"""Constraints against cyclic choices, found when a point of the integer program breaks them.

The loop formula of a set S of classes and a class j in S: the rows of S that need no class of S, at once
or further below, number at least `a_j`. It holds since of the classes of S that a solution computes, the
first uses such a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from tensaur.extract.model import Constraints, FloatArray, Model
from tensaur.extract.problem import IntArray

TOLERANCE = 1e-4
"""How far a point must be on the wrong side of a constraint for it to be added."""

SEED_LIMIT = 20_000
"""The largest number of two-class loops that is stated from the start."""

THRESHOLDS = (1e-6, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
"""How large a row's value must be to count as used, one after the other."""

HEADS = 8
"""For how many classes of a loop in a whole point the formula is stated."""

ACTIVE_HEADS = 3
"""The same for fractional points: more end the relaxation sooner, but make it worse to branch on."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop formula: the set `members`, and the class in it that `rows` of it must allow."""

    cls: int
    members: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class _Support:
    """The arcs that a point uses, and how much of the class's value each leaves to other rows."""

    tail: IntArray
    head: IntArray
    slack: FloatArray


class Loops:
    """Finds loop formulas that a point violates, and states each once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.added: set[Loop] = set()
        self.within: dict[int, set[int]] = defaultdict(set)
        for cls, label in enumerate(model.component):
            self.within[label].add(cls)
        # arcs[c][d]: the rows of class c that need class d of the same component.
        self.arcs: dict[int, dict[int, list[int]]] = defaultdict(dict)
        for row, children in enumerate(model.children):
            cls = model.node_class[row]
            for child in children:
                if model.component[child] == model.component[cls]:
                    self.arcs[cls].setdefault(child, []).append(row)

    def pairs(self) -> Constraints:
        """Return the formulas of all loops of two classes, unless there are very many."""
        loops = [
            Loop(cls, frozenset((cls, other)))
            for cls, arcs in self.arcs.items()
            for other in arcs
            if cls in self.arcs.get(other, ())
        ]
        return self._state(loops if len(loops) <= SEED_LIMIT else [])

    def stated(self) -> set[Loop]:
        """Return all formulas stated, in the classes of the problem that was reduced."""
        name = self.model.reduced.part.classes.tolist()
        return {Loop(name[f.cls], frozenset(name[c] for c in f.members)) for f in self.added}

    def restate(self, loops: Iterable[Loop]) -> Constraints:
        """State formulas of an earlier reduction; classes that are gone are left out of their sets."""
        number = {cls: n for n, cls in enumerate(self.model.reduced.part.classes.tolist())}
        found = []
        for loop in loops:
            members = frozenset(number[c] for c in loop.members if c in number)
            if loop.cls in number and len(members) > 1:
                found.append(Loop(number[loop.cls], members))
        return self._state(found)

    def needed(self, chosen: IntArray) -> dict[int, int]:
        """Return the row of each class that the root needs in a choice that may be cyclic."""
        model = self.model
        rows = chosen.tolist()
        forced = np.flatnonzero(model.reduced.forced).tolist()
        needed = {cls: rows[cls] for cls in (model.reduced.problem.root, *forced)}
        stack = list(needed)
        while stack:
            for child in model.children[needed[stack.pop()]]:
                if child not in needed:
                    needed[child] = rows[child]
                    stack.append(child)
        return needed

    def chosen(self, needed: dict[int, int]) -> Constraints | None:
        """Return formulas against the cycles of a whole choice; None if it has none."""
        children = self.model.children
        founded = self._derive(set(), {cls: [row] for cls, row in needed.items()}, children)
        if len(founded) == len(needed):
            return None
        loops = []
        rows, cost = self.model.rows, self.model.reduced.problem.cost
        for cycle in self._cycles({c: row for c, row in needed.items() if c not in founded}):
            whole = self.within[self.model.component[cycle[0]]]
            # Classes that free rows compute from founded ones are no better an entrance.
            ready = founded | ({c for c in needed} - whole)
            cheap = {c: [r for r in rows[c] if not cost[r]] for c in whole if c not in founded}
            near = self._derive(ready, cheap, children)
            for members in (cycle, whole - founded, (whole - near) | set(cycle)):
                loops += [Loop(cls, frozenset(members)) for cls in cycle[:HEADS]]
        return self._state(loops)

    def fractional(self, point: FloatArray) -> Constraints:
        """Return formulas that a point of the relaxation violates."""
        active = self.model.of_classes(point)
        loops = []
        for members in (*self._short(point, active), *self._wide(point, active)):
            # A class that is as active as the most active one would break the formula next.
            heads = sorted(members, key=lambda c: (-active[c], c))[:ACTIVE_HEADS]
            heads = [cls for cls in heads if active[cls] >= 0.99 * active[heads[0]]]
            loops += [Loop(cls, frozenset(members)) for cls in heads]
        return self._state(loops)

    def _wide(self, point: FloatArray, active: FloatArray) -> list[set[int]]:
        """Find violated loops among the classes that rows above a threshold do not compute.

        The worst loop of any size is hard to find where rows have several children; these are close.
        """
        x = self.model.of_rows(point)
        everything = set(range(len(self.model.rows)))
        loops = []
        for whole in self.within.values():
            for threshold in THRESHOLDS if len(whole) > 1 else ():
                used = {c: [n for n in self.model.rows[c] if x[n] >= threshold] for c in whole}
                rest = whole - self._derive(everything - whole, used, self.model.children)
                highest = max([float(active[cls]) for cls in rest], default=0.0)
                if rest and x[self._entrances(rest)].sum() < highest - TOLERANCE:
                    loops.append(rest)
        return loops

    def _short(self, point: FloatArray, active: FloatArray) -> list[set[int]]:
        """Find violated loops that are single cycles, on disjoint sets of classes."""
        from scipy.sparse import csr_array  # noqa: PLC0415  # heavy: imported when used
        from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

        used = self._support(point, active)
        if not len(used.tail):
            return []
        nodes, ends = np.unique(np.concatenate([used.tail, used.head]), return_inverse=True)
        tails, heads = np.split(ends, 2)
        # A stored zero would read as no arc.
        graph = csr_array((used.slack + 1e-9, (tails, heads)), shape=(len(nodes), len(nodes)))
        distance, previous = dijkstra(graph, limit=1.0, return_predecessors=True)
        excess = distance[heads, tails] + used.slack - active[nodes[heads]]
        loops: list[set[int]] = []
        seen: set[int] = set()
        for arc in np.argsort(excess, kind="stable").tolist():
            if excess[arc] > -TOLERANCE:
                break
            path = [int(tails[arc])]
            while path[-1] != heads[arc]:
                path.append(int(previous[heads[arc], path[-1]]))
            members = set(nodes[path].tolist())
            if seen.isdisjoint(members):
                seen |= members
                loops.append(members)
        return loops

    def _support(self, point: FloatArray, active: FloatArray) -> _Support:
        x = self.model.of_rows(point).tolist()
        tail, head, slack = [], [], []
        for cls, arcs in self.arcs.items():
            if active[cls] <= TOLERANCE:
                continue
            for other, rows in arcs.items():
                used = sum([x[row] for row in rows])
                if used > TOLERANCE:
                    tail.append(cls)
                    head.append(other)
                    slack.append(max(float(active[cls]) - used, 0.0))
        return _Support(np.array(tail), np.array(head), np.array(slack))

    @staticmethod
    def _derive(known: set[int], rows: dict[int, list[int]], children: list[list[int]]) -> set[int]:
        """Return the known classes and those that the given rows compute from them."""
        known = set(known)
        waiting: dict[int, int] = {}
        parents: dict[int, list[tuple[int, int]]] = defaultdict(list)
        ready = []
        for cls, options in rows.items():
            for row in options:
                missing = [child for child in children[row] if child not in known]
                waiting[row] = len(missing)
                for child in missing:
                    parents[child].append((row, cls))
                if not missing:
                    ready.append(cls)
        while ready:
            cls = ready.pop()
            if cls in known:
                continue
            known.add(cls)
            for row, above in parents[cls]:
                waiting[row] -= 1
                if not waiting[row]:
                    ready.append(above)
        return known

    def _cycles(self, above: dict[int, int]) -> list[list[int]]:
        """Return cycles of a choice of one row a class, one for each place that closes one."""
        cycles: list[list[int]] = []
        state: dict[int, int] = {}
        for root in above:
            path: list[int] = []
            stack = [(root, False)]
            while stack:
                cls, leave = stack.pop()
                if leave:
                    state[cls] = 2
                    path.pop()
                elif state.get(cls) == 1:
                    cycles.append(path[path.index(cls) :])
                elif cls in above and cls not in state:
                    state[cls] = 1
                    path.append(cls)
                    stack.append((cls, True))
                    stack += [(child, False) for child in self.model.children[above[cls]]]
        return cycles

    def _entrances(self, members: Collection[int]) -> list[int]:
        """Return the rows of some classes that need none of these classes."""
        inside = 0
        for member in members:
            inside |= 1 << self.model.reduced.bit[member]
        rows = [row for member in sorted(members) for row in self.model.rows[member]]
        return [row for row in rows if not self.model.reduced.below[row] & inside]

    def _state(self, loops: Iterable[Loop]) -> Constraints:
        found = Constraints()
        for loop in loops:
            if loop in self.added:
                continue
            self.added.add(loop)
            head = int(self.model.class_column[loop.cls])
            entrances = self.model.columns_of(self._entrances(loop.members))
            # A head with one row, which enters the loop itself, makes the formula empty.
            if head not in entrances:
                found.add(0.0, entrances, [head], np.inf)
        return found
