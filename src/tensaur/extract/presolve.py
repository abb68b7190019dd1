"""Rows that no best solution needs, and classes that every solution needs, found before any solver runs.

Everything rests on required sets: `req(c)` holds the classes without which c cannot be computed, the
greatest fixpoint of `req(c) = {c} + intersection over rows of c of union over children d of req(d)`.
At least one cheapest solution survives; with an upper bound given, one that is not above it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from heapq import heappop, heappush
from time import perf_counter

import numpy as np

from tensaur.extract.bits import BitCosts, bit_array
from tensaur.extract.problem import IntArray, Problem, closure
from tensaur.extract.structure import BoolArray, Part, components, derivable, keep_rows, reachable

SET_BYTES = 1 << 30
"""The memory that required sets may take."""

ALL = -1
"""The set of everything, as the bits of an integer: `ALL & s == s`."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """What is left of a problem, what is known about it, and the way back.

    `free_row[c]` computes class c at no cost, or is -1; `forced[c]` tells that every solution needs c;
    `below[n]` is the union of the required sets of row n's children, `bit[c]` the class's place in it.
    `lower_bound` holds for the whole problem.
    """

    part: Part
    free_row: IntArray
    forced: BoolArray
    below: list[int]
    bit: list[int]
    lower_bound: int
    replaced: IntArray

    @property
    def problem(self) -> Problem:
        """What is left."""
        return self.part.problem

    def complete(self, chosen: IntArray) -> IntArray:
        """Add the free rows to a choice, and keep of it what the root needs."""
        return closure(self.problem, np.where(self.free_row >= 0, self.free_row, chosen))

    def lift(self, chosen: IntArray) -> IntArray:
        """Express a choice for what is left as one for the whole problem."""
        return self.part.lift(self.complete(chosen))

    def lower(self, chosen: IntArray) -> IntArray:
        """Express a choice for the whole problem as one for what is left that costs no more."""
        rows = chosen.copy()
        while (moved := np.where(rows >= 0, self.replaced[rows], -1)).tolist() != rows.tolist():
            rows = moved
        return self.complete(self.part.lower(rows))


def fits_memory(problem: Problem) -> bool:
    """Whether the required sets of a problem can be held; they grow with the square of its size."""
    return (problem.row_count + problem.class_count) * problem.class_count // 16 <= SET_BYTES


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A row of a class: what it needs, and what is there anyway in a solution that uses it."""

    cost: int
    size: int
    needs: list[int]
    present: bytes

    def dominates(self, other: _Candidate) -> bool:
        """Whether a solution with `other` stays one, no dearer, when this row takes its place."""
        if self.cost > other.cost or self.size > other.size:
            return False
        present = other.present
        count = 8 * len(present)
        return all(bit < count and present[bit >> 3] >> (bit & 7) & 1 for bit in self.needs)


