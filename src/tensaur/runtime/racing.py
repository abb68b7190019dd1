"""Which of several candidates is fastest: races in which the slower half drops out each round.

Successive halving (Jamieson and Talwalkar, AISTATS 2016): every round has the same share of the time, so
that those still in the race are timed ever more closely. Only chooses; whether the choice beats the
original by a margin is for `verdict` to say.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tensaur.runtime.stopwatch import Clock
from tensaur.runtime.timing import (
    Contestant,
    Estimate,
    Limits,
    Race,
    RaceResult,
)

# Replicates of a round at the least; without two there is no interval.
_LEAST = 2


@dataclass(frozen=True, slots=True)
class Standing:
    """How one candidate did: original / candidate over all rounds that it was in, and how many."""

    candidate: int
    estimate: Estimate
    rounds: int


def halving(
    original: Contestant,
    candidates: Sequence[Contestant],
    *,
    seconds: float,
    rng: Random,
    clock: Clock = time.perf_counter,
    meter: Clock = time.perf_counter,
) -> list[Standing]:
    """Race candidates beside the original; return how each did, the fastest first.

    The first places are those of the last round, then come those that dropped out later rather than
    earlier.
    """
    alive = list(range(len(candidates)))
    rounds = _rounds(len(candidates))
    logs: list[list[list[float]]] = [[] for _ in candidates]
    standings: dict[int, Standing] = {}
    for number in range(1, rounds + 1):
        limits = Limits(seconds=seconds / rounds, replicates=_LEAST * number, least=_LEAST)
        entrants = [original, *(candidates[index] for index in alive)]
        result = Race(entrants, limits, lambda _: False, clock, meter, rng).run()
        for place, index in enumerate(alive, start=1):
            _extend(logs[index], result.logs[place])
            pooled = RaceResult([[], logs[index]]).estimate(1)
            standings[index] = Standing(index, pooled, number)
        alive.sort(key=lambda index: -standings[index].estimate.ratio)
        alive = alive[: (len(alive) + 1) // 2]
    return sorted(standings.values(), key=lambda item: (-item.rounds, -item.estimate.ratio))


def openings(count: int) -> int:
    """Return how many sessions racing so many candidates opens at the least."""
    total = 0
    for _ in range(_rounds(count)):
        total += _LEAST * (count + 1)
        count = (count + 1) // 2
    return total


def _rounds(count: int) -> int:
    return max(1, math.ceil(math.log2(count))) if count else 0


def _extend(pooled: list[list[float]], samples: list[list[float]]) -> None:
    if not pooled:
        pooled += [[] for _ in samples]
    for known, more in zip(pooled, samples, strict=True):
        known += more
