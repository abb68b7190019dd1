"""The integer program of a reduced problem, as arrays; no solver appears here.

A column `x_n` in {0, 1} for each row n, and `a_c` in [0, 1] for each class c, which is the sum of the
class's rows. A class with one row shares that row's column. For classes c, d: the sum of `x_n` over the
rows of c that need d, at once or further below, is at most `a_d`. Of these only pairs that do not follow
from others are stated. Acyclicity is left to `cuts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tensaur.extract.presolve import Reduced
from tensaur.extract.problem import IntArray, Problem
from tensaur.extract.structure import components, rows_of

FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class Constraints:
    """Linear constraints `lower <= sum of value * column <= upper`, collected one by one."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self, lower: float, plus: list[int], minus: list[int], upper: float) -> None:
        """Bound the sum of some columns less the sum of others."""
        self.weigh(lower, plus + minus, [1.0] * len(plus) + [-1.0] * len(minus), upper)

    def weigh(self, lower: float, column: list[int], value: list[float], upper: float) -> None:
        """Bound the sum of some columns, each times a value."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.column += column
        self.value += value
        self.start.append(len(self.column))

    def fit(self, problem: Problem, row_column: IntArray) -> None:
        """Keep the sizes of the rows that have a column within the budget of a problem, if it has one."""
        if problem.size_budget is None:
            return
        rows = np.flatnonzero((problem.size > 0) & (row_column >= 0))
        # In units of the budget, since bytes reach 10^9 where the other coefficients are 1.
        unit = float(max(problem.size_budget, 1))
        sizes = (problem.size[rows] / unit).tolist()
        self.weigh(-np.inf, row_column[rows].tolist(), sizes, problem.size_budget / unit)

    def extend(self, other: Constraints) -> None:
        """Append other constraints."""
        self.start += [len(self.column) + end for end in other.start[1:]]
        self.lower += other.lower
        self.upper += other.upper
        self.column += other.column
        self.value += other.value

    def __len__(self) -> int:
        return len(self.lower)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What a solver is given: minimise `cost` over columns between `lower` and `upper`.

    `integer` are the columns that must be whole.
    """

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: IntArray
    constraints: Constraints


