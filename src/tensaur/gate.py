"""The gate between candidates and the user: outputs equal, and not slower, or the original stays.

Decides with `runtime`'s comparison and timing; knows nothing of how candidates came about.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from google.protobuf.message import (  # type: ignore[import-untyped]  # protobuf has no stubs
    EncodeError,
)

from tensaur.cost.objective import LATENCY
from tensaur.errors import RuntimeFailure
from tensaur.onnx_io import Source
from tensaur.options import Options
from tensaur.result import Latency
from tensaur.runtime.build import original_of
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import Comparison, agree
from tensaur.runtime.inputs import (
    check_feeds,
    draw,
    plan_inputs,
    planned_feeds,
    random_feeds,
    with_anonymous,
)
from tensaur.runtime.observe import observed_sizes
from tensaur.runtime.protocol import Feeds, InFolder, Model, Session, Settings
from tensaur.runtime.racing import halving, openings
from tensaur.runtime.stopwatch import meter_for
from tensaur.runtime.timing import Contestant, Run, contestant
from tensaur.runtime.verdict import Verdict, faster

# A gain below this is within what two sessions of one model differ by.
MARGIN = 0.01

# How often judging opens a session: comparing, and three replicates of two models in two processes.
OPENINGS = 14

# How often the original or a candidate runs at the least while it is judged.
RUNS = 60

# An original that takes a larger share of the time limit for one run is compared on one input alone.
SLOW = 0.02

# Bounds the race that chooses among the candidates.
SCREENING_SECONDS = 3.0

# At how many sizes beside the first a model with dynamic dimensions is compared, and timed.
OTHER_SIZES, TIMED_SIZES = 3, 2

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The candidate that may replace the original (its index, None for none), and what was seen."""

    winner: int | None
    reason: str
    comparison: Comparison | None = None
    latency: Latency | None = None


