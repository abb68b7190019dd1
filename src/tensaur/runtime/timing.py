"""Interleaved timing of several models, and the statistics that turn it into a ratio with an interval.

Identical models read up to 8 % apart between sessions (memory layout), and a shared machine drifts by
more than that within seconds. So the unit of the statistics is the *replicate*: fresh sessions of all
contestants, timed in blocks; a block runs every contestant in a random order and gives one ratio; the
median of the blocks' ratios is the replicate's one sample. Intervals come from the spread between
replicates alone. One-threaded runs are metered in the thread's own processor time, since what other
processes take is not the model's. Does not decide what to keep (`verdict`) and does not open sessions itself: a
contestant is a function that opens one, so that tests can time fakes on a fake clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, median, stdev

import numpy as np

from tensaur.runtime.choice import open_session
from tensaur.runtime.protocol import Feeds, Model, Settings
from tensaur.runtime.stopwatch import LOW_QUANTILE, SHORT_SECONDS, Clock, meter_for

Run = Callable[[], object]
# Opens a fresh session and returns one function for every workload, each running it once.
Contestant = Callable[[], Sequence[Run]]

CONFIDENCE = 0.95
# The share of the replicates that is left out at each end.
_TRIMMED = 0.2

_LONGEST_BURST = 200

# The first run of a burst finds the caches full of another model's data. A model that takes longer than
# this for a run reads more than caches hold.
_WARM_RUNS, _WARM_SECONDS = 3, 0.03


@dataclass(frozen=True, slots=True)
class Estimate:
    """A ratio of times, above 1 where the second is faster, with its confidence interval."""

    ratio: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to time: seconds in all, replicates, blocks in a replicate, seconds of one burst.

    At least `least` replicates are made whatever the seconds say; without them there is no interval.
    """

    seconds: float = 10.0
    replicates: int = 40
    least: int = 3
    blocks: int = 17
    burst_seconds: float = 0.004


