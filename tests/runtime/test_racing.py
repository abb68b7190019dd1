"""Successive halving, on a fake clock."""

from random import Random

import pytest

from tensaur.runtime.racing import halving, openings
from tests.runtime.fakes import World


def run(world, original, *candidates, seconds=3.0):
    entrants = [world.contestant(at, time) for at, time in enumerate((original, *candidates))]
    return halving(
        entrants[0],
        entrants[1:],
        seconds=seconds,
        rng=Random(3),
        clock=world.clock,
        meter=world.clock,
    )


def test_nothing_to_race():
    assert halving(list, [], seconds=1.0, rng=Random(0)) == []


def test_one_candidate_is_timed_once():
    (only,) = run(World(Random(0)), 2e-3, 1e-3)
    assert (only.candidate, only.rounds) == (0, 1)
    assert only.estimate.ratio == pytest.approx(2.0)


def test_the_slower_half_drops_out_each_round():
    standings = run(World(Random(0)), 1e-3, 3e-3, 1e-3, 2e-3, 0.5e-3, 4e-3)
    assert [item.candidate for item in standings] == [3, 1, 2, 0, 4]
    assert [item.rounds for item in standings] == [3, 3, 2, 1, 1]


def test_noise_hides_no_large_difference():
    world = World(Random(5), layout=0.05, jitter=0.2, drift=0.3)
    assert run(world, 1e-3, 0.95e-3, 0.7e-3, 0.9e-3, 1.0e-3)[0].candidate == 1


def test_the_time_is_kept_when_runs_are_long():
    world = World(Random(0))
    run(world, 0.02, 0.02, 0.03, seconds=2.0)
    assert world.now < 4.0


@pytest.mark.parametrize("count", range(6))
def test_openings_are_the_fewest_that_a_race_makes(count):
    world = World(Random(0))
    run(world, 0.05, *([0.05] * count), seconds=0.01)
    assert len(world.opened) == openings(count)
