"""Exact extraction: an integer program whose acyclicity constraints are added as they are broken.

Rounds of presolve, relaxation, and branch and bound share one incumbent and one lower bound. Whatever
ends the search (proof, time, Ctrl-C), the incumbent is the answer. Each solution is priced and checked
here; nothing that the solver says about one is believed, and its bound is rounded against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from time import perf_counter

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.cpsat import Levels, is_installed
from tensaur.extract.cuts import Loop, Loops
from tensaur.extract.greedy import Network
from tensaur.extract.highs import Answer, Session
from tensaur.extract.model import Constraints, FloatArray, Model
from tensaur.extract.presolve import Presolve, Reduced, fits_memory
from tensaur.extract.problem import Incumbent, Problem, Stop
from tensaur.extract.structure import BoolArray, keep_rows

HIGHS, CPSAT = "highs", "cp-sat"
SOLVERS = frozenset((HIGHS, CPSAT))

RIVAL_DELAY = 2.0
"""So many seconds HiGHS branches before CP-SAT is called in, which takes memory and half a second to load."""

RELAXATION_SHARE = 0.5
"""The part of the time left that relaxations may take before branching begins."""

RELAXATION_GAIN = 1e-3
"""Relaxations go on while five rounds together raise the bound by this share."""

REDUCE_GAIN = 0.01
"""The model is made anew when the incumbent has become better by this share."""

SUPPORT = 1e-6
"""A row whose value in a relaxation is above this is used there."""

SUPPORT_SHARE = 0.7
"""A search among the rows in use is not made where they are more than this share of all."""

SUPPORT_TIME = 0.3
"""The part of the time left that such a search may take."""

DROP_SHARE = 0.05
"""The model is made anew when this share of its rows is dropped."""

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

    Invariant: no solution of the problem costs less than `lower_bound`, unless the incumbent does; who
    found it is `prover`. Both `solvers` run side by side, if CP-SAT is installed.
    """

    problem: Problem
    incumbent: Incumbent
    deadline: float
    seed: int = 0
    lower_bound: int = 0
    stop: Stop = Stop.TIME_LIMIT
    known: set[Loop] = field(default_factory=set)
    dropped: BoolArray = field(init=False)
    nested: bool = False
    solvers: frozenset[str] = SOLVERS
    prover: str = "paths"
    warm: bool = True
    stuck: bool = False
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.dropped = np.zeros(self.problem.row_count, dtype=bool)

    def run(self) -> Stop:
        """Search until the incumbent is proved, or time or patience ends."""
        self.stuck = not fits_memory(self.problem)
        try:
            while not self._proved() and not self.stuck and self._left() > 0:
                self._round()
        except KeyboardInterrupt:
            self.stop = Stop.INTERRUPTED
        except TimeoutError:
            self.stop = Stop.TIME_LIMIT
        except ExtractionError:
            # Whatever befell the solver, a known solution stays one.
            if self.incumbent.chosen is None:
                raise
            self.stuck = True
        if self._proved():
            self.stop = Stop.PROVED
        elif self.stuck:
            self.stop = Stop.SOLVER
        return self.stop

    def _left(self) -> float:
        return self.deadline - perf_counter()

    def _proved(self) -> bool:
        return self.lower_bound >= self.incumbent.cost

    def _round(self) -> None:
        """Reduce under the incumbent's cost, then search until done or a reduction pays again."""
        reduced = Presolve(self.problem, self.incumbent.limit, self.deadline, self.dropped).run()
        self._raise(reduced.lower_bound, "presolve")
        model = Model(reduced)
        if not model.column_count:
            self.incumbent.consider(reduced.lift(reduced.free_row))
            self._close("presolve")
            return
        loops = Loops(model)
        model.constraints.extend(loops.pairs())
        model.constraints.extend(loops.restate(self.known))
        session = Session(model.program(), self._unit(), self.seed)
        current = _Round(reduced, model, loops, session, Network(reduced.problem))
        if HIGHS not in self.solvers:
            self._wait(current)
            return
        worth = self.incumbent.limit * (1.0 - REDUCE_GAIN)
        answer = self._relax(current)
        if answer is not None and not self._proved():
            self._search_support(current, answer)
            if self._drop(current, answer) or self._proved():
                self.known |= loops.stated()
                return
        rival = self._rival(current)
        try:
            while self._branch(current) and self.incumbent.cost >= worth and self._left() > 0:
                pass
        finally:
            if rival is not None:
                rival.stop()
        self.known |= loops.stated()

    def _rival(self, current: _Round) -> Levels | None:
        """Start CP-SAT on the reduced problem; what it finds goes into the incumbent and the bound."""
        if CPSAT not in self.solvers or self.nested or not is_installed():
            return None
        rival = Levels(current.model, current.session.constraints, self.seed)

        def watch(point: FloatArray) -> None:
            self.incumbent.consider(current.reduced.lift(current.model.choice(point)))

        def believe(bound: int) -> None:
            self._raise(bound, CPSAT)

        delay = RIVAL_DELAY if HIGHS in self.solvers else 0.0
        rival.start(self._start(current), self.deadline, watch, believe, delay)
        return rival

    def _wait(self, current: _Round) -> None:
        """Let CP-SAT search alone."""
        rival = self._rival(current)
        assert rival is not None, "installed, and this search is not nested"
        try:
            while not rival.wait(0.05):
                pass
        finally:
            rival.stop()
        self.stuck = self._left() > 0 and not self._proved()

    def _start(self, current: _Round) -> FloatArray | None:
        """Return the incumbent as a point of the program."""
        if self.incumbent.chosen is None:
            return None
        return current.model.point(current.reduced.lower(self.incumbent.chosen))

    def _unit(self) -> float:
        return cost_unit(self.problem)

    def _relax(self, current: _Round) -> Answer | None:
        """Tighten the relaxation while that raises the bound; return the last one that was solved."""
        end = perf_counter() + RELAXATION_SHARE * self._left()
        bounds = [0.0] * 5
        last: Answer | None = None
        while perf_counter() < end:
            answer = current.session.relax(end)
            if answer.point is None:
                break
            last = answer
            self._believe(answer.bound)
            self.round_off(current, answer.point)
            cuts = current.loops.fractional(answer.point)
            current.session.add(cuts)
            bounds.append(answer.bound)
            if not len(cuts) or bounds[-1] - bounds[-6] < RELAXATION_GAIN * bounds[-1]:
                break
        return last

    def _search_support(self, current: _Round, answer: Answer) -> None:
        """Search among the rows that the relaxation or the incumbent uses: few, and often enough.

        Relaxation enforced neighbourhood search (Berthold 2014), with this search for the smaller problem.
        """
        if self.nested or self.incumbent.chosen is None or answer.point is None:
            return
        reduced = current.reduced
        chosen = reduced.lower(self.incumbent.chosen)
        keep = current.model.of_rows(answer.point) > SUPPORT
        keep[chosen[chosen >= 0]] = True
        keep[reduced.free_row[reduced.free_row >= 0]] = True
        part = keep_rows(reduced.problem, keep)
        if part.problem.row_count > SUPPORT_SHARE * reduced.problem.row_count:
            return
        incumbent = Incumbent(part.problem)
        incumbent.consider(part.lower(chosen))
        deadline = perf_counter() + SUPPORT_TIME * self._left()
        search = IntegerSearch(part.problem, incumbent, deadline, self.seed, nested=True)
        search.run()
        assert incumbent.chosen is not None
        self.incumbent.consider(reduced.lift(part.lift(incumbent.chosen)))
        if search.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def _drop(self, current: _Round, answer: Answer) -> bool:
        """Drop the rows with which the bound is above the incumbent; return whether these are many."""
        if self.incumbent.chosen is None:
            return False
        # In its present form it may use rows that were replaced, of which the relaxation knows nothing.
        self.incumbent.restate(current.reduced.lift(current.reduced.lower(self.incumbent.chosen)))
        room = self.incumbent.cost - answer.bound
        margin = BOUND_MARGIN * (self.incumbent.cost + 1000.0 * self._unit()) + 1.0
        lost = current.model.rise(answer.rise) > room + margin
        self.dropped[current.reduced.part.rows[lost]] = True
        return int(lost.sum()) > DROP_SHARE * len(lost)

    def _branch(self, current: _Round) -> bool:
        """Solve the integer program; return whether it has to be solved again."""
        watcher = _Watcher(self, current)
        start = self._start(current) if self.warm else None
        answer = current.session.solve(start, self.deadline, watcher, self._proved)
        if answer.point is not None and not watcher.stopped:
            watcher(answer.point, answer.objective)
        if watcher.failure is not None:
            raise watcher.failure
        current.session.add(watcher.cuts)
        if watcher.misled:
            self.stuck = not self.warm
            self.warm = False
        elif answer.complete and answer.point is None and self.incumbent.chosen is None:
            raise ExtractionError(f"no solution of at most {self.problem.size_budget} bytes exists")
        else:
            self._believe(answer.bound)
        if not watcher.stopped:
            self._conclude(answer)
        return watcher.stopped and not self.stuck

    def _conclude(self, answer: Answer) -> None:
        """Judge a run that ended by itself, or at the deadline."""
        off = self.incumbent.cost - answer.bound
        if answer.complete and answer.point is not None and off <= slack(answer.bound):
            self._close(HIGHS)
        elif self._left() > 0 and not self._proved():
            self.stuck = True

    def _believe(self, bound: float) -> None:
        """Take over a bound of HiGHS on the reduced problem."""
        self._raise(safe_bound(bound, self._unit()), HIGHS)

    def _close(self, prover: str) -> None:
        """Note that nothing cheaper than the incumbent exists."""
        self._raise(int(self.incumbent.cost), prover)

    def _raise(self, bound: int, prover: str) -> None:
        """Take over a lower bound if it is a better one."""
        with self._lock:
            if bound > self.lower_bound:
                self.lower_bound, self.prover = bound, prover

    def round_off(self, current: _Round, point: FloatArray) -> None:
        """Make a solution near a point: rows that the point uses are cheap in a greedy choice."""
        cost = current.reduced.problem.cost
        unused = np.clip(1.0 - current.model.of_rows(point), 0.0, 1.0)
        # A price for every row, small or large, so that free rows too follow the point.
        for price in (1e-3, 1.0):
            dearer = cost * 16.0 + max(16.0 * price * float(cost.max()), 16.0)
            chosen = current.network.dag((dearer * unused).astype(np.int64))
            self.incumbent.consider(current.reduced.lift(chosen))


