"""Timing the unchanged model against what each optimiser made of it, and comparing their outputs.

Runs in a process of its own for every model, since a runtime that crashes on a model takes its process
with it. Does not run the optimisers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.apart import apart
from benchmarks.models.entry import Feeds
from tensaur.errors import RuntimeFailure
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import agree
from tensaur.runtime.timing import Limits, race


@dataclass(frozen=True, slots=True)
class Ratio:
    """Time of the unchanged model over that of a contestant, with its 95 % interval.

    `equal` tells whether the outputs are those of the unchanged model, `reason` why not.
    """

    ratio: float
    low: float
    high: float
    equal: bool = True
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What timing one model gave: seconds of one run unchanged, ratios and faults by contestant."""

    seconds: float
    ratios: Mapping[str, Ratio] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)


CONTROL = "control"


def measure(
    original: Path, contestants: Mapping[str, Path], feeds: Sequence[Feeds], seconds: float
) -> Measured:
    """Measure in a fresh process; what crashes or fails there alone is left out of the race."""
    faults: dict[str, str] = {}
    for name, path in contestants.items():
        try:
            apart(_run, path, feeds[0])
        except RuntimeFailure as error:
            faults[name] = str(error)
    sound = {name: path for name, path in contestants.items() if name not in faults}
    result = apart(_race, original, sound, feeds, seconds)
    return Measured(result.seconds, result.ratios, faults)


def _run(path: Path, feeds: Feeds) -> None:
    open_session(path).run(feeds)


def _race(
    original: Path, contestants: Mapping[str, Path], feeds: Sequence[Feeds], seconds: float
) -> Measured:
    reference = open_session(original)
    compared = {
        name: agree(reference, open_session(path), feeds) for name, path in contestants.items()
    }
    entrants = [original, original, *contestants.values()]
    result = race(entrants, feeds[:1], limits=Limits(seconds=seconds))
    ratios = {}
    for index, name in enumerate((CONTROL, *contestants), start=1):
        found = result.estimate(index)
        comparison = compared.get(name)
        ratios[name] = Ratio(
            found.ratio,
            found.low,
            found.high,
            comparison is None or comparison.equal,
            "" if comparison is None or comparison.equal else comparison.reason,
        )
    return Measured(result.time(0), ratios)
