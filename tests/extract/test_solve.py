"""Every method returns valid solutions; the integer program returns the best one, and says so."""

import signal
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings

from tensaur.errors import ExtractionError
from tensaur.extract import presolve
from tensaur.extract.bits import BitCosts
from tensaur.extract.cuts import Loops
from tensaur.extract.greedy import Network, consider_tree
from tensaur.extract.highs import Session
from tensaur.extract.ilp import IntegerSearch
from tensaur.extract.model import Constraints
from tensaur.extract.problem import Incumbent, Problem, Stop, check
from tensaur.extract.solve import extract
from tests.extract.oracle import EXACT, METHODS, best_cost, layered, problems


@given(problems())
@settings(max_examples=80, deadline=None)
def test_greedy_is_not_below_the_optimum_and_the_program_meets_it(problem):
    best = best_cost(problem)
    for method in METHODS:
        if best is None:
            with pytest.raises(ExtractionError, match="root class"):
                extract(problem, method)
            continue
        found = extract(problem, method)
        check(problem, found)
        assert found.lower_bound <= best <= found.cost
        if method in EXACT:
            assert found.cost == best
            assert found.proved
            assert found.stop is Stop.PROVED


@given(problems(budget=True))
@settings(max_examples=80, deadline=None)
def test_budgets_are_kept(problem):
    best = best_cost(problem)
    for method in METHODS:
        try:
            found = extract(problem, method)
        except ExtractionError:
            # Greedy choices may miss a budget that can be met; the program may not.
            assert best is None or method not in EXACT
            continue
        check(problem, found)
        assert best is not None
        assert found.lower_bound <= best <= found.cost
        assert method not in EXACT or (found.cost == best and found.proved)


def shared_merge():
    """Two products of one input: 10 each, or 14 for both as one wider product."""
    children = [[], [0], [0], [0], [3], [3], [1, 2]]
    return Problem.of(children, [0, 1, 2, 3, 1, 2, 4], [0, 10, 10, 14, 0, 0, 0], root=4)


@pytest.mark.parametrize(("method", "cost"), [("tree", 20), ("dag", 14), ("ilp", 14)])
def test_merged_operators(method, cost):
    assert extract(shared_merge(), method).cost == cost


def test_a_shared_part_costs_once():
    # The tree counts class 1 twice and so prefers class 2.
    problem = Problem.of(
        [[], [0], [0], [1], [1], [3, 4], [2]],
        [0, 1, 2, 3, 4, 5, 5],
        [0, 10, 17, 1, 1, 0, 0],
        root=5,
    )
    assert extract(problem, "tree").cost == 17
    assert extract(problem, "dag").cost == 12


@pytest.mark.parametrize("method", METHODS)
def test_the_budget_moves_the_choice(method):
    children = [[], [], [0], [1]]
    arguments = {"node_class": [0, 1, 2, 2], "cost": [5, 0, 0, 0], "size": [0, 9, 0, 0], "root": 2}
    free = extract(Problem.of(children, **arguments), method)
    tight = extract(Problem.of(children, **arguments, size_budget=8), method)
    assert (free.cost, free.size) == (0, 9)
    assert (tight.cost, tight.size) == (5, 0)


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_that_cannot_be_met_is_said(method):
    problem = Problem.of([[]], [0], [1], [10], root=0, size_budget=9)
    with pytest.raises(ExtractionError, match="at most 9 bytes"):
        extract(problem, method)


def test_unknown_methods_are_refused():
    with pytest.raises(ExtractionError, match="'best' is not one of ilp, dag, tree"):
        extract(shared_merge(), "best")


def test_zero_costs_everywhere_still_give_an_acyclic_choice():
    problem = Problem.of([[1], [0], [2], []], [0, 1, 1, 2], [0, 0, 0, 0], root=0)
    for method in METHODS:
        assert extract(problem, method).chosen.tolist() == [0, 2, 3]


@pytest.mark.parametrize("scale", [1, 1_000, 1_000_003, 10**9 + 7])
def test_large_costs_stay_exact(scale):
    problem = layered(3, 3, seed=3)
    small = extract(problem, "ilp")
    scaled = Problem(
        problem.node_class,
        problem.child_start,
        problem.child,
        problem.cost * scale + (problem.cost > 70),
        problem.size,
        problem.root,
        problem.class_count,
    )
    large = extract(scaled, "ilp")
    assert small.proved
    assert large.proved
    dear = int((problem.cost[small.rows] > 70).sum())
    assert small.cost * scale <= large.cost <= small.cost * scale + dear


