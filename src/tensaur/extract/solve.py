"""One entry to extraction: a problem in, a checked solution out, whichever method is asked for."""

from __future__ import annotations

from time import perf_counter

from tensaur.errors import ExtractionError
from tensaur.extract.cpsat import is_installed
from tensaur.extract.descent import Descent
from tensaur.extract.greedy import Network, consider_dags, consider_tree
from tensaur.extract.ilp import CPSAT, HIGHS, SOLVERS, IntegerSearch
from tensaur.extract.problem import Incumbent, Problem, Solution, Stop, check, closure, totals
from tensaur.extract.structure import Part, simplify
from tensaur.extract.tensat import Order, solve

ORDERS = {"ilp-real": Order.REAL, "ilp-integer": Order.INTEGER, "ilp-acyclic": Order.NONE}
"""TenSat's programs, by method."""

ALONE = {"ilp-highs": frozenset((HIGHS,)), "ilp-cpsat": frozenset((CPSAT,))}
"""One of the two solvers of "ilp", by method."""

METHODS = ("ilp", "dag", "tree", *ALONE, *ORDERS)
"""The methods of `extract`: the best, the two that are fast, and those that are there to compare with."""


def extract(
    problem: Problem, method: str = "ilp", seconds: float = 60.0, seed: int = 0
) -> Solution:
    """Choose rows for the root: "tree" and "dag" greedily, "ilp" with a proof if the time allows.

    "ilp" has two solvers side by side, HiGHS and CP-SAT (if installed), which "ilp-highs" and "ilp-cpsat"
    have alone.

    "ilp-real", "ilp-integer" and "ilp-acyclic" are TenSat's programs; where they find nothing, or rows that
    form a cycle, the cheapest tree is returned.

    At the time limit, or on Ctrl-C once a first solution is known, the best solution so far is returned.
    ExtractionError if the root cannot be computed, or no solution within the size budget was found.
    """
    check_method(method)
    start = perf_counter()
    part = simplify(problem)
    solvers = ALONE.get(method, SOLVERS)
    search = IntegerSearch(
        part.problem, Incumbent(part.problem), start + seconds, seed, solvers=solvers
    )
    if problem.known is not None:
        search.incumbent.consider(closure(part.problem, part.lower(problem.known)))
    stop = _run(method, search)
    if search.incumbent.chosen is None:
        raise ExtractionError(
            f"{method}: no solution of at most {problem.size_budget} bytes was found"
        )
    solution = _solution(problem, part, search, method, stop, perf_counter() - start)
    check(problem, solution)
    return solution


def check_method(method: str) -> None:
    """Raise ExtractionError unless a method exists and what it needs is installed."""
    if method not in METHODS:
        raise ExtractionError(f"method: {method!r} is not one of {', '.join(METHODS)}")
    if ALONE.get(method) == frozenset((CPSAT,)) and not is_installed():
        raise ExtractionError(f"method: {method} needs OR-tools; `tensaur[cpsat]` has it")


def _run(method: str, search: IntegerSearch) -> Stop:
    network = Network(search.problem)
    consider_tree(search.incumbent, network)
    if method in ORDERS:
        found = solve(
            search.problem, ORDERS[method], search.incumbent, search.deadline, search.seed
        )
        search.lower_bound, search.prover = found.bound, HIGHS
        return found.stop
    try:
        search.lower_bound = network.path_bound()
        if method != "tree":
            _descend(search, network)
            consider_dags(search.incumbent, network, search.deadline)
            _descend(search, network)
    except KeyboardInterrupt:
        return Stop.INTERRUPTED
    if method == "ilp" or method in ALONE:
        return search.run()
    return Stop.HEURISTIC


def _descend(search: IntegerSearch, network: Network) -> None:
    incumbent = search.incumbent
    if incumbent.chosen is not None:
        incumbent.consider(Descent(network, incumbent.chosen, search.deadline).run())


def _solution(
    problem: Problem, part: Part, search: IntegerSearch, solver: str, stop: Stop, seconds: float
) -> Solution:
    incumbent = search.incumbent
    assert incumbent.chosen is not None
    chosen = part.lift(incumbent.chosen)
    total = totals(problem, chosen)
    bound = min(search.lower_bound, total.cost)
    stop = Stop.PROVED if bound == total.cost else stop
    prover = search.prover
    return Solution(chosen, total.cost, total.size, bound, solver, stop, seconds, prover)
