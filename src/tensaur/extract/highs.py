"""The HiGHS solver behind four verbs: load a model, add constraints, relax, solve.

Nothing here knows what the columns mean. A solve runs in a thread of its own, so that Ctrl-C reaches
Python at once; HiGHS is then told to stop through its callbacks and is waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event, Thread
from time import perf_counter
from typing import Any

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.duality import proof
from tensaur.extract.model import Constraints, FloatArray, Program

Watcher = Callable[[FloatArray, float], bool]
"""Is handed each improving point and its objective while HiGHS searches; returns whether to stop."""

PRECISION = 1e-9
"""Feasibility tolerances: costs of 10^9 ns may differ by one."""

GRACE_SECONDS = 0.02
"""The least time a solver is given: HiGHS reads a time limit of zero as none at all in places."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run found: `point` is None without a solution, `objective` is what it is said to cost.

    `bound` is a lower bound on the objective.

    `complete` tells that the run ended by itself, with the optimum or with a proof that there is none.
    `rise` is, for each column, by how much a relaxation's bound rises where the column is 1; empty where
    nothing was relaxed.
    """

    point: FloatArray | None
    objective: float
    bound: float
    complete: bool
    rise: FloatArray = field(default_factory=lambda: np.empty(0))


class Session:
    """One model inside HiGHS. The objective is divided by `unit` on the way in."""

    def __init__(self, program: Program, unit: float, seed: int = 0) -> None:
        import highspy  # noqa: PLC0415  # heavy: imported when used

        self.unit = unit
        self._integer = program.integer.astype(np.int32)
        # A copy of its own of the constraints, to which more are added.
        self._program = replace(program, constraints=Constraints())
        self._highspy: Any = highspy
        self._stop = Event()
        self._watch: Watcher | None = None
        self._is_over: Callable[[], bool] = lambda: False
        self._highs: Any = _quiet(self._highspy)
        self._configure(seed)
        self._load(program)
        for callback in (self._highs.cbSimplexInterrupt, self._highs.cbMipInterrupt):
            callback.subscribe(self._on_check)
        self._highs.cbMipImprovingSolution.subscribe(self._on_solution)

    def add(self, rows: Constraints) -> None:
        """Add constraints to the model."""
        if not len(rows):
            return
        status = self._highs.addRows(
            len(rows),
            np.array(rows.lower),
            np.array(rows.upper),
            len(rows.column),
            np.array(rows.start[:-1], dtype=np.int32),
            np.array(rows.column, dtype=np.int32),
            np.array(rows.value),
        )
        self._expect("constraints", status)
        self._program.constraints.extend(rows)

    def relax(self, deadline: float) -> Answer:
        """Solve the linear relaxation."""
        self._integrality(self._highspy.HighsVarType.kContinuous)
        self._run(deadline)
        status = self._highs.getModelStatus()
        if status == self._highspy.HighsModelStatus.kInfeasible:
            return Answer(None, np.inf, np.inf, True)
        if status != self._highspy.HighsModelStatus.kOptimal:
            return Answer(None, np.inf, -np.inf, False)
        objective = self._highs.getInfo().objective_function_value * self.unit
        found = proof(self._program, self.unit, self._multipliers())
        return Answer(self._point(), objective, found.bound, True, found.rise)

    def solve(
        self,
        start: FloatArray | None,
        deadline: float,
        watch: Watcher,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """Solve the integer program, from a first solution if there is one, until it `is_over`."""
        self._integrality(self._highspy.HighsVarType.kInteger)
        self._highs.clearSolver()  # it would start from what it found before
        if start is not None:
            solution = self._highspy.HighsSolution()
            solution.col_value = start.tolist()
            self._expect("a first solution", self._highs.setSolution(solution))
        self._watch, self._is_over = watch, is_over
        self._run(deadline)
        self._watch = None
        return self._answer()

    @property
    def constraints(self) -> Constraints:
        """All constraints, added ones included."""
        return self._program.constraints

    def _answer(self) -> Answer:
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        known = self._highspy.HighsModelStatus
        if status == known.kInfeasible:
            return Answer(None, np.inf, np.inf, True)
        bound = info.mip_dual_bound * self.unit
        if not np.isfinite(bound):
            bound = -np.inf
        objective = info.objective_function_value * self.unit
        found = np.isfinite(objective) and info.primal_solution_status == 2
        point = self._point() if found else None
        return Answer(point, objective, bound, status == known.kOptimal)

    def _multipliers(self) -> FloatArray:
        return np.array(self._highs.getSolution().row_dual, dtype=np.float64)

    def _point(self) -> FloatArray:
        return np.array(self._highs.getSolution().col_value, dtype=np.float64)

    def _configure(self, seed: int) -> None:
        options = {
            "threads": 1,
            "random_seed": seed % 2**31,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": 0.0,
            "primal_feasibility_tolerance": PRECISION,
            "dual_feasibility_tolerance": PRECISION,
            "mip_feasibility_tolerance": PRECISION,
        }
        for name, value in options.items():
            self._expect(f"option {name}", self._highs.setOptionValue(name, value))

    def _load(self, program: Program) -> None:
        lp = self._highspy.HighsLp()
        lp.num_col_ = len(program.cost)
        lp.col_cost_ = program.cost / self.unit
        lp.col_lower_ = program.lower
        lp.col_upper_ = program.upper
        lp.a_matrix_.format_ = self._highspy.MatrixFormat.kRowwise
        rows = program.constraints
        lp.num_row_ = len(rows)
        lp.row_lower_ = np.array(rows.lower)
        lp.row_upper_ = np.array(rows.upper)
        lp.a_matrix_.start_ = np.array(rows.start, dtype=np.int32)
        lp.a_matrix_.index_ = np.array(rows.column, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(rows.value)
        self._expect("a model", self._highs.passModel(lp))
        self._program.constraints.extend(rows)

    def _expect(self, what: str, status: Any) -> None:
        if status == self._highspy.HighsStatus.kError:
            raise ExtractionError(f"highs: {what} was refused")

    def _integrality(self, kind: Any) -> None:
        kinds = np.full(len(self._integer), int(kind), dtype=np.uint8)
        self._highs.changeColsIntegrality(len(kinds), self._integer, kinds)

    def _run(self, deadline: float) -> None:
        """Run HiGHS in a thread; on Ctrl-C stop it, wait for it, and raise KeyboardInterrupt."""
        self._stop.clear()
        left = max(deadline - perf_counter(), GRACE_SECONDS)
        # Some versions of HiGHS count the time of all runs of one instance together, others do not;
        # the loop below stops those that do not.
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
        thread = Thread(target=self._highs.run, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
                if perf_counter() > deadline:
                    self._stop.set()
        except KeyboardInterrupt:
            self._stop.set()
            thread.join()
            raise

    def _on_check(self, event: Any) -> None:
        # HiGHS keeps the flag from one run to the next, so it is written either way.
        event.interrupt(self._stop.is_set() or self._is_over())

    def _on_solution(self, event: Any) -> None:
        data = event.data_out
        objective = data.objective_function_value * self.unit
        if self._watch is not None and self._watch(np.array(data.mip_solution), objective):
            self._stop.set()


def _quiet(highspy: Any) -> Any:
    """Make a solver that never writes to standard output, which HiGHS does while it is constructed."""

    class Quiet(highspy.Highs):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.silent()
            super().enableCallbacks()

    return Quiet()
