"""TenSat's integer programs, to compare with: order variables, real or whole, or no word on cycles.

From Yang et al., Equality Saturation for Tensor Graph Superoptimization (MLSys 2021), section 5.1: a row
needs a row of each child's class (3), and a class stands after the children of its chosen row, by real
numbers in [0, 1] (4, 5) or by whole ones. Without order variables the e-graph has to be free of cycles,
which TenSat's ban list sees to. Solved as it is stated, without our presolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.highs import Session
from tensaur.extract.ilp import cost_unit, safe_bound, slack
from tensaur.extract.model import Constraints, FloatArray, Program
from tensaur.extract.problem import Incumbent, IntArray, Problem, Stop, closure, totals
from tensaur.extract.structure import rows_of


class Order(Enum):
    """How cycles are kept out."""

    REAL = "real order variables"
    INTEGER = "integer order variables"
    NONE = "no order variables"


@dataclass(frozen=True, slots=True)
class Found:
    """A lower bound on every solution's cost, and why the search ended."""

    bound: int
    stop: Stop


def program(problem: Problem, order: Order) -> Program:
    """Return the integer program: a column for each row, then one for each class if there is an order.

    No row may need its own class.
    """
    rows, classes = problem.row_count, problem.class_count
    constraints = Constraints()
    of_class = rows_of(problem)
    constraints.add(1.0, of_class[problem.root], [], 1.0)
    last = classes - 1.0 if order is Order.INTEGER else 1.0
    # TenSat's constants: epsilon < 1 / M, A > 1 + epsilon for real numbers, A >= M for whole ones.
    step = 1.0 if order is Order.INTEGER else 1.0 / (10.0 * classes)
    big = float(classes) if order is Order.INTEGER else 2.0
    for row, children in enumerate(problem.child_lists()):
        for child in children:
            # A class without rows leaves nothing on the other side.
            constraints.add(-np.inf, [row], of_class[child], 0.0)
            if order is not Order.NONE:
                place = rows + int(problem.node_class[row])
                columns = [place, rows + child, row]
                constraints.weigh(step - big, columns, [1.0, -1.0, -big], np.inf)
    constraints.fit(problem, np.arange(rows))
    placed = 0 if order is Order.NONE else classes
    whole = rows + placed if order is Order.INTEGER else rows
    return Program(
        np.concatenate([problem.cost, np.zeros(placed)]),
        np.zeros(rows + placed),
        np.concatenate([np.ones(rows), np.full(placed, last)]),
        np.arange(whole),
        constraints,
    )


def solve(
    problem: Problem, order: Order, incumbent: Incumbent, deadline: float, seed: int
) -> Found:
    """Solve the program within the time; the incumbent gets what is found, if it is acyclic."""
    unit = cost_unit(problem)
    session = Session(program(problem, order), unit, seed)
    try:
        answer = session.solve(None, deadline, lambda point, cost: False)
    except KeyboardInterrupt:
        return Found(0, Stop.INTERRUPTED)
    bound = safe_bound(answer.bound, unit)
    stop = Stop.SOLVER if answer.complete else Stop.TIME_LIMIT
    if answer.point is None:
        return Found(bound, stop)
    try:
        chosen = closure(problem, _choice(problem, answer.point))
    except ExtractionError:
        return Found(bound, Stop.CYCLIC)
    incumbent.consider(chosen)
    off = totals(problem, chosen).cost - answer.bound
    if answer.complete and off <= slack(answer.bound):
        bound = max(bound, totals(problem, chosen).cost)
    return Found(bound, stop)


def _choice(problem: Problem, point: FloatArray) -> IntArray:
    """Return the cheapest chosen row of each class; the program may choose several, all in order."""
    rows = np.flatnonzero(point[: problem.row_count] > 0.5)
    rows = rows[np.argsort(-problem.cost[rows], kind="stable")]
    chosen = np.full(problem.class_count, -1, dtype=np.int64)
    chosen[problem.node_class[rows]] = rows
    return chosen
