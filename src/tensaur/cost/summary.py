"""What the store holds, in figures: how many prices, how steady they are, how far the roofline is off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tensaur.cost.analytic import Machine
from tensaur.cost.store import Context, Entry, Store

# The share of values that lie at or below the greater of two figures of a spread.
MOST = 0.9


@dataclass(frozen=True, slots=True)
class Figures:
    """The median of some values, and what 90 % of them do not exceed."""

    median: float
    most: float


@dataclass(frozen=True, slots=True)
class ContextSummary:
    """What is stored for one runtime, processor and number of threads.

    `measured` counts prices, `faults` what could not be measured. `spread` is of repeated measurements, as
    a share of the price. `error` is of the absolute logarithm of measured / estimated, `ratio` the median
    of measured / estimated; None where nothing was measured. Times are in seconds since 1970.
    """

    context: Context
    machine: Machine | None
    measured: int
    faults: int
    spread: Figures | None
    error: Figures | None
    ratio: float | None
    oldest: float
    newest: float


def summaries(store: Store) -> tuple[ContextSummary, ...]:
    """Return a summary for everything that the store holds measurements or a calibration for."""
    machines = {item.context: item.text for item in store.calibrations()}
    by_context: dict[Context, list[Entry]] = {context: [] for context in machines}
    for entry in store.entries():
        by_context.setdefault(entry.context, []).append(entry)
    return tuple(
        _summary(context, machines.get(context), entries) for context, entries in by_context.items()
    )


def dearest(entries: Sequence[Entry], count: int) -> list[Entry]:
    """Return the measured entries with the greatest prices, the greatest first."""
    measured = [entry for entry in entries if entry.stored.nanoseconds is not None]
    return sorted(measured, key=lambda entry: -(entry.stored.nanoseconds or 0))[:count]


def figures(values: Sequence[float]) -> Figures | None:
    """Return median and 90 % quantile, None of nothing."""
    return Figures(median(values), float(np.quantile(values, MOST))) if values else None


def _summary(context: Context, machine: str | None, entries: Sequence[Entry]) -> ContextSummary:
    measured = [entry.stored for entry in entries if entry.stored.nanoseconds is not None]
    ratios = [
        stored.nanoseconds / stored.estimate
        for stored in measured
        if stored.nanoseconds and stored.estimate
    ]
    times = [stored.measured_at for stored in measured]
    return ContextSummary(
        context=context,
        machine=_machine(machine),
        measured=len(measured),
        faults=len(entries) - len(measured),
        spread=figures([stored.spread for stored in measured]),
        error=figures([abs(math.log(ratio)) for ratio in ratios]),
        ratio=median(ratios) if ratios else None,
        oldest=min(times, default=0.0),
        newest=max(times, default=0.0),
    )


def _machine(text: str | None) -> Machine | None:
    try:
        return None if text is None else Machine.from_json(text)
    except ValueError:  # another layout: it will be measured again
        return None
