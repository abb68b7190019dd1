"""What is chosen changes when running it shows other times; a stopwatch and a runtime made up decide."""

from types import SimpleNamespace

import numpy as np
import pytest
from onnx import helper

from tensaur import choosing, onnx_io, pipeline
from tensaur.cost.analytic import Machine
from tensaur.cost.fusion import Fused
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.pricer import Part, WeightedSum
from tensaur.cost.single import Timed
from tensaur.cost.store import Context, Store
from tensaur.errors import RuntimeFailure
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ops import Tanh, add, relu, tanh
from tensaur.options import Options
from tensaur.run import Run
from tensaur.runtime.protocol import Kernel
from tests.runtime.models import FLOAT, model, value

x, y = Var("x"), Var("y")
MACHINE = Machine(1e12, 1e11, 1e11, 1e-7)
# Wrong, and so easy to tell what was chosen: choosing does not judge rules.
RULES = (Rule("to-tanh", relu(add(x, y)), tanh(add(x, y)), (), ROUNDING),)


class Stopwatch:
    """Takes Tanh for the quickest."""

    def measure(self, graph):
        kinds = {type(node.op) for node in graph.nodes}
        return Timed(1e-6 if Tanh in kinds else 4e-6, 0.0)


class Profiles:
    """A runtime in which some operators take other times than alone."""

    def __init__(self, seconds, fault=None):
        self.seconds, self.fault, self.profiled = seconds, fault, []

    def profile(self, given, feeds, settings, seconds):
        self.profiled.append(given.model)
        if self.fault:
            raise self.fault
        nodes = given.model.graph.node
        return tuple(
            Kernel(node.op_type, (node.output[0],), self.seconds[node.op_type]) for node in nodes
        )


def source():
    """Return relu(x + w)."""
    nodes = [helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    weights = {"w": np.ones((64, 64), np.float32)}
    inputs, outputs = [value("x", FLOAT, [64, 64])], [value("y", FLOAT, [64, 64])]
    return onnx_io.read(model(nodes, inputs, outputs, weights))


@pytest.fixture
def chosen(monkeypatch):
    def choose(profiles, feeds=True):
        here = Context(1, "runtime 1.0", "processor")
        measured = MeasuredCost(Store(None), Stopwatch(), here, MACHINE)
        monkeypatch.setattr(
            choosing, "pricer_for", lambda *args, **more: WeightedSum((Part(1, measured),))
        )
        monkeypatch.setattr(choosing, "ask", lambda *args: Fused())
        monkeypatch.setattr(choosing, "RUNTIME", profiles)
        monkeypatch.setattr(pipeline, "ALL_RULES", RULES)
        run = Run(Options(), lambda message: None)
        original = source()
        egraph, root, _ = pipeline.explore(original, run.options, run)
        found = choosing.choose(egraph, root, original, {}, run, {} if feeds else None)
        return SimpleNamespace(
            run=run, profiled=profiles.profiled, before=found.before, candidates=found.candidates
        )

    return choose


def operators(candidate):
    return [node.op_type for node in candidate.written.graph.node]


ALIKE = {"Add": 4e-6, "Relu": 4e-6, "Tanh": 1e-6}


def test_without_inputs_nothing_is_profiled(chosen):
    found = chosen(Profiles(ALIKE), feeds=False)
    assert found.profiled == []
    assert [operators(item) for item in found.candidates] == [["Add", "Tanh"]]


def test_what_is_as_priced_is_profiled_once(chosen):
    found = chosen(Profiles(ALIKE))
    assert len(found.profiled) == 2, "the original and the candidate"
    assert [operators(item) for item in found.candidates] == [["Add", "Tanh"]]


def test_what_proves_dear_is_not_chosen_again(chosen):
    found = chosen(Profiles({"Add": 4e-6, "Relu": 4e-6, "Tanh": 400e-6}))
    assert [operators(item) for item in found.candidates] == [["Add", "Tanh"]]


def test_what_proves_cheap_is_chosen_then(chosen, monkeypatch):
    monkeypatch.setattr(choosing, "BIASES", (9.0,))
    alone = chosen(Profiles(ALIKE), feeds=False)
    assert alone.candidates == [], "too small a gain for so careful a choice"
    found = chosen(Profiles({"Add": 4e-6, "Relu": 400e-6, "Tanh": 1e-6}))
    (candidate,) = found.candidates
    assert operators(candidate) == ["Add", "Tanh"]
    assert candidate.before.cost > found.before.cost, "prices of the round in which it was chosen"
    assert candidate.refined.cost < candidate.before.cost
    assert len(found.profiled) == 2, "the original, then the candidate"


@pytest.mark.parametrize("fault", [RuntimeFailure("no"), KeyboardInterrupt()])
def test_faults_of_profiling_lose_nothing(chosen, fault):
    found = chosen(Profiles(ALIKE, fault))
    assert [operators(item) for item in found.candidates] == [["Add", "Tanh"]]
    assert found.run.interrupted == isinstance(fault, KeyboardInterrupt)
