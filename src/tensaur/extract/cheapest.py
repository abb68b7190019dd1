"""From an explored e-graph to one graph, in one call: for using the engine without the pipeline."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tensaur.cost.model import Pricer
from tensaur.cost.query import Fuses, never
from tensaur.egraph.egraph import EGraph
from tensaur.extract.lower import lower
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.refine import Refinement
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Cheapest:
    """An extracted graph, its cost, and the cost that no graph in the e-graph is below.

    Both are in the prices' unit, and equal if the graph is proved optimal under these prices.
    """

    graph: Graph
    cost: float
    bound: float


def cheapest(
    egraph: EGraph,
    root: int,
    source: Graph,
    pricer: Pricer,
    *,
    method: str = "ilp",
    seconds: float = 10.0,
    seed: int = 0,
    budget: int | None = None,
    fuses: Fuses = never,
) -> Cheapest:
    """Return the cheapest graph for the class `root` that `egraph.load(source)` returned.

    `method` is one of `tensaur.extract.solve.METHODS`, `budget` bounds the bytes of constants, and
    `fuses` tells what is computed, and so priced, together (`tensaur.cost.fusion` for ONNX Runtime).
    ExtractionError if no graph within the budget was found.
    """

    def solve(problem: Problem, final: bool) -> Solution:
        return extract(problem, method, seconds=seconds, seed=seed)

    space = Space(egraph, root, source.constants, fuses)
    deadline = time.perf_counter() + seconds
    refined = Refinement(space, pricer, time.perf_counter, deadline).run(solve, budget)
    return Cheapest(lower(space, refined.picked, source), refined.cost, refined.bound)
