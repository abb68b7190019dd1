"""Latency measured on this machine, operator by operator, kept in the store.

Holds `MeasuredCost`: what to measure, when to estimate instead, and where the numbers are kept. How a
graph is run alone is `single`'s matter.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

from tensaur.cost.analytic import Machine, Roofline
from tensaur.cost.canonical import Canonical, Unpriceable, canonical, operator_graph
from tensaur.cost.feedback import Feedback
from tensaur.cost.model import FREE, Price, PriceKind, is_free, is_view, runs, sum_prices
from tensaur.cost.single import Timed
from tensaur.cost.sizes import Sizes
from tensaur.cost.store import Context, Entry, Store, Stored
from tensaur.errors import RuntimeRefusal, TensaurError, TypeMismatch
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Opaque, Operator
from tensaur.ir.types import Fact
from tensaur.runtime.stopwatch import Clock

DEFAULT_OPSETS: Mapping[str, int] = {"": 18}

# Begins the stored fault of what the runtime cannot open at all, alone or in any model.
_REFUSED = "refused: "


class Measure(Protocol):
    """Runs a static graph alone."""

    def measure(self, graph: Graph) -> Timed:
        """Return the seconds of one run; RuntimeFailure or Unpriceable if it cannot be run."""

    def overhead(self, inputs: int) -> float:
        """Return the seconds of running a model with this many inputs and no operator."""


@dataclass(slots=True)
class Tally:
    """How many signatures were measured now, found in the store, estimated, and the seconds spent."""

    measured: int = 0
    stored: int = 0
    estimated: int = 0
    seconds: float = 0.0


@dataclass
class MeasuredCost:
    """Prices operators and small graphs in nanoseconds.

    Every signature is measured once and stored. Once measuring has taken `budget_seconds`, or for what
    cannot be run alone, the price is the roofline estimate times the median factor by which measured
    prices of the same operators (else of all) exceeded theirs: estimates alone are lower bounds,
    and would draw extraction to whatever was not measured. What the roofline puts above
    `hopeless_nanoseconds` is not measured either. A price, once given, does not change.
    """

    store: Store
    stopwatch: Measure
    context: Context
    machine: Machine
    sizes: Sizes = field(default_factory=dict)
    opsets: Mapping[str, int] = field(default_factory=lambda: DEFAULT_OPSETS)
    budget_seconds: float = math.inf
    hopeless_nanoseconds: float = math.inf
    cold_nbytes: int = 0
    clock: Clock = time.perf_counter
    now: Clock = time.time
    tally: Tally = field(default_factory=Tally)
    feedback: Feedback = field(default_factory=Feedback)
    _prices: dict[str, Price] = field(default_factory=dict)
    _operators: dict[tuple[Operator, tuple[Fact, ...]], Price] = field(default_factory=dict)
    _factors: dict[str, list[float]] = field(default_factory=dict)

    def quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        """Return the price of one operator with its kind."""
        if is_free(op, output):
            return FREE
        if is_view(op):
            return self._launch()
        key = (op, tuple(inputs))
        if key not in self._operators:
            self._operators[key] = self._quote(op, inputs, output)
        return self._operators[key]

    def price(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> float:
        """Return the amount of `quote`."""
        return self.quote(op, inputs, output).amount

    def price_graph(self, graph: Graph) -> Price:
        """Return the price of a graph run as a whole, such as a group that the runtime fuses.

        Its leaves are inputs, weights (their data do not matter) and literals.
        """
        return self._priced(graph, self.feedback)

    def isolated(self, graph: Graph) -> Price:
        """Return the price of a graph run alone, whatever models that it was part of have shown."""
        return self._priced(graph, None)

    def path(self, graph: Graph) -> tuple[str, ...]:
        """Return what feedback on a graph is kept by: its operators, and its signature if it has one."""
        item = self._canonical(graph)
        return (_kind(graph),) if item is None else _path(item)

    def use(self, feedback: Feedback) -> None:
        """Correct all further prices by what running whole models has shown."""
        self.feedback = feedback
        self._operators.clear()

    def estimate(self, graph: Graph) -> float:
        """Return the roofline estimate of a graph, at once."""
        plain = self._unmeasured(graph)
        return self._roofline(graph) if plain is None else plain.amount

    def known(self, graph: Graph) -> float | None:
        """Return the price of a graph if nothing has to be measured for it, else None."""
        plain = self._unmeasured(graph)
        if plain is not None:
            return plain.amount
        item = self._canonical(graph)
        if item is None:
            return self._estimate(graph).amount
        if item.signature not in self._prices and self._stored(item) is None:
            return None
        return self._corrected(item, self.feedback).amount

    def measure(self, graph: Graph) -> float:
        """Return the price of a graph, measuring it if it is not stored."""
        return self.price_graph(graph).amount

    def refuses(self, graph: Graph) -> bool:
        """Tell whether the runtime was found to have no kernel for the graph."""
        found = self.entry(graph)
        return found is not None and found.stored.fault.startswith(_REFUSED)

    def entry(self, graph: Graph) -> Entry | None:
        """Return what is stored about a graph, None if nothing is."""
        item = None if self._unmeasured(graph) is not None else self._canonical(graph)
        stored = None if item is None else self._stored(item)
        if item is None or stored is None:
            return None
        return Entry(self._key(item), self.context, stored)

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        try:
            return self.price_graph(operator_graph(op, inputs, self.sizes))
        except (Unpriceable, TypeMismatch):  # a type not known enough, or that fails at these sizes
            self.tally.estimated += 1
            amount = self._model.price(op, inputs, output) * self._factor(type(op).__name__)
            return Price(max(round(amount), 1), PriceKind.ESTIMATED)

    def _unmeasured(self, graph: Graph) -> Price | None:
        """Return the price of a graph for which a stopwatch is no use, None for all others."""
        if all(graph.facts[output.node].constant for output in graph.outputs):
            return FREE
        running = [node.op for node in graph.nodes if runs(node.op)]
        # Alone, a view's result would be copied out; inside a model it is not.
        if all(is_view(op) for op in running):
            price = self._launch()
            return Price(price.amount * len(running), price.kind)
        return None

    def _launch(self) -> Price:
        return Price(max(round(self.machine.launch_seconds * 1e9), 1), PriceKind.ESTIMATED)

    def _canonical(self, graph: Graph) -> Canonical | None:
        """Return the form in which a graph can be measured, None if it cannot be."""
        try:
            return canonical(graph, self.sizes)
        except (Unpriceable, TypeMismatch):
            return None

    def _priced(self, graph: Graph, feedback: Feedback | None) -> Price:
        plain = self._unmeasured(graph)
        if plain is not None:
            return plain
        item = self._canonical(graph)
        if item is None:
            return self._estimate(graph)
        return self._price(item) if feedback is None else self._corrected(item, feedback)

    def _corrected(self, item: Canonical, feedback: Feedback) -> Price:
        price = self._price(item)
        return Price(max(round(price.amount * feedback.factor(_path(item))), 1), price.kind)

    def _price(self, item: Canonical) -> Price:
        if item.signature not in self._prices:
            self._prices[item.signature] = self._look_up(item)
        return self._prices[item.signature]

    def _look_up(self, item: Canonical) -> Price:
        stored = self._stored(item)
        if stored is None:
            stored = self._measure(item.graph)
            if stored is None:
                return self._estimate(item.graph)
            self.store.put(self._key(item), self.context, stored)
        else:
            self.tally.stored += 1
        if stored.nanoseconds is None:
            return self._estimate(item.graph)
        self._learn(item.graph, stored.nanoseconds)
        return Price(stored.nanoseconds, PriceKind.MEASURED)

    def _stored(self, item: Canonical) -> Stored | None:
        return self.store.get(self._key(item), self.context)

    def _key(self, item: Canonical) -> str:
        opsets = ",".join(f"{domain}:{version}" for domain, version in sorted(self.opsets.items()))
        weights = f" among {self.cold_nbytes >> 10} KiB of weights" if self.cold_nbytes else ""
        return f"{item.signature} @{opsets}{weights}"

    def _measure(self, graph: Graph) -> Stored | None:
        """Measure a graph; None if it should not be measured now."""
        if self.tally.seconds >= self.budget_seconds:
            return None
        if self._roofline(graph) > self.hopeless_nanoseconds:
            return None
        start = self.clock()
        try:
            timed = self.stopwatch.measure(graph)
        except RuntimeRefusal as error:
            return Stored(None, f"{_REFUSED}{error}")
        except (TensaurError, Unpriceable) as error:
            return Stored(None, str(error))
        finally:
            self.tally.seconds += self.clock() - start
        self.tally.measured += 1
        return Stored(
            max(round(timed.seconds * 1e9), 1),
            spread=timed.spread,
            estimate=round(self._roofline(graph)),
            measured_at=self.now(),
        )

    def _estimate(self, graph: Graph) -> Price:
        self.tally.estimated += 1
        amount = self._roofline(graph) * self._factor(_kind(graph))
        return Price(max(round(amount), 1), PriceKind.ESTIMATED)

    @property
    def _model(self) -> Roofline:
        return Roofline(self.sizes, self.machine)

    def _roofline(self, graph: Graph) -> float:
        try:
            return sum_prices(self._model, graph)
        except TypeMismatch:  # unknown dimensions whose representative sizes contradict each other
            return self._launch().amount * sum(runs(node.op) for node in graph.nodes)

    def _learn(self, graph: Graph, nanoseconds: int) -> None:
        factor = nanoseconds / max(self._roofline(graph), 1)
        self._factors.setdefault(_kind(graph), []).append(factor)

    def _factor(self, kind: str) -> float:
        own = self._factors.get(kind)
        if own:
            return median(own)
        every = [factor for factors in self._factors.values() for factor in factors]
        return median(every) if every else 1.0


def _path(item: Canonical) -> tuple[str, ...]:
    return (_kind(item.graph), item.signature)


def _kind(graph: Graph) -> str:
    """Return the operators of a graph, as a name for its kind."""
    running = [node.op for node in graph.nodes if runs(node.op)]
    return "+".join(op.op_type if isinstance(op, Opaque) else type(op).__name__ for op in running)
