"""Advice on how to open a model: optimisations of the runtime without which it runs faster.

The runtime's own rewrites are rules without costs; some lose at some sizes. Those that matter for a
model are raced against the plain session: first all of them, then the promising ones, alone and
together, anew, so that what is reported was not chosen by the samples that it is reported on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tensaur.errors import RuntimeFailure
from tensaur.result import Advice
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Feeds, Model, Settings
from tensaur.runtime.stopwatch import Clock, meter_for
from tensaur.runtime.timing import Contestant, Estimate, Limits, Race, contestant

# Faster by less than this is not worth a user's attention, nor certain on other days.
WORTH = 1.02
CONFIDENCE = 0.95

# Shares of the time: finding out which optimisations matter, then comparing them all roughly.
_FINDING, _ROUGH = 0.3, 0.3
# Optimisations that are looked at closely, beside all of them together.
_MOST = 3
# Sessions that a race opens at the least for each contestant.
_LEAST = 3

Switch = tuple[str, ...]


def advise(
    model: Model, feeds: Sequence[Feeds], settings: Settings, seconds: float, *, seed: int = 0
) -> tuple[Advice, ...]:
    """Return what is shown to make the model faster on these inputs, the best first.

    Takes about `seconds`; nothing is returned where so little time, or no input, shows nothing.
    """
    if not feeds:
        return ()
    begin = time.perf_counter()
    try:
        for run in contestant(model, feeds, settings)():
            run()
        needed = 2 * _LEAST * (time.perf_counter() - begin)
        if needed * _MOST > seconds:
            return ()
        switches = RUNTIME.switches(model, settings, _FINDING * seconds)
    except RuntimeFailure:
        return ()
    trial = Trial(
        lambda without: contestant(model, feeds, _leaving_out(settings, without)),
        Random(seed),
        meter=meter_for(settings.threads),
    )
    left = seconds - (time.perf_counter() - begin)
    return trial.run(switches, left) if left > needed * (len(switches) + 1) else ()


@dataclass
class Trial:
    """Races a model without some optimisations against the plain session.

    `entrant` makes the contestant that leaves out the given ones.
    """

    entrant: Callable[[Switch], Contestant]
    rng: Random
    clock: Clock = time.perf_counter
    meter: Clock = time.perf_counter

    def run(self, switches: Sequence[Switch], seconds: float) -> tuple[Advice, ...]:
        """Return those that are faster for certain within about `seconds`."""
        rough = self._race(switches, _ROUGH * seconds, CONFIDENCE)
        promising = [item for item in rough if item.estimate.ratio > WORTH][:_MOST]
        chosen = [item.without for item in promising]
        if len(chosen) > 1:
            chosen.append(tuple(name for switch in chosen for name in switch))
        # Several chances to be wrong: each gets its part of the error that is allowed.
        confidence = 1 - (1 - CONFIDENCE) / max(len(chosen), 1)
        close = self._race(chosen, (1 - _ROUGH) * seconds, confidence)
        return tuple(
            Advice(
                item.without,
                RUNTIME.recipe(item.without),
                item.estimate.ratio,
                (item.estimate.low, item.estimate.high),
            )
            for item in close
            if item.estimate.low > WORTH
        )

    def _race(
        self, switches: Sequence[Switch], seconds: float, confidence: float
    ) -> list[_Standing]:
        """Return how each did, the fastest first; nothing if one of them cannot be run."""
        if not switches:
            return []
        entrants = [self.entrant(()), *map(self.entrant, switches)]
        limits = Limits(seconds=seconds, least=_LEAST)
        race = Race(entrants, limits, clock=self.clock, meter=self.meter, rng=self.rng)
        try:
            result = race.run()
        except RuntimeFailure:
            return []
        found = [
            _Standing(switch, result.estimate(place, confidence))
            for place, switch in enumerate(switches, start=1)
        ]
        return sorted(found, key=lambda item: -item.estimate.ratio)


@dataclass(frozen=True, slots=True)
class _Standing:
    """How the model without some optimisations did: plain / without."""

    without: Switch
    estimate: Estimate


def _leaving_out(settings: Settings, without: Switch) -> Settings:
    return Settings(settings.threads, settings.optimised, (*settings.without, *without))
