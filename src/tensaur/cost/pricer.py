"""From the name of a metric to the model that prices with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from tensaur.cost.analytic import METRICS, PaperCost
from tensaur.cost.calibrate import calibrated_machine
from tensaur.cost.measured import DEFAULT_OPSETS, MeasuredCost
from tensaur.cost.single import Stopwatch
from tensaur.cost.sizes import Sizes
from tensaur.cost.store import Context, Store, default_path
from tensaur.errors import UsageError
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.processor import cache_nbytes, processor_name

LATENCY = "latency"


def pricer_for(
    metric: str,
    sizes: Sizes | None = None,
    threads: int = 1,
    store: Path | None = None,
    *,
    opsets: Mapping[str, int] | None = None,
    budget_seconds: float = math.inf,
    weight_nbytes: int = 0,
) -> MeasuredCost | PaperCost:
    """Return the model of a metric; it is both a `CostModel` and a `Pricer`.

    `store` is the file of measured prices, None for the one in the user's cache directory. `opsets` are
    those that the priced operators will be written in. `weight_nbytes` is the size of all weights of the
    model: beyond the cache's, operators find theirs in memory.
    """
    if metric in METRICS:
        return METRICS[metric](sizes or {})
    if metric != LATENCY:
        raise UsageError(f"cost: {metric!r} is not one of {LATENCY}, {', '.join(METRICS)}")
    return measured_cost(
        Store(store or default_path()),
        sizes=sizes,
        threads=threads,
        opsets=opsets,
        budget_seconds=budget_seconds,
        weight_nbytes=weight_nbytes,
    )


def measured_cost(
    store: Store,
    *,
    sizes: Sizes | None = None,
    threads: int = 1,
    opsets: Mapping[str, int] | None = None,
    budget_seconds: float = math.inf,
    weight_nbytes: int = 0,
) -> MeasuredCost:
    """Return the measured cost model of this machine, calibrating it first if that was never done."""
    # The two names of ONNX's own domain are one.
    opsets = {_domain(name): version for name, version in (opsets or DEFAULT_OPSETS).items()}
    cold_nbytes = 2 * cache_nbytes() if weight_nbytes > cache_nbytes() else 0
    context = Context(threads, RUNTIME.name, processor_name())
    return MeasuredCost(
        store=store,
        stopwatch=Stopwatch(threads, opsets, cold_nbytes=cold_nbytes),
        context=context,
        machine=calibrated_machine(store, context),
        sizes=sizes or {},
        opsets=opsets,
        budget_seconds=budget_seconds,
        cold=cold_nbytes > 0,
    )


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name
