"""What one optimisation gives back: the model, the figures, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensaur import onnx_io
from tensaur.cost.metrics import Metrics
from tensaur.extract.serialized import Serialized


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rule that the optimised graph owes something to, and at how many places.

    `share` is how much of the gain in cost is lost without the rule, None if that was not found out.
    """

    rule: str
    count: int
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Measured run times: seconds of the original and the result, and original / result with its interval."""

    before: float
    after: float
    ratio: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Advice:
    """A way to open the model in which it runs faster: without some of the runtime's optimisations.

    `option` is what a user sets, `ratio` plain / without with its interval.
    """

    without: tuple[str, ...]
    option: str
    ratio: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ExtractionSummary:
    """How the graph was chosen: method, its cost, the bound on any graph's cost, and whether it meets it.

    `prover` found the bound; `gap` is how far the cost may be above the optimum, as a share of the cost.
    """

    method: str
    cost: float
    bound: float
    proved: bool
    seconds: float
    stop: str
    prover: str = ""
    gap: float = 0.0


@dataclass(frozen=True)
class Result:
    """An optimised model, or the original if nothing faster and equal was found.

    `reason` says in a sentence why this model was returned. Costs are in `cost_unit`. `trusted` names the
    rules among `rewrites` that were used although nothing has verified them. `limits` says what was above a
    limit: dropped candidates, and the original itself. `egraph` is the priced e-graph that was extracted from
    last, None if there was none.
    """

    source: onnx_io.Source = field(repr=False)
    written: Any = field(repr=False)
    kept_original: bool
    reason: str
    latency: Latency | None
    cost_before: float
    cost_after: float
    cost_unit: str
    nodes_before: int
    nodes_after: int
    rewrites: tuple[Rewrite, ...]
    records: tuple[Any, ...] = field(repr=False)
    stop: str
    extraction: ExtractionSummary | None
    comparison: Any = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()
    metrics_before: Metrics | None = None
    metrics_after: Metrics | None = None
    limits: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    egraph: Serialized | None = field(default=None, repr=False)

    @property
    def model(self) -> Any:
        """Return the model as an `onnx.ModelProto`."""
        return self.written

    @property
    def speedup(self) -> float:
        """Return original / result run time; 1.0 if the original was kept or nothing was timed."""
        return 1.0 if self.latency is None or self.kept_original else self.latency.ratio

    @property
    def speedup_interval(self) -> tuple[float, float] | None:
        """Return the confidence interval of `speedup`, None if nothing was timed."""
        return None if self.latency is None or self.kept_original else self.latency.interval

    @property
    def latency_before(self) -> float | None:
        """Return the original's run time in seconds, None if nothing was timed."""
        return None if self.latency is None else self.latency.before

    @property
    def latency_after(self) -> float | None:
        """Return the returned model's run time in seconds, None if nothing was timed."""
        if self.latency is None:
            return None
        return self.latency.before if self.kept_original else self.latency.after

    def save(self, path: str | Path) -> None:
        """Write the model to `path`: beside it first, then renamed, so that nothing is half-written."""
        onnx_io.save(self.written, self.source, Path(path))