class Gate:
    """The original, opened once, with the inputs on which every candidate is compared and timed.

    `reserve` are the seconds that judging takes at the least, in opening sessions and in runs; for large
    models that is most of the time there is. `sizes` are the sizes that the symbolic dimensions of the original's
    values have on the first input.
    RuntimeFailure if the original itself cannot be run on random inputs and none were given.
    """

    def __init__(self, source: Source, options: Options) -> None:
        self.folder = source.folder
        self.original: Model = original_of(source)
        self.options = options
        self.settings = Settings(threads=options.threads)
        begin = time.perf_counter()
        self.session = open_session(self.original, self.settings)
        self.open_seconds = time.perf_counter() - begin
        self.reserve = OPENINGS * self.open_seconds
        self.feeds, self.timed = self._feeds(self.session)
        begin = time.perf_counter()
        self.session.run(self.feeds[0])
        self.run_seconds = time.perf_counter() - begin
        self.reserve += RUNS * self.run_seconds
        self.sizes = {
            **observed_sizes(source.graph, source.proto, self.session, self.feeds[0]),
            **options.sizes,
        }

    def judge(
        self, candidates: Sequence[Any], seconds: float, say: Say, rest: Sequence[float] = ()
    ) -> Judgement:
        """Return the fastest candidate with equal outputs if it is faster, within about `seconds`.

        Where time is a part of the cost, `rest` is the other part, of the original and of every candidate.
        """
        needed = RUNS * self.run_seconds
        if candidates and needed > 2 * max(seconds, self.options.seconds / 2):
            return Judgement(None, _too_slow(self.run_seconds, needed))
        with tempfile.TemporaryDirectory(prefix="tensaur-") as folder:
            models = [
                self._on_disk(candidate, Path(folder) / f"{index}.onnx")
                for index, candidate in enumerate(candidates)
            ]
            return self._judge(models, seconds, say, rest)

    def _on_disk(self, candidate: Any, path: Path) -> Model:
        # Opened many times: from a file, the runtime reads a model without a copy in memory.
        try:
            path.write_bytes(candidate.SerializeToString())
        except (ValueError, EncodeError):  # protobuf holds at most 2 GB in one message
            return InFolder(candidate, self.folder)
        return InFolder(path, self.folder)

    def _judge(
        self, models: Sequence[Model], seconds: float, say: Say, rest: Sequence[float]
    ) -> Judgement:
        comparisons: dict[int, Comparison] = {}
        equal: dict[int, Session] = {}
        refusals: list[str] = []
        for index, model in enumerate(models):
            try:
                session = open_session(model, self.settings)
                comparisons[index] = agree(self.session, session, self.feeds)
            except RuntimeFailure as error:
                refusals.append(f"the rewritten model cannot be run: {error}")
                continue
            if comparisons[index].equal:
                equal[index] = session
            else:
                refusals.append(f"outputs differ: {comparisons[index].reason}")
        if not equal:
            reason = refusals[0] if refusals else "nothing cheaper was found"
            return Judgement(None, reason, next(iter(comparisons.values()), None))
        best = self._screen(equal, models, say)
        say("timing the original against the best candidate")
        verdict = self._time(models[best], seconds)
        accepted, reason = self._decision(verdict, rest, best)
        winner = best if accepted else None
        return Judgement(winner, reason, comparisons[best], _latency(verdict))

    def _decision(
        self, verdict: Verdict, rest: Sequence[float], candidate: int
    ) -> tuple[bool, str]:
        """Tell whether a candidate is accepted, and why, by the part that time has in the cost."""
        wanted = self.options.objective
        if wanted.is_latency:
            return verdict.accepted, verdict.reason
        factor = wanted.factor(LATENCY)
        if not factor:  # another metric was asked to fall: time only has to be not worse
            if not verdict.accepted and _is_as_fast(verdict):
                return True, f"as fast: ratio {verdict.timing.estimate}"
            return verdict.accepted, verdict.reason
        nanoseconds = factor * verdict.timing.original_seconds * 1e9
        # The measured time stands for the predicted one, at the end of its interval that speaks against.
        slowest = nanoseconds / max(verdict.interval.low, 1e-9)
        before, after = rest[0] + nanoseconds, rest[candidate + 1] + slowest
        costs = (
            f"with measured latency the cost is {before:,.6g} before and at most {after:,.6g} after"
        )
        return after < before, costs

    def _screen(self, equal: Mapping[int, Session], models: Sequence[Model], say: Say) -> int:
        """Return the candidate that looks fastest."""
        if len(equal) == 1:
            return next(iter(equal))
        say(f"timing {len(equal)} candidates in turn")
        standings = halving(
            self._entrant(self.original, self.session, len(equal)),
            [self._entrant(models[at], session, len(equal)) for at, session in equal.items()],
            seconds=SCREENING_SECONDS,
            rng=Random(self.options.seed),
            meter=meter_for(self.options.threads),
        )
        return list(equal)[standings[0].candidate]

    def _entrant(self, model: Model, session: Session, count: int) -> Contestant:
        """Return a contestant that opens a new session each time, if there is time for that."""
        if openings(count) * self.open_seconds < SCREENING_SECONDS:
            return contestant(model, self.timed[:1], self.settings)
        return partial(_runs, session, self.timed[:1])

    def _time(self, candidate: Model, seconds: float) -> Verdict:
        return faster(
            self.original,
            candidate,
            self.timed,
            margin=MARGIN,
            seconds=seconds,
            threads=self.options.threads,
            seed=self.options.seed,
        )

    def _feeds(self, session: Session) -> tuple[list[Feeds], list[Feeds]]:
        """Return inputs to compare on, and those of them to time on."""
        given = self.options.inputs
        if given is not None:
            feeds: list[Feeds] = [check_feeds(given, session.inputs, "inputs")]
            sizes = _sizes_of(session, feeds[0])
            alike = self._drawn(session, sizes, 2)
            return feeds + alike + self._other_sizes(session, sizes, sizes), feeds[:1]
        begin = time.perf_counter()
        plan = plan_inputs(session, self.options.sizes, self.options.seed)
        if time.perf_counter() - begin > SLOW * self.options.seconds:
            feeds = [draw(session.inputs, plan, self.options.seed)]
            return feeds, feeds
        feeds = planned_feeds(session, plan, seed=self.options.seed)
        sizes = _sizes_of(session, feeds[0])
        others = self._other_sizes(session, sizes, sizes)
        # What the user gives a size is timed at that size alone, and compared at others too.
        free = sizes.keys() - with_anonymous(self.options.sizes).keys()
        fixed = {name: size for name, size in sizes.items() if name not in free}.items()
        if fixed and free:
            others += self._other_sizes(session, sizes, free)
        timed = [item for item in others if _sizes_of(session, item).items() >= fixed]
        return feeds + others, [feeds[0], *timed[:TIMED_SIZES]]

    def _other_sizes(
        self, session: Session, sizes: Mapping[str, int], changed: Collection[str]
    ) -> list[Feeds]:
        """Return inputs of other sizes of some dimensions, as far as the original accepts them.

        Dimensions that only work at some sizes are common.
        """
        found: list[Feeds] = []
        seen = [dict(sizes)]
        for other in _CHANGES:
            new = {name: other(size) if name in changed else size for name, size in sizes.items()}
            if new in seen or len(found) == OTHER_SIZES:
                continue
            seen.append(new)
            found += self._drawn(session, new, 1)
        return found

    def _drawn(self, session: Session, sizes: Mapping[str, int], count: int) -> list[Feeds]:
        try:
            return random_feeds(session, sizes, count=count, seed=self.options.seed)
        except RuntimeFailure:
            return []


# Other sizes that a dimension may take, in the order of trying.
_CHANGES: tuple[Callable[[int], int], ...] = (
    lambda size: 2 * size,
    lambda size: max(size // 2, 1),
    lambda size: size + 1,
    lambda size: 3 * size,
    lambda size: 1,
)


def _sizes_of(session: Session, given: Feeds) -> dict[str, int]:
    return {
        dim: np.shape(given[port.name])[axis]
        for port in session.inputs
        for axis, dim in enumerate(port.dims)
        if isinstance(dim, str) and port.name in given
    }


def _too_slow(run: float, needed: float) -> str:
    return (
        f"one run takes {run:.2g} s, so that timing needs about {needed:.0f} s: "
        "raise the time limit to have it judged"
    )


def _runs(session: Session, feeds: Sequence[Feeds]) -> list[Run]:
    return [session.runner(given) for given in feeds]


def _is_as_fast(verdict: Verdict) -> bool:
    timing = verdict.timing
    return timing.estimate.high >= 1.0 and timing.worst.ratio > 1.0 - 2 * MARGIN


def _latency(verdict: Verdict) -> Latency:
    estimate, timing = verdict.interval, verdict.timing
    return Latency(
        timing.original_seconds,
        timing.candidate_seconds,
        estimate.ratio,
        (estimate.low, estimate.high),
    )
