"""Races and their statistics, on a fake clock: no test here depends on how fast the machine is."""

import math
import time
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from tensaur.runtime.stopwatch import latency, meter_for
from tensaur.runtime.timing import Limits, Race, estimate, race
from tests.runtime.fakes import World
from tests.runtime.models import scaled


def run_race(world, *contestants, limits=None, settled=lambda result: False):
    limits = limits or Limits(seconds=5.0)
    return Race(contestants, limits, settled, world.clock, world.clock, Random(7)).run()


def test_estimate_is_the_t_interval():
    logs = [0.10, 0.12, 0.08, 0.10]
    found = estimate(logs)
    half = 3.182446 * np.std(logs, ddof=1) / 2  # the t quantile of 3 degrees of freedom
    assert math.log(found.ratio) == pytest.approx(0.10)
    assert math.log(found.low) == pytest.approx(0.10 - half, rel=1e-5)
    assert math.log(found.high) == pytest.approx(0.10 + half, rel=1e-5)


def test_single_wild_samples_do_not_widen_the_interval():
    calm = [0.10, 0.12, 0.08, 0.10, 0.11, 0.09, 0.10, 0.12, 0.09, 0.10]
    found = estimate([*calm, 0.9, -0.7])
    assert found.low > math.exp(0.08) and found.high < math.exp(0.12)


def test_one_sample_bounds_nothing():
    found = estimate([0.5])
    assert found.low == 0 and found.high == math.inf
    assert found.ratio == pytest.approx(math.exp(0.5))


def test_higher_confidence_is_wider():
    logs = [0.1, 0.2, 0.15]
    assert estimate(logs, 0.99).low < estimate(logs, 0.9).low < estimate(logs, 0.9).ratio


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    found = [estimate(rng.normal(0.05, 0.03, 8)) for _ in range(2000)]
    covered = np.mean([item.low <= math.exp(0.05) <= item.high for item in found])
    assert 0.93 < covered < 0.97


def test_exact_times_give_the_exact_ratio():
    world = World(Random(0))
    result = run_race(world, world.contestant(0, 0.002), world.contestant(1, 0.001))
    assert result.estimate(1).ratio == pytest.approx(2.0)
    assert result.estimate(1).low == pytest.approx(2.0)
    assert result.time(0) == pytest.approx(0.002) and result.time(1) == pytest.approx(0.001)
    assert result.estimate(0).ratio == 1.0


def test_noise_and_drift_cancel():
    world = World(Random(1), layout=0.08, jitter=0.3, drift=0.5)
    result = run_race(
        world,
        world.contestant(0, 0.0012),
        world.contestant(1, 0.001),
        limits=Limits(seconds=20.0),
    )
    found = result.estimate(1)
    assert found.low < 1.2 < found.high
    assert found.high / found.low < 1.15


def test_sessions_are_replicated_and_blocks_shuffled():
    world = World(Random(0))
    limits = Limits(seconds=100.0, replicates=6, blocks=5)
    contestants = [world.contestant(index, 0.001) for index in range(3)]
    result = run_race(world, *contestants, limits=limits)
    assert result.replicates == 6
    assert sorted(world.opened) == sorted([0, 1, 2] * 6)
    orders = {tuple(world.opened[start : start + 3]) for start in range(0, 18, 3)}
    assert len(orders) > 1
    # Never all of one contestant first: turns change throughout.
    assert len(world.order) > 6 * 5


def test_the_budget_ends_a_race_but_not_before_the_least():
    world = World(Random(0))
    slow = [world.contestant(index, 1.0) for index in range(2)]
    limits = Limits(seconds=30.0, replicates=50, least=3)
    result = run_race(world, *slow, limits=limits)
    assert 3 <= result.replicates < 50 and world.now < 40
    world = World(Random(0))
    glacial = [world.contestant(index, 100.0) for index in range(2)]
    assert run_race(world, *glacial, limits=limits).replicates == 3


def test_long_runs_get_short_bursts_and_quick_ones_long():
    world = World(Random(0))
    counts = {}

    def counted(index, seconds):
        inner = world.contestant(index, seconds)

        def open_runs():
            (run,) = inner()

            def wrapped():
                counts[index] = counts.get(index, 0) + 1
                run()

            return [wrapped]

        return open_runs

    run_race(world, counted(0, 0.1), counted(1, 0.0001))
    assert counts[1] > 20 * counts[0]


def test_settled_ends_a_race_early():
    world = World(Random(0))
    contestants = [world.contestant(index, 0.001) for index in range(2)]
    result = run_race(world, *contestants, settled=lambda result: result.replicates >= 4)
    assert result.replicates == 4


def test_workloads_count_the_same():
    world = World(Random(0))
    result = run_race(world, world.contestant(0, 0.010, 0.001), world.contestant(1, 0.020, 0.0005))
    assert result.estimate(1).ratio == pytest.approx(1.0)
    slower, quicker = result.by_workload(1)
    assert slower.ratio == pytest.approx(0.5) and quicker.ratio == pytest.approx(2.0)


def test_latency_ignores_disturbed_runs():
    world = World(Random(0))
    times = iter([0.5, *([0.001, 0.001, 0.001, 0.03] * 1000)])

    def run():
        world.now += next(times)

    assert latency(run, 1.0, clock=world.clock, meter=world.clock) == pytest.approx(0.001)


def test_latency_of_slow_runs_takes_few():
    world = World(Random(0))
    runs = []

    def run():
        runs.append(1)
        world.now += 2.0

    assert latency(run, 0.03, clock=world.clock, meter=world.clock) == pytest.approx(2.0)
    assert len(runs) == 4


def test_real_models_race():
    feeds = [{"x": np.ones((2, 3), np.float32)}, {"x": np.ones((5, 3), np.float32)}]
    limits = Limits(seconds=0.2, replicates=3, blocks=2, burst_seconds=0.001)
    result = race([scaled(2.0), scaled(3.0)], feeds, limits=limits)
    assert result.replicates == 3 and len(result.by_workload(1)) == 2
    assert result.estimate(1).low <= result.estimate(1).ratio <= result.estimate(1).high
    assert result.time(0) > 0


def test_long_runs_are_metered_and_short_ones_clocked():
    # The meter sees a tenth of what the clock sees.
    for seconds, expected in ((0.001, 0.0001), (0.0001, 0.0001)):
        world = World(Random(0))
        contestants = [world.contestant(index, seconds) for index in range(2)]
        limits = Limits(seconds=1.0, replicates=3)
        found = Race(
            contestants, limits, clock=world.clock, meter=lambda world=world: world.now / 10
        ).run()
        assert found.time(0) == pytest.approx(expected)
        assert found.estimate(1).ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("threads", "resolution", "meter"),
    [(1, 1e-9, "thread_time"), (2, 1e-9, "perf_counter"), (1, 0.015, "perf_counter")],
)
def test_the_meter_fits_the_threads(monkeypatch, threads, resolution, meter):
    info = SimpleNamespace(resolution=resolution)
    monkeypatch.setattr("time.get_clock_info", lambda name: info)
    assert meter_for(threads) is getattr(time, meter)