@dataclass(slots=True)
class _Watcher:
    """Turns the points that the solver finds into solutions, or into constraints against them."""

    search: IntegerSearch
    current: _Round
    cuts: Constraints = field(default_factory=Constraints)
    stopped: bool = False
    misled: bool = False
    failure: Exception | None = None

    def __call__(self, point: FloatArray, objective: float) -> bool:
        """Look at a point; return whether the solver must stop."""
        try:
            self._look(point, objective)
        except Exception as error:  # must not unwind through the solver
            self.failure, self.stopped = error, True
        return self.stopped

    def _look(self, point: FloatArray, objective: float) -> None:
        current, search = self.current, self.search
        chosen = current.model.choice(point)
        cuts = current.loops.chosen(current.loops.needed(chosen))
        if cuts is None:
            search.incumbent.consider(current.reduced.lift(chosen))
        else:
            self.cuts.extend(cuts)
            self.stopped = True
            # A loop that is already stated and still chosen: the solver ignores its own constraints.
            search.stuck = search.stuck or not len(self.cuts)
        search.round_off(current, point)
        # HiGHS at times believes a first solution to be cheaper than it is, and misses better ones.
        true = float(current.model.objective() @ point)
        if abs(true - objective) > slack(true):
            self.misled = self.stopped = True


def cost_unit(problem: Problem) -> float:
    """Return a unit of cost that keeps the objective's coefficients near one."""
    largest = int(problem.cost.max(initial=1))
    return float(2 ** max(largest.bit_length() - 10, 0))


def safe_bound(bound: float, unit: float) -> int:
    """Return a bound less what floating point may have added, as the next whole number; 0 if it is none."""
    if not np.isfinite(bound):
        return 0
    return max(ceil(bound - BOUND_MARGIN * (abs(bound) + 1000.0 * unit)), 0)


def slack(value: float) -> float:
    """Return by how much two equal totals of whole costs may differ in floating point."""
    return max(0.5, BOUND_MARGIN * abs(value))
