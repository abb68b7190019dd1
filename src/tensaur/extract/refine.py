"""Extraction under prices that are partly estimates: measure what the best graph wants to use, repeat.

Measuring every operator signature of a large e-graph would take far longer than running the model ever
does. Instead the cheapest graph under optimistic estimates is extracted, the signatures it uses are
measured, and this repeats until the cheapest graph uses measured prices alone or the time is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tensaur.cost.model import Pricer
from tensaur.errors import ExtractionError
from tensaur.extract.option import Option
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.solve import extract
from tensaur.extract.space import Space, used_queries

# An estimate is scaled to this share of what measured operators of its kind suggest, so that a form is
# tried before it is given up, yet not every form is.
OPTIMISM = 0.75


Solve = Callable[[Problem, bool], Solution]


@dataclass(frozen=True, slots=True)
class Refined:
    """A chosen graph, what it was chosen from, and under which prices.

    `cost` is the sum of its prices, and `bound` what no graph is below, as far as the solution tells.
    The solution's own costs are not in the prices' unit.
    """

    cost: float
    bound: float
    problem: Problem
    solution: Solution
    picked: dict[int, Option]
    measured: int
    estimated: int


@dataclass
class Refinement:
    """The prices of one space as they get better; `clock` and `deadline` are in seconds."""

    space: Space
    pricer: Pricer
    clock: Callable[[], float]
    deadline: float
    prices: np.ndarray = field(init=False)
    exact: np.ndarray = field(init=False)
    refused: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        queries = self.space.queries
        self._estimates = np.array([self.pricer.estimate(query) for query in queries], dtype=float)
        self.prices = self._estimates.copy()
        self.exact = np.zeros(len(queries), dtype=bool)
        self.refused = np.array([self.pricer.refuses(query) for query in queries], dtype=bool)
        for number, query in enumerate(queries):
            price = self.pricer.known(query)
            if price is not None:
                self.prices[number], self.exact[number] = price, True
        self._rescale()

    def run(
        self, solve: Solve, budget: int | None, *, loaded_only: bool = False, bias: float = 0.0
    ) -> Refined:
        """Extract and measure in turns; `solve(problem, final)` may be quick while `final` is False.

        What the original graph comes to, some of it folded perhaps, is the worst that is returned.
        Once the time for measuring is over, new forms without a measured price are left out: their
        estimates are low on purpose, and would draw the extraction to whatever was not measured.
        """
        final = False
        while True:
            over = self.clock() >= self.deadline
            avoided = self.refused | ~self.exact if over else self.refused
            problem = self.space.problem(
                self.prices, avoided, budget, loaded_only=loaded_only, bias=bias
            )
            if not loaded_only:
                problem = self._knowing_original(problem, budget)
            solution = solve(problem, final)
            picked = self.space.picked(problem, solution)
            used = used_queries(picked.values())
            missing = [number for number in used if not self.exact[number]]
            if missing and not over:
                self._measure(missing)
                continue
            if final:
                return self._refined(problem, solution, picked, len(missing))
            final = True

    @property
    def interrupted(self) -> bool:
        """Tell whether Ctrl-C has ended the measuring."""
        return self.deadline == -math.inf

    def _knowing_original(self, problem: Problem, budget: int | None) -> Problem:
        part = self.space.problem(self.prices, self.refused, budget, loaded_only=True)
        try:
            return self.space.knowing(problem, part, extract(part, "dag"))
        except ExtractionError:  # with constants folded greedily, the original may miss the budget
            return problem

    def _refined(
        self, problem: Problem, solution: Solution, picked: dict[int, Option], estimated: int
    ) -> Refined:
        cost = self.space.price(picked, self.prices)
        bound = min(cost, solution.lower_bound // self.space.scale(self.prices))
        return Refined(
            cost,
            cost if solution.proved else bound,
            problem,
            solution,
            picked,
            len(used_queries(picked.values())) - estimated,
            estimated,
        )

    def _measure(self, missing: list[int]) -> None:
        try:
            for number in sorted(missing, key=lambda number: -self.prices[number]):
                if self.clock() >= self.deadline:
                    break
                self.prices[number] = self.pricer.measure(self.space.queries[number])
                self.exact[number] = True
                self.refused[number] = self.pricer.refuses(self.space.queries[number])
        except KeyboardInterrupt:  # measuring is over, what is measured counts
            self.deadline = -math.inf
        self._rescale()

    def _rescale(self) -> None:
        """Scale the estimates of each kind of group by what measuring that kind showed."""
        kinds = [tuple(type(op) for op in item.ops) for item in self.space.signatures]
        ratios: dict[object, list[float]] = {}
        for number in np.flatnonzero(self.exact).tolist():
            ratio = (self.prices[number] + 1.0) / (self._estimates[number] + 1.0)
            ratios.setdefault(kinds[number], []).append(ratio)
        for number in np.flatnonzero(~self.exact).tolist():
            known = ratios.get(kinds[number])
            scale = float(np.median(known)) if known else 1.0
            self.prices[number] = self._estimates[number] * min(scale, 10.0) * OPTIMISM
