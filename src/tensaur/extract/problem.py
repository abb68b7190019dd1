"""What extraction is given and what it answers, as arrays: `Problem`, `Solution`, and their check.

A class is a set of equivalent rows; a row computes its class from the classes of its children. A solution
chooses one row for each class that the root needs, without a cycle; a row costs once however often it is
used. No e-graph, no operator and no solver appears here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensaur.errors import ExtractionError

IntArray = NDArray[np.int64]
TOTAL_LIMIT = 2**62
"""Costs or sizes that sum to more than this would overflow 64-bit sums."""


class Stop(Enum):
    """Why a solver returned what it returned."""

    PROVED = "no cheaper solution exists"
    HEURISTIC = "the method does not prove its answers"
    TIME_LIMIT = "the time limit was reached"
    INTERRUPTED = "interrupted"
    SOLVER = "the solver gave up"
    CYCLIC = "the rows that the program chose form a cycle"


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Choose rows so that the root is computed at the least total cost.

    `node_class[n]` is the class of row n, `child[child_start[n]:child_start[n + 1]]` its children's
    classes, `cost[n]` >= 0 its cost (whole numbers, such as nanoseconds), `size[n]` >= 0 the bytes it adds
    to the written file. The sizes of a solution's rows sum to at most `size_budget`. `tag[n]` is the
    caller's own number for row n (n itself unless given); nothing here reads it. `known` is a solution
    that is there already (a row for each class that the root needs, -1 elsewhere): no answer is worse.
    """

    node_class: IntArray
    child_start: IntArray
    child: IntArray
    cost: IntArray
    size: IntArray
    root: int
    class_count: int
    size_budget: int | None = None
    tag: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    known: IntArray | None = None

    def __post_init__(self) -> None:
        if not len(self.tag):
            object.__setattr__(self, "tag", np.arange(len(self.node_class)))
        for name in ("node_class", "child_start", "child", "tag"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.int64))
        for name in ("cost", "size"):
            object.__setattr__(self, name, _whole_numbers(name, getattr(self, name)))
        _check_shape(self)

    @classmethod
    def of(
        cls,
        children: Sequence[Iterable[int]],
        node_class: ArrayLike,
        cost: ArrayLike,
        size: ArrayLike | None = None,
        *,
        root: int,
        size_budget: int | None = None,
    ) -> Problem:
        """Make a problem from one list of children a row."""
        lists = [list(row) for row in children]
        flat = np.array([c for row in lists for c in row], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum([len(row) for row in lists], dtype=np.int64)])
        classes = np.asarray(node_class, dtype=np.int64)
        count = int(max([root, *classes.tolist(), *flat.tolist()])) + 1
        sizes = np.zeros(len(lists), dtype=np.int64) if size is None else size
        return cls(classes, start, flat, cost, sizes, root, count, size_budget)  # type: ignore[arg-type]

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.node_class)

    def children(self, row: int) -> list[int]:
        """The classes that a row needs, each once, in order of first use."""
        inputs = self.child[self.child_start[row] : self.child_start[row + 1]]
        return list(dict.fromkeys(inputs.tolist()))

    def child_lists(self) -> list[list[int]]:
        """`children` of every row."""
        flat = self.child.tolist()
        start = self.child_start.tolist()
        return [list(dict.fromkeys(flat[start[n] : start[n + 1]])) for n in range(self.row_count)]

    def child_rows(self) -> IntArray:
        """The row that each entry of `child` belongs to."""
        return np.repeat(np.arange(self.row_count, dtype=np.int64), np.diff(self.child_start))


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """One row for each class that is needed, and what is known about its quality.

    `chosen[c]` is the row chosen for class c, -1 where c is not needed. No solution costs less than
    `lower_bound`, which `prover` found.
    """

    chosen: IntArray
    cost: int
    size: int
    lower_bound: int
    solver: str
    stop: Stop = Stop.HEURISTIC
    seconds: float = field(default=0.0, compare=False)
    prover: str = ""

    @property
    def proved(self) -> bool:
        """Whether no cheaper solution exists."""
        return self.lower_bound >= self.cost

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, as a share of the cost."""
        return (self.cost - self.lower_bound) / self.cost if self.cost else 0.0

    @property
    def rows(self) -> IntArray:
        """The chosen rows, in the order of their classes."""
        return self.chosen[self.chosen >= 0]


@dataclass(frozen=True, slots=True)
class Totals:
    """What a choice of rows sums to."""

    cost: int
    size: int


def totals(problem: Problem, chosen: IntArray) -> Totals:
    """Sum the chosen rows, each counted once."""
    rows = chosen[chosen >= 0]
    return Totals(int(problem.cost[rows].sum()), int(problem.size[rows].sum()))


def fits(problem: Problem, chosen: IntArray) -> bool:
    """Whether the chosen rows stay within the size budget."""
    return problem.size_budget is None or totals(problem, chosen).size <= problem.size_budget


@dataclass(slots=True)
class Incumbent:
    """The cheapest valid choice seen so far; every candidate goes through `consider`, from any thread."""

    problem: Problem
    chosen: IntArray | None = None
    cost: float = inf
    _lock: Lock = field(default_factory=Lock)

    def consider(self, chosen: IntArray) -> bool:
        """Keep a choice, made of what the root needs, if it is within budget and cheaper."""
        cost = totals(self.problem, chosen).cost
        with self._lock:
            if cost >= self.cost or not fits(self.problem, chosen):
                return False
            self.chosen, self.cost = chosen, cost
        return True

    def restate(self, chosen: IntArray) -> None:
        """Keep another form of the choice that is kept, which costs no more."""
        total = totals(self.problem, chosen).cost
        with self._lock:
            assert total <= self.cost and fits(self.problem, chosen)
            self.chosen, self.cost = chosen, total

    @property
    def limit(self) -> int:
        """The cost that no solution of interest exceeds."""
        return int(self.problem.cost.sum()) if self.chosen is None else int(self.cost)


def closure(problem: Problem, rows: IntArray) -> IntArray:
    """Keep of one proposed row a class only those that the root needs; refuse gaps and cycles."""
    chosen = np.full(problem.class_count, -1, dtype=np.int64)
    done: set[int] = set()
    stack = [problem.root]
    while stack:
        cls = stack[-1]
        if chosen[cls] < 0:
            chosen[cls] = _row_of(problem, rows, cls)
            needed = [c for c in problem.children(int(chosen[cls])) if c not in done]
            if any(chosen[c] >= 0 for c in needed):
                raise ExtractionError(f"class {cls}: the chosen rows form a cycle")
            stack.extend(needed)
            continue
        # A class is seen again when all below it are done, or as a copy that another parent pushed.
        done.add(cls)
        stack.pop()
    return chosen


def check(problem: Problem, solution: Solution) -> None:
    """Raise ExtractionError unless a solution is complete, acyclic, within budget, and priced truly.

    Written for obviousness: it shares no code path with the solvers but `closure`.
    """
    if solution.chosen.shape != (problem.class_count,):
        raise ExtractionError(f"{len(solution.chosen)} choices for {problem.class_count} classes")
    needed = closure(problem, solution.chosen)
    extra = np.flatnonzero((needed < 0) & (solution.chosen >= 0))
    if len(extra):
        raise ExtractionError(f"class {extra[0]}: a row is chosen but the root does not need it")
    true = totals(problem, needed)
    if (true.cost, true.size) != (solution.cost, solution.size):
        stated = f"cost {solution.cost} and size {solution.size}"
        raise ExtractionError(f"{stated} are claimed, the rows sum to {true.cost} and {true.size}")
    if not fits(problem, needed):
        raise ExtractionError(f"size {true.size} is above the budget of {problem.size_budget}")
    if solution.lower_bound > solution.cost:
        raise ExtractionError(f"lower bound {solution.lower_bound} is above the cost {true.cost}")


def _row_of(problem: Problem, rows: IntArray, cls: int) -> int:
    row = int(rows[cls])
    if not 0 <= row < problem.row_count:
        raise ExtractionError(f"class {cls}: needed, but no row is chosen")
    if problem.node_class[row] != cls:
        raise ExtractionError(f"class {cls}: row {row} belongs to class {problem.node_class[row]}")
    return row


def _whole_numbers(name: str, values: ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iufb":
        raise ExtractionError(f"{name}: expected numbers, not {array.dtype}")
    for fault, bad in (
        ("not finite", ~np.isfinite(array)),
        ("negative", array < 0),
        ("not a whole number", array != np.floor(array)),
    ):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ExtractionError(f"{name} of row {row}: {array[row]} is {fault}")
    if array.astype(np.float64).sum() > TOTAL_LIMIT:
        raise ExtractionError(f"{name}: the rows sum to more than 2**62; use a larger unit")
    return array.astype(np.int64)


def _check_shape(problem: Problem) -> None:
    rows = problem.row_count
    start = problem.child_start
    if any(len(a) != rows for a in (problem.cost, problem.size, problem.tag, start[1:])):
        raise ExtractionError("node_class, child_start, cost, size and tag differ in length")
    if start[0] != 0 or start[-1] != len(problem.child) or (np.diff(start) < 0).any():
        raise ExtractionError("child_start does not delimit the child array")
    for name, values in (("node_class", problem.node_class), ("child", problem.child)):
        if len(values) and not (values.min() >= 0 and values.max() < problem.class_count):
            raise ExtractionError(f"{name}: a class is outside 0..{problem.class_count - 1}")
    if not 0 <= problem.root < problem.class_count:
        raise ExtractionError(f"root: class {problem.root} of {problem.class_count} does not exist")
    if problem.size_budget is not None and problem.size_budget < 0:
        raise ExtractionError(f"size budget: {problem.size_budget} is negative")
