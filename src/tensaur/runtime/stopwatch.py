"""Timing one function: which clock to meter its runs with, and how long an undisturbed one takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

Clock = Callable[[], float]

_FINE_SECONDS = 1e-6
# Reading a thread's processor time takes up to a microsecond, too much for runs shorter than this; such
# runs also fit between two disturbances.
SHORT_SECONDS = 2e-4

# The share of a burst's runs that count as undisturbed: low, since disturbance only ever adds time.
LOW_QUANTILE = 0.2


def meter_for(threads: int) -> Clock:
    """Return the clock that meters runs with so many threads."""
    fine = time.get_clock_info("thread_time").resolution < _FINE_SECONDS
    return time.thread_time if threads == 1 and fine else time.perf_counter


def latency(
    run: Callable[[], object],
    seconds: float = 0.03,
    *,
    clock: Clock = time.perf_counter,
    meter: Clock = time.perf_counter,
    most: int = 5000,
) -> float:
    """Return the seconds that one undisturbed run takes, from runs filling about `seconds`."""
    start = clock()
    run()
    meter = clock if clock() - start < SHORT_SECONDS else meter
    times: list[float] = []
    while len(times) < 3 or (clock() - start < seconds and len(times) < most):
        before = meter()
        run()
        times.append(meter() - before)
    return float(np.quantile(times, LOW_QUANTILE))
