"""The CP-SAT solver (OR-tools, the extra `cpsat`): the same program, with levels against cycles.

In each strongly connected component of classes, a row that is chosen puts its class on a level above
those of the children in the component. Other constraints are taken over from the program, loop formulas
that were found so far among them: where they hold already, they help. Only this module knows the solver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from math import ceil
from threading import Event, Thread
from time import perf_counter
from typing import Any

import numpy as np

from tensaur.extract.model import Constraints, FloatArray, Model

Watch = Callable[[FloatArray], None]
"""Is handed the columns of each improving solution."""

Believe = Callable[[int], None]
"""Is handed each better lower bound on the program's objective."""

ROUNDING = 2.0**-50
"""The solver computes in whole numbers and tells its bounds as double-precision ones."""


def is_installed() -> bool:
    """Tell whether the solver can be used."""
    return find_spec("ortools") is not None


class Levels:
    """One program inside CP-SAT, searched by one thread of the solver's beside the caller's."""

    def __init__(self, model: Model, constraints: Constraints, seed: int = 0) -> None:
        self._model, self._constraints, self._seed = model, constraints, seed
        self._cp: Any = None
        self._program: Any = None
        self._solver: Any = None
        self._column: list[Any] = []
        self._thread: Thread | None = None
        self._stopped = Event()

    def start(
        self,
        point: FloatArray | None,
        deadline: float,
        watch: Watch,
        believe: Believe,
        delay: float = 0.0,
    ) -> None:
        """Begin to search after a delay, from a first solution if there is one.

        Both functions are called from the thread.
        """

        def run() -> None:
            if not self._stopped.wait(delay):
                self._build(point, deadline)
                self._search(watch, believe)

        self._thread = Thread(target=run, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return whether it has come."""
        assert self._thread is not None
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Stop the search and wait for its end."""
        self._stopped.set()
        # A search that is only about to begin would not hear of it.
        while self._thread is not None and self._thread.is_alive():
            if self._solver is not None:
                self._solver.stop_search()
            self._thread.join(0.02)

    def _build(self, point: FloatArray | None, deadline: float) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415  # heavy, and may be missing

        model = self._model
        self._cp, self._program = cp_model, cp_model.CpModel()
        self._column = [self._program.new_bool_var("") for _ in range(model.column_count)]
        self._state(self._constraints)
        self._fit()
        self._order()
        costs = model.reduced.problem.cost[model.row_column >= 0].tolist()
        columns = [self._column[at] for at in model.binary.tolist()]
        self._program.minimize(cp_model.LinearExpr.weighted_sum(columns, costs))
        for column, value in enumerate([] if point is None else (point > 0.5).tolist()):
            self._program.add_hint(self._column[column], value)
        solver: Any = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.linearization_level = 2
        solver.parameters.random_seed = self._seed % 2**31
        solver.parameters.catch_sigint_signal = False  # Ctrl-C is Python's
        solver.parameters.max_time_in_seconds = max(deadline - perf_counter(), 0.0)
        self._solver = solver

    def _search(self, watch: Watch, believe: Believe) -> None:
        columns = self._column

        class Found(self._cp.CpSolverSolutionCallback):  # type: ignore[misc, name-defined]
            def on_solution_callback(self) -> None:
                watch(np.array([float(self.value(column)) for column in columns]))

        def told(bound: float) -> None:
            if np.isfinite(bound):
                believe(ceil(bound - ROUNDING * abs(bound) - 0.01))

        self._solver.best_bound_callback = told
        status = self._solver.solve(self._program, Found())
        if status == self._cp.OPTIMAL:
            told(self._solver.objective_value)

    def _state(self, constraints: Constraints) -> None:
        """State constraints whose coefficients are 1 and -1: each is a choice, implications or a clause."""
        column, program = self._column, self._program
        for lower in np.flatnonzero(self._model.lower() > 0.5).tolist():
            program.add(column[lower] == 1)
        for number, (start, end) in enumerate(pairwise(constraints.start)):
            signed = [
                (column[at], value)
                for at, value in zip(
                    constraints.column[start:end], constraints.value[start:end], strict=True
                )
            ]
            plus = [one for one, value in signed if value > 0]
            minus = [one for one, value in signed if value < 0]
            if not minus:
                continue  # sizes, which `_fit` states in whole numbers
            if constraints.lower[number] == constraints.upper[number]:
                program.add_exactly_one(*plus, *(~one for one in minus))
            elif constraints.lower[number] == 0.0:
                program.add_bool_or(*plus, *(~one for one in minus))
            else:
                # The rows are of one class, of which one is chosen at most.
                for one in plus:
                    program.add_implication(one, minus[0])

    def _fit(self) -> None:
        problem, row_column = self._model.reduced.problem, self._model.row_column
        if problem.size_budget is None:
            return
        rows = np.flatnonzero((problem.size > 0) & (row_column >= 0)).tolist()
        columns = [self._column[row_column[row]] for row in rows]
        sizes = problem.size[rows].tolist()
        self._program.add(self._cp.LinearExpr.weighted_sum(columns, sizes) <= problem.size_budget)

    def _order(self) -> None:
        model = self._model
        size = Counter(model.component)
        level = {
            cls: self._program.new_int_var(0, size[label] - 1, "")
            for cls, label in enumerate(model.component)
            if size[label] > 1
        }
        for row, children in enumerate(model.children):
            cls, column = model.node_class[row], int(model.row_column[row])
            for child in children if column >= 0 else ():
                if model.component[child] == model.component[cls]:
                    above = self._program.add(level[cls] >= level[child] + 1)
                    above.only_enforce_if(self._column[column])