@dataclass(slots=True)
class Presolve:
    """Drops rows round by round until nothing changes; TimeoutError if the deadline passes before.

    Invariant: some cheapest solution uses only rows in `alive`. `replaced[n]` is the row that dominates n
    (n itself while none does); it may in turn be replaced. `dropped` are rows known from elsewhere not to
    be needed.
    """

    problem: Problem
    upper_bound: int
    deadline: float
    dropped: BoolArray | None = None
    alive: BoolArray = field(init=False)
    replaced: IntArray = field(init=False)
    cost: list[int] = field(init=False)
    constant: int = field(init=False)
    children: list[list[int]] = field(init=False)
    rows: list[list[int]] = field(init=False)
    bit: list[int] = field(init=False)
    order: list[int] = field(init=False)
    required: list[int] = field(init=False)
    below: list[int] = field(init=False)
    free: dict[int, int] = field(init=False)
    parents: list[list[int]] = field(init=False)
    label: dict[int, int] = field(init=False)
    everywhere: int = field(init=False)
    elsewhere: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        problem = self.problem
        self.alive = np.ones(problem.row_count, dtype=bool)
        if self.dropped is not None:
            self.alive &= ~self.dropped
        self.replaced = np.arange(problem.row_count)
        self.cost = problem.cost.tolist()
        self.constant = 0
        self.children = problem.child_lists()

    def run(self) -> Reduced:
        """Reduce to a fixpoint."""
        self._refresh()
        while self._drop_rows():
            self._refresh()
        return self._reduced()

    def _check_time(self) -> None:
        if perf_counter() > self.deadline:
            raise TimeoutError

    def _refresh(self) -> None:
        """Recompute what follows from the rows that are left."""
        self._drop_unreachable()
        self._number_classes()
        self._find_free()
        self._require()
        self._separate_forced()
        self._pull_up()

    def _drop_unreachable(self) -> None:
        part = keep_rows(self.problem, self.alive)
        good = derivable(part.problem)
        good &= reachable(part.problem, good)[part.problem.node_class]
        self.alive[:] = False
        self.alive[part.rows[good]] = True
        self.rows = [[] for _ in range(self.problem.class_count)]
        classes = self.problem.node_class.tolist()
        for row in np.flatnonzero(self.alive).tolist():
            self.rows[classes[row]].append(row)

    def _number_classes(self) -> None:
        """Number classes so that whatever a class requires has a smaller number."""
        known = [False] * self.problem.class_count
        parents: list[list[int]] = [[] for _ in range(self.problem.class_count)]
        waiting = {row: len(self.children[row]) for row in np.flatnonzero(self.alive).tolist()}
        for row in waiting:
            for child in self.children[row]:
                parents[child].append(row)
        self.parents = parents
        ready = [row for row, count in waiting.items() if not count]
        self.order = []
        classes = self.problem.node_class.tolist()
        for row in ready:
            cls = classes[row]
            if known[cls]:
                continue
            known[cls] = True
            self.order.append(cls)
            for parent in parents[cls]:
                waiting[parent] -= 1
                if not waiting[parent]:
                    ready.append(parent)
        self.bit = [-1] * self.problem.class_count
        for number, cls in enumerate(self.order):
            self.bit[cls] = number

    def _find_free(self) -> None:
        """Find the classes that some rows compute at no cost, from classes of the same kind only."""
        problem = self.problem
        nothing = problem.cost == 0
        if problem.size_budget is not None:
            nothing &= problem.size == 0
        self.free = {}
        for cls in self.order:
            for row in self.rows[cls]:
                if nothing[row] and all(child in self.free for child in self.children[row]):
                    self.free[cls] = row
                    for loser in self.rows[cls]:
                        self.replaced[loser] = row
                    self.alive[self.rows[cls]] = False
                    self.alive[row] = True
                    self.rows[cls] = [row]
                    break

    def _require(self) -> None:
        self.required = [ALL] * self.problem.class_count
        self.below = [0] * self.problem.row_count
        classes = self.problem.node_class.tolist()
        waiting = set(self.order)
        while waiting:
            # Most of them in one pass: what a class requires mostly stands before it.
            for cls in self.order:
                if cls not in waiting:
                    continue
                waiting.discard(cls)
                self._check_time()
                common = ALL
                for row in self.rows[cls]:
                    self.below[row] = self._below(row)
                    common &= self.below[row]
                common |= 1 << self.bit[cls]
                if common != self.required[cls]:
                    self.required[cls] = common
                    waiting.update([classes[row] for row in self.parents[cls]])

    def _below(self, row: int) -> int:
        children = self.children[row]
        if len(children) == 1:  # shared, not copied: the sets of large problems are large
            return self.required[children[0]]
        below = 0
        for child in children:
            below |= self.required[child]
        return below

    def _separate_forced(self) -> None:
        """Find for each component of several classes what is forced, or free, and cannot depend on it."""
        part = keep_rows(self.problem, self.alive)
        labels = components(part.problem)
        size = np.bincount(labels)
        self.label = dict(zip(part.classes.tolist(), labels.tolist(), strict=True))
        same: dict[int, int] = defaultdict(int)
        for cls, label in self.label.items():
            if size[label] > 1:
                same[label] |= 1 << self.bit[cls]
        given = self.required[self.problem.root]
        free = 0
        for cls in self.free:
            free |= 1 << self.bit[cls]
        # A class alone in its component cannot occur below its own rows.
        self.everywhere = given | free
        self.elsewhere = {label: given & ~members | free for label, members in same.items()}

    def _pull_up(self) -> None:
        """Move costs from classes to the rows that cannot do without them, and out of the problem.

        Where all parent rows of a class are in one class, of which a solution uses one row, the class's
        least cost may as well be theirs. This changes no solution's total; it makes rows comparable.
        """
        classes = self.problem.node_class.tolist()
        given = self.required[self.problem.root]
        for cls in self.order:
            least = min(self.cost[row] for row in self.rows[cls])
            users = [row for row in self.parents[cls] if self.alive[row]]
            if given >> self.bit[cls] & 1:
                self.constant += least
            elif len({classes[row] for row in users}) == 1:
                for row in users:
                    self.cost[row] += least
            else:
                continue
            for row in self.rows[cls]:
                self.cost[row] -= least

    def _drop_rows(self) -> bool:
        count = int(self.alive.sum())
        costs = BitCosts()
        for cls in self.order:
            costs.append(min(self.cost[row] for row in self.rows[cls]))
        above = self._above()
        totals: dict[int, int] = {}
        for cls in self.order:
            self._check_time()
            room = self.upper_bound - self.constant - above[cls]
            own = 1 << self.bit[cls]
            possible = [row for row in self.rows[cls] if not self.below[row] & own]
            keep = [row for row in possible if self._is_within(row, room, costs, totals)]
            keep = self._undominated(cls, keep)
            self.alive[self.rows[cls]] = False
            self.alive[keep] = True
        return int(self.alive.sum()) < count

    def _above(self) -> list[int]:
        """Return for each class what a path of rows from the root down to it costs at least."""
        above = [-1] * self.problem.class_count
        heap = [(0, self.problem.root)]
        while heap:
            cost, cls = heappop(heap)
            if above[cls] >= 0:
                continue
            above[cls] = cost
            for row in self.rows[cls]:
                for child in self.children[row]:
                    if above[child] < 0:
                        heappush(heap, (cost + self.cost[row], child))
        return above

    def _is_within(self, row: int, room: int, costs: BitCosts, totals: dict[int, int]) -> bool:
        """Whether a row with all that it requires costs no more than some room; `totals` are kept."""
        children = self.children[row]
        for child in children:
            if child not in totals:
                totals[child] = costs.sum(self.required[child])
        least = max([totals[child] for child in children], default=0)
        most = sum([totals[child] for child in children])
        if self.cost[row] + most <= room or self.cost[row] + least > room:
            return self.cost[row] + most <= room
        return self.cost[row] + costs.sum(self.below[row]) <= room

    def _undominated(self, cls: int, rows: list[int]) -> list[int]:
        if len(rows) < 2:
            return rows
        elsewhere = self.elsewhere.get(self.label[cls], self.everywhere)
        kept: dict[int, _Candidate] = {}
        for row in sorted(rows, key=lambda n: (self._weight(n), len(self.children[n]), n)):
            bits = [self.bit[child] for child in self.children[row]]
            own = _Candidate(*self._weight(row), bits, bit_array(self.below[row] | elsewhere))
            winner = next((n for n, other in kept.items() if other.dominates(own)), None)
            if winner is not None:
                self.replaced[row] = winner
                continue
            # By order of cost, those before are cheaper or as cheap.
            equal = [(n, other) for n, other in kept.items() if other.cost == own.cost]
            losers = [n for n, other in equal if own.dominates(other)]
            self.replaced[losers] = row
            for loser in losers:
                del kept[loser]
            kept[row] = own
        return list(kept)

    def _weight(self, row: int) -> tuple[int, int]:
        size = 0 if self.problem.size_budget is None else int(self.problem.size[row])
        return self.cost[row], size

    def _reduced(self) -> Reduced:
        part = keep_rows(self.problem, self.alive)
        free = np.full(len(part.classes), -1, dtype=np.int64)
        number = {row: n for n, row in enumerate(part.rows.tolist())}
        names = part.classes.tolist()
        for n, cls in enumerate(names):
            if cls in self.free:
                free[n] = number[self.free[cls]]
        forced = np.zeros(len(names), dtype=bool)
        given = self.required[self.problem.root]
        bit = [self.bit[cls] for cls in names]
        forced[:] = [bool(given >> b & 1) for b in bit]
        below = [self.below[row] for row in part.rows.tolist()]
        return Reduced(part, free, forced, below, bit, self.constant, self.replaced)