@dataclass
class RaceResult:
    """Log-ratios of the first contestant's time to each one's, and each one's seconds.

    `logs[c][w]` holds one sample for every replicate of contestant c on workload w, and
    `seconds[c][w]` the time of one run in each replicate.
    """

    logs: list[list[list[float]]] = field(default_factory=list)
    seconds: list[list[list[float]]] = field(default_factory=list)

    @property
    def replicates(self) -> int:
        """Return how many replicates were completed."""
        return len(self.logs[0][0]) if self.logs and self.logs[0] else 0

    def estimate(self, contestant: int, confidence: float = CONFIDENCE) -> Estimate:
        """Return first / contestant over all workloads, each workload counting the same."""
        rows = self.logs[contestant]
        return estimate([fmean(sample) for sample in zip(*rows, strict=True)], confidence)

    def by_workload(self, contestant: int, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
        """Return first / contestant for every workload."""
        return tuple(estimate(row, confidence) for row in self.logs[contestant])

    def time(self, contestant: int) -> float:
        """Return the contestant's typical seconds for one run of the first workload."""
        return median(self.seconds[contestant][0])


def estimate(log_ratios: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the geometric mean ratio with its interval; a single sample bounds nothing.

    From the trimmed mean and Student's t with the winsorised variance (Tukey and McLaughlin, 1963): on a
    shared machine single replicates are off by far more than the rest.
    """
    count = len(log_ratios)
    if count < 2:
        return Estimate(math.exp(fmean(log_ratios)), 0.0, math.inf)
    from scipy.special import stdtrit  # noqa: PLC0415  # heavy: imported when used

    ordered = sorted(log_ratios)
    cut = int(_TRIMMED * count)
    kept = ordered[cut : count - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    center = fmean(kept)
    quantile = float(stdtrit(len(kept) - 1, 0.5 + confidence / 2))
    half = quantile * stdev(winsorised) * math.sqrt(count) / len(kept)
    return Estimate(math.exp(center), math.exp(center - half), math.exp(min(center + half, 700.0)))


@dataclass
class Race:
    """Times contestants against the first one, replicate after replicate.

    `settled` may end the race early; it is asked after every replicate from `limits.least` on. `clock`
    tells how much of the budget is spent, and how long a short run took; `meter` times the longer ones.
    """

    contestants: Sequence[Contestant]
    limits: Limits = field(default_factory=Limits)
    settled: Callable[[RaceResult], bool] = lambda result: False
    clock: Clock = time.perf_counter
    meter: Clock = time.perf_counter
    rng: Random = field(default_factory=lambda: Random(0))
    result: RaceResult = field(default_factory=RaceResult)

    def run(self) -> RaceResult:
        """Run replicates until the limits are reached or the race is settled."""
        start = self.clock()
        while self.result.replicates < self.limits.replicates:
            self._replicate()
            done, spent = self.result.replicates, self.clock() - start
            if done < self.limits.least:
                continue
            if spent * (done + 1) / done > self.limits.seconds or self.settled(self.result):
                break
        return self.result

    def _replicate(self) -> None:
        deadline = self.clock() + self.limits.seconds / self.limits.least
        runs: list[Sequence[Run]] = [()] * len(self.contestants)
        for index in self._shuffled():
            runs[index] = self.contestants[index]()
        workloads = len(runs[0])
        if not self.result.logs:
            self.result.logs = [[[] for _ in range(workloads)] for _ in runs]
            self.result.seconds = [[[] for _ in range(workloads)] for _ in runs]
        for workload in range(workloads):
            share = (deadline - self.clock()) / (workloads - workload)
            self._time_workload([run[workload] for run in runs], workload, share)

    def _time_workload(self, runs: Sequence[Run], workload: int, seconds: float) -> None:
        until = self.clock() + seconds
        warm = [_burst(run, 1, self.clock) for run in runs]
        if max(warm) < self.limits.burst_seconds:  # short enough that a second look costs nothing
            warm = [_burst(run, 3, self.clock) for run in runs]
        meter = self.clock if min(warm) < SHORT_SECONDS else self.meter
        counts = [_count(each, self.limits.burst_seconds) for each in warm]
        blocks: list[list[float]] = []
        while len(blocks) < self.limits.blocks:
            times = [0.0] * len(runs)
            for index in self._shuffled():
                times[index] = _burst(runs[index], counts[index], meter)
            blocks.append(times)
            if len(blocks) >= 2 and self.clock() > until:
                break
        for index in range(len(runs)):
            logs = [math.log(times[0] / times[index]) for times in blocks]
            self.result.logs[index][workload].append(median(logs))
            self.result.seconds[index][workload].append(median(times[index] for times in blocks))

    def _shuffled(self) -> list[int]:
        order = list(range(len(self.contestants)))
        self.rng.shuffle(order)
        return order


def _count(each: float, seconds: float) -> int:
    """Return how many runs a burst has: enough to fill `seconds`, and to find its own data cached."""
    least = _WARM_RUNS if each < _WARM_SECONDS else 1
    return max(least, min(_LONGEST_BURST, round(seconds / max(each, 1e-9))))


def _burst(run: Run, count: int, meter: Clock) -> float:
    times = []
    for _ in range(count):
        start = meter()
        run()
        times.append(meter() - start)
    return max(float(np.quantile(times, LOW_QUANTILE)), 1e-9)


def contestant(model: Model, feeds: Sequence[Feeds], settings: Settings) -> Contestant:
    """Return a contestant that opens a session of the model and runs it on every one of the inputs."""

    def open_runs() -> Sequence[Run]:
        session = open_session(model, settings)
        return [session.runner(given) for given in feeds]

    return open_runs


def race(
    models: Sequence[Model],
    feeds: Sequence[Feeds],
    *,
    threads: int = 1,
    limits: Limits | None = None,
    seed: int = 0,
) -> RaceResult:
    """Time models on the same inputs in this process; ratios are those of the first to each."""
    settings = Settings(threads=threads)
    entrants = [contestant(model, feeds, settings) for model in models]
    return Race(entrants, limits or Limits(), meter=meter_for(threads), rng=Random(seed)).run()
