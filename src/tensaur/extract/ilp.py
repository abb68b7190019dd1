"""Exact extraction: an integer program whose acyclicity constraints are added as they are broken.

Rounds of presolve, relaxation, and branch and bound share one incumbent and one lower bound. Whatever
ends the search (proof, time, Ctrl-C), the incumbent is the answer. Each solution is priced and checked
here; nothing that the solver says about one is believed, and its bound is rounded against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from time import perf_counter

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.cuts import Loop, Loops
from tensaur.extract.greedy import Network
from tensaur.extract.highs import Answer, Session
from tensaur.extract.model import Constraints, FloatArray, Model
from tensaur.extract.presolve import Presolve, Reduced
from tensaur.extract.problem import Incumbent, Problem, Stop

RELAXATION_SHARE = 0.2
"""The part of the time left that relaxations may take before branching begins."""

RELAXATION_GAIN = 1e-3
"""Relaxations go on while five rounds together raise the bound by this share."""

REDUCE_GAIN = 0.01
"""The model is made anew when the incumbent has become better by this share."""

BOUND_MARGIN = 1e-9
"""How far, relative to its size, a bound computed in floating point may be off."""


@dataclass(slots=True)
class _Round:
    """One reduced problem, its model inside the solver, and its view of loops."""

    reduced: Reduced
    model: Model
    loops: Loops
    session: Session
    network: Network


@dataclass(slots=True)
class IntegerSearch:
    """Searches for the cheapest choice from an incumbent, which it improves in place.

    Invariant: no solution of the problem costs less than `lower_bound`, unless the incumbent does.
    """

    problem: Problem
    incumbent: Incumbent
    deadline: float
    seed: int = 0
    lower_bound: int = 0
    stop: Stop = Stop.TIME_LIMIT
    known: set[Loop] = field(default_factory=set)
    stuck: bool = False

    def run(self) -> Stop:
        """Search until the incumbent is proved, or time or patience ends."""
        try:
            while not self._proved() and not self.stuck and self._left() > 0:
                self._round()
        except KeyboardInterrupt:
            self.stop = Stop.INTERRUPTED
        if self._proved():
            self.stop = Stop.PROVED
        return self.stop

    def _left(self) -> float:
        return self.deadline - perf_counter()

    def _proved(self) -> bool:
        return self.lower_bound >= self.incumbent.cost

    def _round(self) -> None:
        """Reduce under the incumbent's cost, then search until done or a reduction pays again."""
        reduced = Presolve(self.problem, self.incumbent.limit, self.deadline).run()
        self.lower_bound = max(self.lower_bound, reduced.lower_bound)
        model = Model(reduced)
        if not model.column_count:
            self.incumbent.consider(reduced.lift(reduced.free_row))
            self._close()
            return
        loops = Loops(model)
        model.constraints.extend(loops.pairs())
        model.constraints.extend(loops.restate(self.known))
        session = Session(model, self._unit(), self.seed)
        current = _Round(reduced, model, loops, session, Network(reduced.problem))
        worth = self.incumbent.limit * (1.0 - REDUCE_GAIN)
        self._relax(current)
        while self._branch(current) and self.incumbent.cost >= worth and self._left() > 0:
            pass
        self.known |= loops.stated()

    def _unit(self) -> float:
        """Return a cost unit that keeps the objective's coefficients near one."""
        largest = int(self.problem.cost.max(initial=1))
        return float(2 ** max(largest.bit_length() - 10, 0))

    def _relax(self, current: _Round) -> None:
        """Tighten the relaxation while that raises the bound."""
        end = perf_counter() + RELAXATION_SHARE * self._left()
        bounds = [0.0] * 5
        while perf_counter() < end:
            answer = current.session.relax(end)
            if answer.point is None:
                return
            self._believe(answer.bound)
            self._round_off(current, answer.point)
            cuts = current.loops.fractional(answer.point)
            current.session.add(cuts)
            bounds.append(answer.bound)
            if not len(cuts) or bounds[-1] - bounds[-6] < RELAXATION_GAIN * bounds[-1]:
                return

    def _branch(self, current: _Round) -> bool:
        """Solve the integer program; return whether constraints were missing in it."""
        cuts = Constraints()
        failures: list[Exception] = []

        def watch(point: FloatArray) -> bool:
            try:
                found = self._inspect(current, point)
            except Exception as error:  # must not unwind through the solver
                failures.append(error)
                return True
            cuts.extend(found)
            return len(found) > 0

        start = None
        if self.incumbent.chosen is not None:
            start = current.model.point(current.reduced.lower(self.incumbent.chosen))
        answer = current.session.solve(start, self.deadline, watch)
        if answer.point is not None and not len(cuts):
            watch(answer.point)
        if failures:
            raise failures[0]
        current.session.add(cuts)
        self._conclude(answer, current, len(cuts) > 0)
        return len(cuts) > 0

    def _conclude(self, answer: Answer, current: _Round, cut: bool) -> None:
        if answer.complete and answer.point is None:
            self._close()
            return
        self._believe(answer.bound)
        if cut or self._proved():
            return
        off = self.incumbent.cost - answer.bound
        if answer.complete and off <= max(0.5, BOUND_MARGIN * answer.bound):
            self._close()
        elif self._left() > 0:
            self.stop, self.stuck = Stop.SOLVER, True

    def _believe(self, bound: float) -> None:
        """Take over a bound on the reduced problem, less what floating point may have added."""
        if np.isfinite(bound):
            safe = ceil(bound - BOUND_MARGIN * (abs(bound) + 1000.0 * self._unit()))
            self.lower_bound = max(self.lower_bound, safe)

    def _close(self) -> None:
        """Note that nothing cheaper than the incumbent exists."""
        if self.incumbent.chosen is None:
            raise ExtractionError(
                f"no solution has a size of at most {self.problem.size_budget} bytes"
            )
        self.lower_bound = max(self.lower_bound, int(self.incumbent.cost))

    def _inspect(self, current: _Round, point: FloatArray) -> Constraints:
        """Consider a whole point as a solution; return constraints against it if it is cyclic."""
        chosen = current.model.choice(point)
        cuts = current.loops.chosen(current.loops.needed(chosen))
        if cuts is None:
            self.incumbent.consider(current.reduced.lift(chosen))
            cuts = Constraints()
        self._round_off(current, point)
        return cuts

    def _round_off(self, current: _Round, point: FloatArray) -> None:
        """Make a solution near a point: rows that the point uses are cheap in a greedy choice."""
        cost = current.reduced.problem.cost
        unused = np.clip(1.0 - current.model.of_rows(point), 0.0, 1.0)
        # A price for every row, small or large, so that free rows too follow the point.
        for price in (1e-3, 1.0):
            dearer = cost * 16.0 + max(16.0 * price * float(cost.max()), 16.0)
            chosen = current.network.dag((dearer * unused).astype(np.int64))
            self.incumbent.consider(current.reduced.lift(chosen))
