"""Several cheap graphs that differ clearly, for trying which of them runs fastest.

Prices are estimates, so the cheapest graph need not be the fastest one, and graphs that are the same but
for a trifle are no second chance. Each next graph is the cheapest that has at most a part of its cost in
common with those before: one more row of the program, like the size budget's, whose place it takes.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import numpy as np

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Problem, Solution, fits, totals
from tensaur.extract.solve import extract


def cheapest_several(
    problem: Problem,
    count: int,
    share: float = 0.05,
    method: str = "ilp",
    seconds: float = 60.0,
    seed: int = 0,
) -> list[Solution]:
    """Return up to `count` solutions, cheapest first, each within an equal part of the time left.

    What the rows that a solution has in common with any before cost is at most 1 - `share` of what the
    first one costs. A solution's bound holds for those that differ so much. There are fewer where no more
    exist or are found in time; the list ends too where the next one is above the size budget.
    """
    if not 0.0 < share <= 1.0:
        raise ExtractionError(f"share: {share} is not above 0 and at most 1")
    deadline = perf_counter() + seconds
    found: list[Solution] = []
    used = np.zeros(problem.row_count, dtype=bool)
    limited = problem
    while len(found) < count:
        part = max(deadline - perf_counter(), 0.0) / (count - len(found))
        try:
            solution = extract(limited, method, seconds=part, seed=seed)
        except ExtractionError:
            if not found:
                raise
            break
        if not fits(problem, solution.chosen):
            break
        found.append(replace(solution, size=totals(problem, solution.chosen).size))
        used[solution.rows] = True
        limited = replace(
            problem,
            size=np.where(used, problem.cost, 0),
            size_budget=int((1.0 - share) * found[0].cost),
            known=None,
        )
    return found
