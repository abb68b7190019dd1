"""The decision whether a candidate is faster: on fakes, with every kind of noise and confirmation."""

from random import Random

import numpy as np
import onnx
import pytest

from tensaur.errors import RuntimeFailure
from tensaur.runtime import verdict
from tensaur.runtime.protocol import InFolder
from tensaur.runtime.timing import Estimate, Limits
from tensaur.runtime.verdict import (
    Timing,
    confirm_in_fresh_process,
    judge,
    objection,
    timing_from_json,
    timing_to_json,
)
from tests.runtime.fakes import World
from tests.runtime.models import external, scaled

LIMITS = Limits(seconds=3.0)


def timing(ratio: float, half: float = 0.0, worst: Estimate | None = None) -> Timing:
    found = Estimate(ratio, ratio - half, ratio + half)
    return Timing(found, worst or found, 0.002, 0.002 / ratio)


def decide(original, candidate, *, seed=0, confirmed=None, margin=0.01, noise=True):
    """Judge fakes that take the given seconds for each workload."""
    rng = Random(seed)
    world = World(rng, layout=0.06, jitter=0.1, drift=0.2) if noise else World(rng)
    entrants = [world.contestant(0, *original), world.contestant(1, *candidate)]

    def confirm():
        if confirmed is not None:
            return confirmed
        fresh = judge(
            entrants,
            lambda: timing(9.0),
            margin=0.0,
            limits=LIMITS,
            rng=rng,
            clock=world.clock,
            meter=world.clock,
        )
        return fresh.timing

    return judge(
        entrants,
        confirm,
        margin=margin,
        limits=LIMITS,
        rng=Random(seed),
        clock=world.clock,
        meter=world.clock,
    )


def test_identical_models_are_rejected_nearly_always():
    accepted = [decide([0.001], [0.001], seed=seed).accepted for seed in range(200)]
    assert sum(accepted) <= 2


@pytest.mark.parametrize("gain", [1.15, 1.5, 20.0])
def test_clear_gains_are_accepted(gain):
    accepted = [decide([0.001 * gain], [0.001], seed=seed).accepted for seed in range(30)]
    assert all(accepted)


def test_gains_below_the_margin_are_rejected():
    result = decide([0.001005], [0.001], noise=False)
    assert not result.accepted and "no gain above 1.0% shown" in result.reason
    assert result.confirmation is None


def test_slower_candidates_are_called_slower():
    result = decide([0.001], [0.0015])
    assert not result.accepted and result.reason.startswith("slower: ratio 0.6")


def test_gains_have_to_be_confirmed():
    result = decide([0.0015], [0.001], confirmed=timing(1.02, half=0.05))
    assert not result.accepted
    assert result.reason.startswith("not confirmed in a fresh process: ")
    assert result.ratio == pytest.approx(1.02)
    assert result.interval.low == pytest.approx(0.97)


def test_a_confirmation_that_fails_rejects():
    world = World(Random(0))
    entrants = [world.contestant(0, 0.002), world.contestant(1, 0.001)]

    def confirm():
        raise RuntimeFailure("no process")

    found = judge(
        entrants,
        confirm,
        margin=0.01,
        limits=LIMITS,
        rng=Random(0),
        clock=world.clock,
        meter=world.clock,
    )
    assert not found.accepted and found.reason == "not confirmed: no process"


def test_the_more_cautious_ratio_is_reported():
    result = decide([0.0015], [0.001], confirmed=timing(1.3, half=0.05))
    assert result.accepted and result.ratio == pytest.approx(1.3)
    result = decide([0.0015], [0.001], confirmed=timing(2.0, half=0.05), noise=False)
    assert result.accepted and result.ratio == pytest.approx(1.5)


def test_a_gain_at_one_size_does_not_pay_for_a_loss_at_another():
    result = decide([0.001, 0.004], [0.0012, 0.001], noise=False)
    assert not result.accepted and "slower on one of the inputs" in result.reason


def test_clear_cases_are_decided_early():
    world = World(Random(0))
    entrants = [world.contestant(0, 0.002), world.contestant(1, 0.001)]
    limits = Limits(seconds=1000.0, replicates=1000)
    judge(
        entrants,
        lambda: timing(2.0),
        margin=0.01,
        limits=limits,
        rng=Random(0),
        clock=world.clock,
        meter=world.clock,
    )
    assert len(world.opened) == 2 * limits.least


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        (timing(1.10, 0.02), True),
        (timing(1.10, 0.095), False),
        (timing(1.005, 0.001), False),
        (timing(1.10, 0.02, worst=Estimate(0.995, 0.98, 1.01)), True),
        (timing(1.10, 0.02, worst=Estimate(0.98, 0.95, 1.01)), False),
        (timing(1.10, 0.02, worst=Estimate(0.995, 0.992, 0.998)), False),
    ],
)
def test_objections(found, accepted):
    assert (objection(found, 0.01) == "") is accepted


def test_timings_survive_json():
    found = timing(1.25, 0.05, worst=Estimate(1.1, 1.0, 1.2))
    assert timing_from_json(timing_to_json(found)) == found


def test_a_fresh_process_times_real_models(tmp_path):
    feeds = [{"x": np.ones((2, 3), np.float32)}]
    path = tmp_path / "model.onnx"
    path.write_bytes(scaled(2.0).SerializeToString())
    limits = Limits(seconds=0.2, replicates=3)
    found = confirm_in_fresh_process(path, scaled(3.0), feeds, limits=limits)
    assert found.original_seconds > 0 and found.candidate_seconds > 0
    assert found.estimate.low <= found.estimate.ratio <= found.estimate.high


def test_a_fresh_process_finds_external_data(tmp_path):
    path = external(tmp_path)
    proto = onnx.load(path, load_external_data=False)
    feeds = [{"x": np.ones((2, 3), np.float32)}]
    limits = Limits(seconds=0.2, replicates=3)
    found = confirm_in_fresh_process(path, InFolder(proto, tmp_path), feeds, limits=limits)
    assert found.candidate_seconds > 0


def test_a_fresh_process_takes_time_without_end(tmp_path):
    limits = Limits(seconds=float("inf"), replicates=3)
    feeds = [{"x": np.ones((2, 3), np.float32)}]
    assert confirm_in_fresh_process(scaled(2.0), scaled(3.0), feeds, limits=limits).estimate.low > 0


def test_faults_of_the_fresh_process_are_one_line():
    with pytest.raises(RuntimeFailure, match="fresh process failed: the runtime refuses") as caught:
        confirm_in_fresh_process(
            scaled(2.0), b"no model", [{"x": np.ones((2, 3), np.float32)}], limits=LIMITS
        )
    assert "\n" not in str(caught.value)


def test_a_hanging_process_is_ended(monkeypatch):
    monkeypatch.setattr(verdict, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(verdict, "_GRACE_FACTOR", 1e-9)
    with pytest.raises(RuntimeFailure, match="took over"):
        confirm_in_fresh_process(scaled(2.0), scaled(2.0), [], limits=LIMITS)
