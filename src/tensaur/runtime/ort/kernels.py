"""Kernels of a model under ONNX Runtime, and how long each takes.

What the profiler says are shares: profiling itself adds up to three quarters to a run. They are scaled
to a run of a session without it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensaur.errors import RuntimeFailure
from tensaur.runtime.ort.blocked import is_blocked, renamed
from tensaur.runtime.ort.dump import NAMING_LEVEL, dumped, given_model, optimised_graph
from tensaur.runtime.ort.matching import matched
from tensaur.runtime.ort.steps import Steps
from tensaur.runtime.protocol import Feeds, Kernel, Model, Settings
from tensaur.runtime.stopwatch import LOW_QUANTILE, latency, meter_for

FloatArray = NDArray[np.float64]

# The first IR version in which a caller may override initialisers that are listed as inputs.
_OVERRIDABLE = 4
# Runs that are not counted: the first ones allocate.
_WARM_RUNS = 2
# The profiler keeps at most a million events; this also bounds the time to read them.
_MOST_EVENTS = 100_000


def kernels(model: Model, settings: Settings) -> tuple[Kernel, ...]:
    """Return the kernels in the order in which they run."""
    return _kernels(model, settings, optimised_graph(model, settings))


def profile(model: Model, feeds: Feeds, settings: Settings, seconds: float) -> tuple[Kernel, ...]:
    """Return the kernels with their seconds; half of the time goes into the undisturbed run."""

    def prepare(options: Any) -> None:
        options.enable_profiling = True

    with dumped(model, settings, prepare) as dump:
        found = _kernels(model, settings, dump.graph)
        run = dump.session.runner(feeds)
        until, count = time.perf_counter() + seconds / 2, 0
        while count < 1 or (
            time.perf_counter() < until and count * (len(found) + 1) < _MOST_EVENTS
        ):
            run()
            count += 1
        runs = _runs(dump.session.end_profiling())
        session = dump.session.reopened()
    whole = latency(session.runner(feeds), seconds / 2, meter=meter_for(settings.threads))
    shares = _shares(found, runs[_WARM_RUNS:] or runs[-1:])
    return tuple(
        replace(kernel, seconds=float(share) * whole)
        for kernel, share in zip(found, shares, strict=True)
    )


def _kernels(model: Model, settings: Settings, graph: Any) -> tuple[Kernel, ...]:
    optimised = Steps.of(graph)
    steps = optimised.steps
    if is_blocked(optimised):
        steps = renamed(optimised, Steps.of(optimised_graph(model, settings, NAMING_LEVEL)))
    given = given_model(model)
    whole = Steps.of(given.graph, fixed=given.ir_version < _OVERRIDABLE)
    return matched(whole, steps, optimised.given)


@dataclass(frozen=True, slots=True)
class _Event:
    """One run of one kernel: its kind, when it started, and how long it took, in microseconds."""

    kind: str
    start: float
    duration: float


def _runs(path: Path) -> list[list[_Event]]:
    """Return the kernels' events of every run, in order; those inside bodies are left out."""
    items: Sequence[Mapping[str, Any]] = json.loads(path.read_text())
    runs = [item for item in items if item["name"] == "model_run"]
    nodes = [item for item in items if item["cat"] == "Node" and "op_name" in item["args"]]
    events = [_Event(item["args"]["op_name"], item["ts"], item["dur"]) for item in nodes]
    found = []
    for item in runs:
        end = item["ts"] + item["dur"]
        inside = [event for event in events if item["ts"] <= event.start <= end]
        found.append(_outermost(inside))
    return found


def _outermost(events: list[_Event]) -> list[_Event]:
    """Return the events that lie in no other; a kernel's event is written after those of its bodies."""
    found: list[_Event] = []
    for event in events:
        while found and found[-1].start > event.start:
            found.pop()
        found.append(event)
    return found


def _shares(found: Sequence[Kernel], runs: Sequence[Sequence[_Event]]) -> FloatArray:
    kinds = [kernel.kind for kernel in found]
    alike = [run for run in runs if [event.kind for event in run] == kinds]
    if not alike:
        raise RuntimeFailure("profile: the runtime ran other kernels than it wrote down")
    times = np.array([[event.duration for event in run] for run in alike], dtype=float)
    # Whole microseconds: a kernel below one is seen at its mean, the others at a low quantile.
    low, mean = np.quantile(times, LOW_QUANTILE, axis=0), times.mean(axis=0)
    typical = np.where(low > 1, low, mean) + 1e-3
    shares: FloatArray = typical / typical.sum()
    return shares
