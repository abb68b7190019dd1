"""Every exact method meets brute force on cyclic problems that presolve does not solve, before and after it."""

from math import inf

import numpy as np
import pytest

from tensaur.errors import ExtractionError
from tensaur.extract import solve
from tensaur.extract.cpsat import is_installed
from tensaur.extract.duality import proof
from tensaur.extract.greedy import Network
from tensaur.extract.highs import Session
from tensaur.extract.ilp import IntegerSearch
from tensaur.extract.model import Constraints, Model, Program
from tensaur.extract.presolve import Presolve
from tensaur.extract.problem import Incumbent, Problem, Stop, check, totals
from tensaur.extract.solve import extract
from tensaur.extract.structure import components, simplify
from tests.extract.oracle import EXACT, best_cost, layered

needs_cpsat = pytest.mark.skipif(not is_installed(), reason="OR-tools is not installed")


def reduced(problem, upper_bound=None):
    limit = int(problem.cost.sum()) if upper_bound is None else upper_bound
    return Presolve(problem, limit, inf).run()


def survivors():
    """Cyclic problems small enough to try every choice, of which presolve leaves a program."""
    found = []
    for seed in range(16):
        problem = simplify(layered(2, 3, seed=seed)).problem
        left = reduced(problem, int(totals(problem, Network(problem).dag(problem.cost)).cost))
        sizes = np.bincount(components(left.problem))
        if Model(left).column_count and sizes.max() > 1:
            found.append(problem)
    return found


SURVIVORS = survivors()


def test_some_survive():
    assert len(SURVIVORS) >= 6


@pytest.fixture(scope="module")
def optimum():
    return [best_cost(problem) for problem in SURVIVORS]


@pytest.mark.parametrize("method", EXACT)
def test_exact_methods_meet_brute_force(method, optimum):
    for problem, best in zip(SURVIVORS, optimum, strict=True):
        found = extract(problem, method)
        check(problem, found)
        assert (found.cost, found.lower_bound, found.stop) == (best, best, Stop.PROVED)
        after = reduced(problem, best)
        again = extract(after.problem, method)
        assert again.cost == best
        assert totals(problem, after.lift(again.chosen)).cost == best


def test_no_rule_of_a_part_loses_the_optimum(optimum, monkeypatch):
    # Small problems are solved before these parts come into play, so they are made to be.
    monkeypatch.setattr("tensaur.extract.ilp.DROP_SHARE", 0.0)
    monkeypatch.setattr("tensaur.extract.ilp.SUPPORT_SHARE", 1.0)
    monkeypatch.setattr("tensaur.extract.solve.consider_dags", lambda *_: None)
    monkeypatch.setattr("tensaur.extract.solve._descend", lambda *_: None)
    dropped = []
    drop = IntegerSearch._drop

    def counted(self, current, answer):
        many = drop(self, current, answer)
        dropped.append(int(self.dropped.sum()))
        return many

    monkeypatch.setattr(IntegerSearch, "_drop", counted)
    for problem, best in zip(SURVIVORS, optimum, strict=True):
        found = extract(problem, "ilp-highs")
        assert (found.cost, found.proved) == (best, True)
    assert sum(dropped) > 0


def test_relaxations_bound_every_solution(optimum):
    for problem, best in zip(SURVIVORS, optimum, strict=True):
        left = reduced(problem)
        model = Model(left)
        answer = Session(model.program(), 1.0).relax(inf)
        assert answer.bound <= best
        rise = model.rise(answer.rise)
        # A row whose rise is above what is left of the best cost is in no best solution.
        chosen = extract(left.problem).chosen
        assert (rise[chosen[chosen >= 0]] <= best - answer.bound + 1e-6 * best).all()


def test_multipliers_of_the_wrong_sign_prove_nothing_wrong():
    constraints = Constraints()
    constraints.add(1.0, [0, 1], [], np.inf)
    constraints.add(-np.inf, [0], [1], 0.0)
    program = Program(np.array([3.0, 1.0]), np.zeros(2), np.ones(2), np.arange(2), constraints)
    # The optimum is 1: column 1 alone.
    rng = np.random.default_rng(0)
    for multiplier in rng.normal(scale=5.0, size=(200, 2)):
        assert proof(program, 1.0, multiplier).bound <= 1.0 + 1e-12
    best = proof(program, 1.0, np.array([1.0, 0.0]))
    assert best.bound == 1.0
    assert best.rise.tolist() == [2.0, 0.0]


@needs_cpsat
def test_solvers_race(monkeypatch, optimum):
    # HiGHS is told to stop by what the other one proves, and the other way round.
    monkeypatch.setattr(IntegerSearch, "_relax", lambda self, current: None)
    monkeypatch.setattr("tensaur.extract.ilp.RIVAL_DELAY", 0.0)
    for problem, best in zip(SURVIVORS, optimum, strict=True):
        found = extract(problem)
        assert (found.cost, found.proved) == (best, True)
        assert found.prover in ("highs", "cp-sat", "presolve")


def test_a_solver_that_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(solve, "is_installed", lambda: False)
    with pytest.raises(
        ExtractionError, match=r"ilp-cpsat needs OR-tools; `tensaur\[cpsat\]` has it"
    ):
        extract(SURVIVORS[0], "ilp-cpsat")


def test_programs_without_order_say_when_they_are_cyclic():
    # Two classes that are cheapest computed from each other.
    problem = Problem.of([[1], [0], [], [], [0, 1]], [0, 1, 0, 1, 2], [1, 1, 9, 9, 0], root=2)
    found = extract(problem, "ilp-acyclic")
    assert found.stop is Stop.CYCLIC
    assert found.lower_bound == 2
    assert found.cost == 18  # the cheapest tree
    assert extract(problem, "ilp-real").cost == 10


def test_incumbents_are_restated_only_if_no_dearer():
    problem = Problem.of([[], []], [0, 0], [3, 5], root=0)
    incumbent = Incumbent(problem)
    assert incumbent.consider(np.array([0]))
    with pytest.raises(AssertionError):
        incumbent.restate(np.array([1]))
