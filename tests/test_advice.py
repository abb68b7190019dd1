"""Advice on session options: what is faster for certain is reported, and nothing else."""

from random import Random

import numpy as np
import pytest
from onnx import helper

from tensaur import pipeline
from tensaur.advice import WORTH, Trial, advise
from tensaur.errors import RuntimeFailure
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.report.data import as_dict
from tensaur.report.text import result_text
from tensaur.result import Advice
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Settings
from tests.runtime.fakes import World
from tests.runtime.models import FLOAT, model, unary, value

A, B, C = ("FusionA",), ("FusionB",), ("FusionC1", "FusionC2")


def tried(seconds, switches=(A, B), world=None, budget=3.0):
    """Return the advice where a run takes `seconds[names left out]`, else a hundredth of a second."""
    world = world or World(Random(0), layout=0.02, jitter=0.05)
    trial = Trial(
        lambda without: world.contestant(len(without), seconds.get(without, 0.01)),
        Random(1),
        clock=world.clock,
        meter=world.clock,
    )
    return trial.run(switches, budget)


def test_what_is_faster_is_reported_with_ratio_interval_and_option():
    (found,) = tried({A: 0.008, B: 0.012})
    assert found.without == A
    low, high = found.interval
    assert WORTH < low <= found.ratio <= high
    assert low <= 0.01 / 0.008 <= high
    assert found.option == RUNTIME.recipe(A)


def test_an_optimisation_under_several_names_needs_all_of_them():
    (found,) = tried({C: 0.008}, [C])
    assert found.without == C
    assert "FusionC1;FusionC2" in found.option


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.2])
def test_what_is_not_faster_by_a_margin_is_not_reported(factor):
    assert tried({A: 0.01 * factor, B: 0.01 / 1.01}) == ()


def test_together_they_may_be_best():
    found = tried({A: 0.009, B: 0.008, (*B, *A): 0.007})
    assert [item.without for item in found] == [(*B, *A), B, A]
    worse = tried({A: 0.009, B: 0.008, (*B, *A): 0.012})
    assert [item.without for item in worse] == [B, A]


def test_noise_alone_gives_no_advice():
    reported = 0
    for seed in range(20):
        world = World(Random(seed), layout=0.05, jitter=0.1, drift=0.05)
        reported += bool(tried({}, (A, B, C), world))
    assert reported == 0


def test_the_time_is_kept_to():
    world = World(Random(0), layout=0.02, jitter=0.05)
    tried({A: 0.008, B: 0.009}, world=world, budget=5.0)
    assert 2.0 < world.now < 7.0


def test_without_switches_nothing_is_raced():
    world = World(Random(0))
    assert tried({}, (), world) == ()
    assert world.opened == []


def test_a_model_that_cannot_be_run_without_an_optimisation_gets_no_advice():
    def entrant(without):
        def open_runs():
            raise RuntimeFailure("the runtime refuses the model")

        return open_runs

    assert Trial(entrant, Random(0)).run((A,), 1.0) == ()
    nowhere = model([helper.make_node("Relu", ["nowhere"], ["y"])], [], [value("y")])
    assert advise(nowhere, [{}], Settings(), 1.0) == ()


def test_without_inputs_or_time_there_is_no_advice():
    relu = unary("Relu")
    assert advise(relu, [], Settings(), 10.0) == ()
    assert advise(relu, [{"x": np.zeros((2, 3), np.float32)}], Settings(), 0.0) == ()


def normalised(rows=128, width=768):
    """Add and LayerNormalization, which ONNX Runtime computes more slowly together than apart."""
    nodes = [
        helper.make_node("Add", ["x", "r"], ["s"]),
        helper.make_node("LayerNormalization", ["s", "scale", "bias"], ["y"]),
    ]
    ones = np.ones(width, np.float32)
    ports = [value(name, FLOAT, (1, rows, width)) for name in "xr"]
    return model(nodes, ports, [value("y")], {"scale": ones, "bias": ones})


def test_a_sum_before_a_normalisation_is_faster_apart():
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, 128, 768)).astype(np.float32) for name in "xr"}
    (found,) = advise(normalised(), [feeds], Settings(), 2.0)
    assert found.without == ("SkipLayerNormFusion",)
    assert found.interval[0] > WORTH


def test_the_pipeline_asks_for_the_returned_model_in_a_share_of_the_time(monkeypatch):
    advice = Advice(A, RUNTIME.recipe(A), 1.25, (1.2, 1.3))
    asked = []

    def fake(given, feeds, settings, seconds, *, seed):
        asked.append((given, feeds, settings, seconds))
        return (advice,)

    monkeypatch.setattr(pipeline, "advise", fake)
    result = optimize(unary("Relu"), options=Options(cost="flops", seconds=20.0))
    ((given, feeds, settings, seconds),) = asked
    assert given.model == unary("Relu")
    assert [item["x"].shape for item in feeds] == [(2, 3)]
    assert settings == Settings(threads=1)
    assert 0 < seconds <= 2.0
    assert result.advice == (advice,)
    assert "1.25x as fast (95 % interval 1.20 to 1.30) when opened with" in result_text(result)
    assert as_dict(result)["advice"][0]["without"] == list(A)
    assert "advising" in result.seconds
