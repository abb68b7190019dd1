"""Prices that get better as they are measured, on a pricer and a clock of the test's own."""

from dataclasses import dataclass, field
from math import inf

import pytest

from tensaur.extract.refine import OPTIMISM, Refinement
from tensaur.extract.solve import extract
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ops import abs_, exp, neg, relu, sin, tanh
from tests.extract.oracle import METHODS
from tests.extract.spaces import explored

x = Var("x")
CHAIN = "input x: f32[4]\na = Relu(x)\nb = Neg(a)\ny = Exp(b)\noutput y\n"
OTHERS = (
    Rule("relu-as-tanh", relu(x), tanh(x), (), ROUNDING),
    Rule("neg-as-two", neg(x), exp(exp(x)), (), ROUNDING),
)


@dataclass
class World:
    """A pricer by operator name, and the clock that measuring moves."""

    true: dict[str, int]
    guess: dict[str, int]
    stored: dict[str, int] = field(default_factory=dict)
    refusing: frozenset[str] = frozenset()
    unruly: str = ""
    now: float = 0.0
    measured: list[str] = field(default_factory=list)

    def clock(self):
        return self.now

    def name(self, query):
        return "+".join(type(node.op).__name__ for node in query.nodes if node.inputs)

    def estimate(self, query):
        return self.guess.get(self.name(query), 10)

    def known(self, query):
        return self.stored.get(self.name(query))

    def measure(self, query):
        if self.unruly == self.name(query):
            raise KeyboardInterrupt
        self.now += 1.0
        self.measured.append(self.name(query))
        return self.true[self.name(query)]

    def refuses(self, query):
        return self.name(query) in self.refusing and (
            self.name(query) in self.measured or self.name(query) in self.stored
        )


def refine(world, *rules, deadline=inf, text=CHAIN, **arguments):
    found = explored(text, *rules)
    refinement = Refinement(found.space, world, world.clock, deadline)
    finals = []

    def solve(problem, final):
        finals.append(final)
        return extract(problem, "ilp" if final else "dag")

    refined = refinement.run(solve, None, **arguments)
    assert finals[-1]
    assert not any(finals[:1]), "the first choice is a quick one"
    names = sorted(found.ops(option) for option in refined.picked.values() if option.query >= 0)
    return names, refined, refinement


TRUE = {"Relu": 50, "Neg": 50, "Exp": 20, "Tanh": 30}


def test_the_cheapest_graph_is_measured_through():
    world = World(TRUE, {})
    names, refined, _ = refine(world, *OTHERS)
    assert names == ["Exp", "Exp", "Exp", "Tanh"]
    assert (refined.cost, refined.measured, refined.estimated) == (90, 2, 0)
    assert refined.bound == refined.cost
    assert len(world.measured) == len(set(world.measured)), "nothing is measured twice"


def test_what_turns_out_dear_is_dropped():
    world = World({**TRUE, "Tanh": 1000}, {})
    names, refined, _ = refine(world, *OTHERS)
    assert "Relu" in names
    assert "Tanh" in world.measured, "it looked as cheap as the rest"
    assert refined.cost == 50 + 20 * 3


def test_hopeless_estimates_are_never_measured():
    world = World({**TRUE, "Relu": 10}, {"Tanh": 10_000})
    names, _, _ = refine(world, OTHERS[0])
    assert "Relu" in names
    assert "Tanh" not in world.measured


def test_known_prices_are_not_measured_again():
    world = World(TRUE, {}, stored=dict(TRUE))
    _, refined, _ = refine(world, *OTHERS)
    assert world.measured == []
    assert (refined.cost, refined.estimated) == (90, 0)


@pytest.mark.parametrize("deadline", [0.0, 1.0, 2.0])
def test_measuring_stops_at_the_deadline(deadline):
    world = World(TRUE, {})
    _, refined, _ = refine(world, *OTHERS, deadline=deadline)
    assert len(world.measured) == int(deadline)
    assert refined.measured + refined.estimated == len(
        {option.query for option in refined.picked.values()} - {-1}
    )
    assert refined.estimated > 0 or deadline == 2.0


def test_the_dearest_is_measured_first():
    world = World(TRUE, {"Relu": 5, "Neg": 70, "Exp": 30})
    refine(world, deadline=1.0)
    assert world.measured == ["Neg"]


def test_ctrl_c_ends_the_measuring():
    world = World(TRUE, {"Exp": 90, "Neg": 80, "Relu": 70}, unruly="Neg")
    names, refined, refinement = refine(world)
    assert world.measured == ["Exp"]
    assert names == ["Exp", "Neg", "Relu"]
    assert (refined.measured, refined.estimated) == (1, 2)
    assert refinement.deadline == -inf, "later runs do not measure either"


def test_refused_operators_are_not_chosen():
    world = World({**TRUE, "Tanh": 1}, {}, refusing=frozenset({"Tanh", "Exp"}))
    names, refined, _ = refine(world, OTHERS[0])
    assert names == ["Exp", "Neg", "Relu"], "the original's Exp stays: it has no alternative"
    assert refined.cost == 120


def test_the_original_alone():
    world = World(TRUE, {})
    names, refined, refinement = refine(world, *OTHERS, loaded_only=True)
    assert names == ["Exp", "Neg", "Relu"]
    assert refined.cost == 120
    after = refinement.run(lambda problem, final: extract(problem), None)
    assert after.cost == 90


@pytest.mark.parametrize("method", METHODS)
def test_the_original_is_the_worst_that_is_returned(method):
    # Seen as trees, each output is cheaper by itself; but both outputs share the exponential.
    text = "input x: f32[4]\na = Exp(x)\ny = Neg(a)\nz = Abs(a)\noutput y\noutput z\n"
    rules = (
        Rule("first", neg(exp(x)), tanh(x), (), ROUNDING),
        Rule("second", abs_(exp(x)), sin(x), (), ROUNDING),
    )
    world = World({"Exp": 100, "Neg": 10, "Abs": 10, "Tanh": 80, "Sin": 80}, {})
    found = explored(text, *rules)
    refinement = Refinement(found.space, world, world.clock, inf)
    refined = refinement.run(lambda problem, final: extract(problem, method), None)
    assert refined.cost == 120


def test_estimates_follow_what_their_kind_measured():
    text = "input x: f32[4]\ninput z: f32[8]\na = Relu(x)\nb = Relu(z)\noutput a\noutput b\n"
    world = World({"Relu": 41}, {"Relu": 20})
    _, _, refinement = refine(world, text=text, deadline=1.0)
    assert sorted(refinement.prices.tolist()) == pytest.approx([20 * 2 * OPTIMISM, 41])


def test_estimates_are_scaled_up_tenfold_at_most():
    text = "input x: f32[4]\ninput z: f32[8]\na = Relu(x)\nb = Relu(z)\noutput a\noutput b\n"
    world = World({"Relu": 10**6}, {"Relu": 20})
    _, _, refinement = refine(world, text=text, deadline=1.0)
    assert min(refinement.prices) == pytest.approx(20 * 10 * OPTIMISM)


def test_the_bias_is_not_part_of_the_cost():
    world = World(TRUE, {})
    _, refined, _ = refine(world, *OTHERS, bias=0.1)
    assert refined.cost == 90
    assert refined.solution.cost > 90