class Model:
    """Columns and constraints of a reduced problem, and what its cuts need to know of it.

    `row_column[n]` is -1 for rows that cost nothing and need nothing; they are no part of the program.
    """

    def __init__(self, reduced: Reduced) -> None:
        problem = reduced.problem
        self.reduced = reduced
        self.rows = rows_of(problem)
        self.children = problem.child_lists()
        self.node_class: list[int] = problem.node_class.tolist()
        self.free: list[bool] = (reduced.free_row >= 0).tolist()
        self.component: list[int] = components(problem).tolist()
        self.row_column, self.class_column, self.column_count = self._columns()
        self.constraints = Constraints()
        self._sum_rows()
        self._link()
        self.constraints.fit(problem, self.row_column)

    def _columns(self) -> tuple[IntArray, IntArray, int]:
        problem = self.reduced.problem
        live = ~np.array(self.free, dtype=bool)
        of_row = live[problem.node_class]
        row_column = np.where(of_row, np.cumsum(of_row) - 1, -1)
        count = int(of_row.sum())
        class_column = np.full(problem.class_count, -1, dtype=np.int64)
        for cls in np.flatnonzero(live).tolist():
            if len(self.rows[cls]) == 1:
                class_column[cls] = row_column[self.rows[cls][0]]
            else:
                class_column[cls] = count
                count += 1
        return row_column, class_column, count

    @property
    def binary(self) -> IntArray:
        """The columns that must be whole."""
        return self.row_column[self.row_column >= 0]

    def program(self) -> Program:
        """Return the program, with the constraints that are stated so far."""
        ones = np.ones(self.column_count)
        return Program(self.objective(), self.lower(), ones, self.binary, self.constraints)

    def objective(self) -> FloatArray:
        """Return the cost of each column."""
        cost = np.zeros(self.column_count)
        cost[self.binary] = self.reduced.problem.cost[self.row_column >= 0]
        return cost

    def lower(self) -> FloatArray:
        """Return the lower bound of each column: 1 for the classes that every solution needs."""
        bound = np.zeros(self.column_count)
        columns = self.class_column[self.reduced.forced]
        bound[columns[columns >= 0]] = 1.0
        return bound

    def point(self, chosen: IntArray) -> FloatArray:
        """Return the columns' values in a solution."""
        values = np.zeros(self.column_count)
        rows = chosen[chosen >= 0]
        columns = self.row_column[rows]
        values[columns[columns >= 0]] = 1.0
        columns = self.class_column[np.flatnonzero(chosen >= 0)]
        values[columns[columns >= 0]] = 1.0
        return values

    def of_rows(self, point: FloatArray) -> FloatArray:
        """Return the value of each row at a point; rows without a column read as 0."""
        values: FloatArray = np.where(self.row_column >= 0, point[self.row_column], 0.0)
        return values

    def of_classes(self, point: FloatArray) -> FloatArray:
        """Return the value of each class at a point; classes without a column read as 0."""
        values: FloatArray = np.where(self.class_column >= 0, point[self.class_column], 0.0)
        return values

    def rise(self, columns: FloatArray) -> FloatArray:
        """Return how much a bound rises with each row, from what it rises with each column."""
        of_class = self.class_column[self.reduced.problem.node_class]
        other = np.append(columns, 0.0)[np.where(of_class == self.row_column, -1, of_class)]
        total: FloatArray = self.of_rows(columns) + other
        return total

    def choice(self, point: FloatArray) -> IntArray:
        """Return the row of each class that a whole point chooses, free rows included."""
        chosen = self.reduced.free_row.copy()
        rows = np.flatnonzero(self.of_rows(point) > 0.5)
        chosen[self.reduced.problem.node_class[rows]] = rows
        return chosen

    def columns_of(self, rows: list[int]) -> list[int]:
        """Return the columns of some rows."""
        return [int(self.row_column[row]) for row in rows]

    def _sum_rows(self) -> None:
        for cls, rows in enumerate(self.rows):
            if not self.free[cls] and len(rows) > 1:
                self.constraints.add(0.0, self.columns_of(rows), [int(self.class_column[cls])], 0.0)

    def _link(self) -> None:
        below, bit = self.reduced.below, self.reduced.bit
        class_of = {number: cls for cls, number in enumerate(bit)}
        given = 0
        for cls, number in enumerate(bit):
            if self.free[cls] or self.reduced.forced[cls]:
                given |= 1 << number
        self.required = self._required()
        for cls, rows in enumerate(self.rows):
            if self.free[cls]:
                continue
            needs = {self.required[cls] & ~(1 << bit[cls])} | {below[row] for row in rows}
            targets = {
                number for set_ in needs for number in self._topmost(set_ & ~given, class_of)
            }
            for number in sorted(targets):
                users = [row for row in rows if below[row] >> number & 1]
                plus = self.columns_of(users)
                if len(users) == len(rows):
                    plus = [int(self.class_column[cls])]
                self.constraints.add(-np.inf, plus, [int(self.class_column[class_of[number]])], 0.0)

    def _required(self) -> list[int]:
        required = []
        for cls, rows in enumerate(self.rows):
            common = -1
            for row in rows:
                common &= self.reduced.below[row]
            required.append(common | 1 << self.reduced.bit[cls])
        return required

    def _topmost(self, needed: int, class_of: dict[int, int]) -> list[int]:
        """Return the members that no other member requires; what these require follows."""
        found = []
        while needed:
            # Whatever a class requires has a smaller number, so the largest is topmost.
            number = needed.bit_length() - 1
            found.append(number)
            needed &= ~self.required[class_of[number]]
        return found
