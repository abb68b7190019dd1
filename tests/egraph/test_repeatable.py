"""The same result for a seed, whatever the load of the machine: exploring under clocks that jump."""

import dataclasses
import random

import pytest

from tensaur.egraph.budget import Limits, StopReason
from tensaur.egraph.explore import Explorer
from tensaur.extract.solve import extract
from tests.egraph.networks import Explored, network
from tests.egraph.test_exploring import SHARE, X, load, tree
from tests.egraph.toy import MatMul, weight

SECONDS = 1000.0


class Clock:
    """A clock that goes on by what it is told to at every look."""

    def __init__(self, steps):
        self.now = 0.0
        self._steps = steps

    def __call__(self):
        self.now += next(self._steps)
        return self.now


def still():
    while True:
        yield 0.0


def steady(step):
    while True:
        yield step


def jumping(seed, step):
    """Stand still mostly, as on a fast machine, and then jump, as when another process has its turn."""
    rng = random.Random(seed)
    while True:
        yield step * rng.expovariate(1.0) if rng.random() < 0.1 else step * 1e-4


def outcome(egraph, exploration):
    """Return all that an exploration came to, but for the seconds."""
    records = [
        (record.number, record.rules, record.nodes, record.classes, record.banned)
        for record in exploration.records
    ]
    rows = egraph.rows()
    columns = [getattr(rows, item.name).tolist() for item in dataclasses.fields(rows)]
    return exploration.stop, records, columns


@pytest.mark.parametrize(
    ("name", "rules", "method"),
    [
        ("nasrnn", "library", "dag"),
        ("nasrnn", "tensat", "dag"),
        ("bert-encoder", "library", "dag"),
        ("squeezenet", "tensat", "ilp"),
    ],
)
def test_networks_end_the_same_under_every_clock(name, rules, method):
    found = []
    for steps in (still(), steady(0.01), jumping(0, 0.5)):
        clock = Clock(steps)
        explored = Explored(network(name), Limits(nodes=1000, seconds=SECONDS, iterations=3))
        exploration = explored.explore(rules, "efficient", clock)
        assert clock.now < SECONDS / 4, "the clock comes near the limit"
        assert exploration.stop is not StopReason.TIME_LIMIT
        _, problem = explored.problem()
        solution = extract(problem, method, seconds=1e6, seed=7)
        chosen = (solution.cost, solution.lower_bound, solution.chosen.tolist())
        found.append((outcome(explored.egraph, exploration), chosen))
    assert all(item == found[0] for item in found)


def test_a_join_is_cut_off_at_the_same_place_under_every_clock():
    """More matches than there is time for by far: what is found must not hang on microseconds.

    Nor on those that went by before, of which the limit is what they left.
    """
    found = []
    for seconds, steps in (
        (0.05, still()),
        (0.049, still()),
        (0.05, steady(1e-7)),
        (0.05, steady(1e-5)),
        (0.05, jumping(0, 1e-3)),
    ):
        egraph, *_ = load(*(tree(MatMul(), X, tree(weight(f"w{i}", 4, 4))) for i in range(200)))
        limits = Limits(nodes=10**6, seconds=seconds, iterations=2, multi=2)
        clock = Clock(steps)
        exploration = Explorer(egraph, (SHARE,), limits, clock=clock).run()
        assert clock.now < limits.seconds / 4
        assert exploration.records[0].rules[0].matches < 200 * 199
        found.append(outcome(egraph, exploration))
    assert all(item == found[0] for item in found)
