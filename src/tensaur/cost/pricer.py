"""From what is to be made small to the model that prices with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensaur.cost.analytic import METRICS, PaperCost
from tensaur.cost.calibrate import calibrated_machine
from tensaur.cost.measured import DEFAULT_OPSETS, MeasuredCost
from tensaur.cost.model import Price, PriceKind
from tensaur.cost.objective import LATENCY, SIZE, Objective
from tensaur.cost.own import OwnCost
from tensaur.cost.single import Stopwatch
from tensaur.cost.sizes import Sizes
from tensaur.cost.store import Context, Store, default_path
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator
from tensaur.ir.types import Fact
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.processor import cache_nbytes, core_cache_nbytes, processor_name

# From the surest to the least sure: a sum is as sure as its least sure part.
_KINDS = (PriceKind.EXACT, PriceKind.MEASURED, PriceKind.ESTIMATED)

Model = MeasuredCost | PaperCost


@dataclass(frozen=True, slots=True)
class Part:
    """A model and the factor that its prices have in a sum."""

    factor: float
    model: Model


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """A sum of models; both a `CostModel` and a `Pricer`. The size of constants is no operator's price."""

    parts: tuple[Part, ...]

    @property
    def measured(self) -> MeasuredCost | None:
        """Return the part that measures, None if latency has no part in the sum."""
        return next(
            (part.model for part in self.parts if isinstance(part.model, MeasuredCost)), None
        )

    def quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        """Return the price of one operator; its kind is that of the least sure part."""
        quotes = [part.model.quote(op, inputs, output) for part in self.parts]
        amount = self._sum([quote.amount for quote in quotes])
        kinds = [_KINDS.index(quote.kind) for quote in quotes]
        return Price(amount, _KINDS[max(kinds, default=0)])

    def price(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> float:
        """Return the amount of `quote`."""
        return self.quote(op, inputs, output).amount

    def estimate(self, graph: Graph) -> float:
        """Return a price at once, from the models."""
        return self._sum([part.model.estimate(graph) for part in self.parts])

    def known(self, graph: Graph) -> float | None:
        """Return a price that needs no further measuring, None if a part has none yet."""
        amounts = [part.model.known(graph) for part in self.parts]
        known = [amount for amount in amounts if amount is not None]
        return self._sum(known) if len(known) == len(amounts) else None

    def measure(self, graph: Graph) -> float:
        """Return the price, measured now if it is not known."""
        return self._sum([part.model.measure(graph) for part in self.parts])

    def refuses(self, graph: Graph) -> bool:
        """Tell whether a part knows that the target cannot run the graph at all."""
        return any(part.model.refuses(graph) for part in self.parts)

    def _sum(self, amounts: Sequence[float]) -> float:
        return sum(part.factor * each for part, each in zip(self.parts, amounts, strict=True))


def pricer_for(
    objective: Objective,
    sizes: Sizes | None = None,
    threads: int = 1,
    store: Path | None = None,
    *,
    opsets: Mapping[str, int] | None = None,
    budget_seconds: float = math.inf,
    weight_nbytes: int = 0,
) -> WeightedSum:
    """Return the model of an objective; a single metric is a sum of one part.

    `store` is the file of measured prices, None for the one in the user's cache directory. `opsets` are
    those that the priced operators will be written in. `weight_nbytes` is the size of all weights of the
    model: beyond the cache's, operators find theirs in memory.
    """
    if objective.own is not None:
        return WeightedSum((Part(1, OwnCost(sizes or {}, objective.own, objective.text)),))

    def measured() -> MeasuredCost:
        return measured_cost(
            Store(store or default_path()),
            sizes=sizes,
            threads=threads,
            opsets=opsets,
            budget_seconds=budget_seconds,
            weight_nbytes=weight_nbytes,
        )

    parts = tuple(
        Part(factor, _model(metric, sizes or {}, measured))
        for metric, factor in objective.factors
        if metric != SIZE
    )
    return WeightedSum(parts)


def _model(metric: str, sizes: Sizes, measured: Callable[[], MeasuredCost]) -> Model:
    return measured() if metric == LATENCY else METRICS[metric](sizes)


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
    cold_nbytes = _cold_nbytes(weight_nbytes)
    context = Context(threads, RUNTIME.name, processor_name())
    return MeasuredCost(
        store=store,
        stopwatch=Stopwatch(threads, opsets, cold_nbytes=cold_nbytes),
        context=context,
        machine=calibrated_machine(store, context),
        sizes=sizes or {},
        opsets=opsets,
        budget_seconds=budget_seconds,
        cold_nbytes=cold_nbytes,
    )


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _cold_nbytes(weight_nbytes: int) -> int:
    """Return how many bytes of weights lie between two uses of the same ones, 0 if a core keeps them.

    In powers of two, so that models of about one size share prices; beyond the largest cache more is no
    colder.
    """
    if weight_nbytes <= core_cache_nbytes():
        return 0
    return int(min(1 << (weight_nbytes - 1).bit_length(), 2 * cache_nbytes()))