def test_the_program_is_never_worse_than_greedy_and_proves_networks():
    problem = layered(4, 4, seed=1)
    costs = [extract(problem, method) for method in ("tree", "dag", "ilp")]
    assert costs[0].cost >= costs[1].cost >= costs[2].cost
    assert costs[2].proved
    assert costs[2].cost < costs[0].cost


def test_the_seed_changes_no_optimum():
    problem = layered(3, 3, seed=2)
    assert {extract(problem, "ilp", seed=seed).cost for seed in (0, 1, 2**40)} == {
        extract(problem, "ilp").cost
    }


@pytest.mark.parametrize("seconds", [0.0, 1e-3])
def test_a_time_limit_keeps_the_incumbent(seconds):
    problem = layered(30, 10, seed=4)
    found = extract(problem, "ilp", seconds=seconds)
    check(problem, found)
    assert found.stop is Stop.TIME_LIMIT
    assert not found.proved
    assert found.lower_bound > 0


class _Interrupting(IntegerSearch):
    """Raises as Ctrl-C does, at the start of a round."""

    def _round(self):
        raise KeyboardInterrupt


def test_an_interrupted_search_keeps_the_incumbent():
    part = layered(6, 6, seed=5)
    incumbent = Incumbent(part)
    consider_tree(incumbent, Network(part))
    before = incumbent.cost
    search = _Interrupting(part, incumbent, deadline=inf)
    assert search.run() is Stop.INTERRUPTED
    assert incumbent.cost == before


def test_ctrl_c_inside_the_solver_keeps_the_incumbent(monkeypatch):
    on_check = Session._on_check

    def press_once(self, event):
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        on_check(self, event)

    pressed = []
    monkeypatch.setattr(Session, "_on_check", press_once)
    problem = layered(40, 16, seed=6)
    found = extract(problem, "ilp", seconds=300)
    check(problem, found)
    assert pressed
    assert found.stop is Stop.INTERRUPTED


@given(problems(budget=True))
@settings(max_examples=80, deadline=None)
def test_loops_found_in_whole_points_suffice(problem):
    # Without help from the relaxation and from stated pairs, every loop is met in branch and bound.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IntegerSearch, "_relax", lambda self, current: None)
        patch.setattr(Loops, "pairs", lambda self: Constraints())
        best = best_cost(problem)
        if best is None:
            with pytest.raises(ExtractionError):
                extract(problem)
        else:
            found = extract(problem)
            assert (found.cost, found.proved) == (best, True)


@pytest.mark.parametrize("seed", range(4))
def test_loops_found_in_fractional_points_do_not_cut_off_the_optimum(seed):
    problem = layered(3, 4, seed=seed)
    plain = extract(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IntegerSearch, "_relax", lambda self, current: None)
        assert extract(problem).cost == plain.cost


def test_a_failing_solver_keeps_the_incumbent(monkeypatch):
    def refuse(self, model):
        raise ExtractionError("highs: a model was refused")

    monkeypatch.setattr(Session, "_load", refuse)
    found = extract(layered(4, 5, seed=7))
    assert found.stop is Stop.SOLVER
    assert not found.proved


def test_a_problem_too_large_for_the_program_is_solved_greedily(monkeypatch):
    monkeypatch.setattr(presolve, "SET_BYTES", 100)
    problem = layered(3, 4, seed=0)
    found = extract(problem)
    assert found.stop is Stop.SOLVER
    assert found.cost == extract(problem, "dag").cost


def test_a_misled_solver_is_not_believed(monkeypatch):
    solve = Session.solve

    def lie(self, start, deadline, watch, is_over):
        return solve(
            self,
            start,
            deadline,
            lambda point, cost: watch(point, cost - 10.0 * (start is not None)),
            is_over,
        )

    problem = layered(3, 4, seed=8)
    honest = extract(problem)
    monkeypatch.setattr(Session, "solve", lie)
    assert extract(problem).cost == honest.cost


def test_the_solver_writes_nothing(capfd):
    assert extract(layered(3, 4, seed=9)).proved
    assert capfd.readouterr() == ("", "")


def test_bit_sets():
    costs = BitCosts()
    for number in range(1000):
        costs.append(number)
    picked = {0, 7, 8, 63, 64, 511, 512, 999}
    bits = sum(1 << number for number in picked)
    assert costs.sum(bits) == sum(picked)
    assert costs.sum(0) == 0


def test_bound_of_the_dearest_path():
    problem = Problem.of([[], [0], [0], [1, 2]], [0, 1, 2, 3], [1, 10, 20, 5], root=3)
    assert Network(problem).path_bound() == 26
    assert np.array_equal(Network(problem).tree(problem.cost), [0, 1, 2, 3])
