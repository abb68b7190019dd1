"""One exploration of one network: what to explore and how (`Case`), and what came of it (`Explored`).

Runs in the process that calls it; `apart` gives it one of its own. Makes no tables.
"""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from benchmarks import memory, tensat
from benchmarks.models.builder import OPSET
from benchmarks.models.networks import NETWORKS
from benchmarks.soundness import is_acyclic, is_extractable
from tensaur.cost.analytic import METRICS
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Exploration, Explorer, Limits, Schedule
from tensaur.egraph.record import Seconds
from tensaur.extract.cheapest import cheapest
from tensaur.ir.graph import Graph
from tensaur.ir.rule import Rule
from tensaur.options import Options
from tensaur.pipeline import admitted

# The metric that merging operators pays under: kernels started.
METRIC = "launches"
# A short exploration is repeated until so much time is spent, but not more often than a case says.
ENOUGH_SECONDS = 2.0


def _library() -> tuple[Rule, ...]:
    return admitted(Options(), OPSET)


RULES: Mapping[str, Callable[[], tuple[Rule, ...]]] = {
    "tensat": lambda: tensat.RULES,
    "tensat-single": lambda: tuple(rule for rule in tensat.RULES if not rule.is_multi),
    "library": _library,
    "pairwise": lambda: tuple(rule for rule in _library() if rule.is_multi and rule.group is None),
    "group": lambda: tuple(rule for rule in _library() if rule.group is not None),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A network and how to explore it.

    `limits.multi` is the papers' k_multi. `width`, `layers` and `biases` go to the network's builder, if
    given; a network without convolutions has no `biases` to leave out. `rules` are names in `RULES`.
    `checked` asks for the checks of `soundness`, `priced` for the cost of the best graph, which may take
    so many seconds. `runs` bounds how often a short exploration is repeated.
    """

    network: str
    rules: tuple[str, ...]
    limits: Limits
    width: int | None = None
    layers: int | None = None
    biases: bool | None = None
    cycle_filter: str = "efficient"
    schedule: Schedule = field(default_factory=Schedule)
    runs: int = 5
    checked: bool = False
    priced: float | None = None

    def build(self) -> Graph:
        """Build the network."""
        builder = NETWORKS[self.network]
        given: dict[str, int] = {}
        for name, value in (("width", self.width), ("layers", self.layers)):
            if value is not None:
                given[name] = value
        if self.biases is not None and "bias" in inspect.signature(builder).parameters:
            given["bias"] = self.biases
        return builder(**given)

    def rule_set(self) -> tuple[Rule, ...]:
        """Return the rules."""
        return tuple(chain.from_iterable(RULES[name]() for name in self.rules))


@dataclass(frozen=True, slots=True)
class Price:
    """The cost of the network as it is, of the best graph found, and what no graph is below."""

    before: float
    cost: float
    bound: float


@dataclass(frozen=True, slots=True)
class Explored:
    """What an exploration gave.

    `seconds` are those of the quickest of `runs` explorations, `parts` where they went. `megabytes` is
    how much more memory was in use at most while the first one ran than before it; None where the system
    does not tell.
    """

    loaded: int
    nodes: int
    classes: int
    banned: int
    iterations: int
    stop: str
    seconds: float
    parts: Seconds
    runs: int
    megabytes: float | None
    acyclic: bool | None = None
    extractable: bool | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One exploration that has ended."""

    egraph: EGraph
    root: int
    exploration: Exploration
    seconds: float


def explored(case: Case) -> Explored:
    """Explore, in a process in which nothing was explored before if the memory is to be right."""
    graph, rules = case.build(), case.rule_set()
    memory.reset_peak()
    before = memory.resident_mb()
    best = explore(case, graph, rules)
    peak = memory.peak_mb()
    spent, count = best.seconds, 1
    while count < case.runs and spent < ENOUGH_SECONDS:
        run = explore(case, graph, rules)
        spent, count = spent + run.seconds, count + 1
        best = min(best, run, key=lambda item: item.seconds)
    rows = best.egraph.rows() if case.checked else None
    return Explored(
        len(graph) + 1,
        best.egraph.node_count,
        best.egraph.class_count,
        best.egraph.banned_count,
        len(best.exploration.records),
        best.exploration.stop.name.lower().replace("_", " "),
        best.seconds,
        _parts(best.exploration),
        count,
        None if before is None or peak is None else peak - before,
        None if rows is None else is_acyclic(rows),
        None if rows is None else is_extractable(rows),
        None if case.priced is None else _price(graph, best, case.priced),
    )


def explore(case: Case, graph: Graph, rules: tuple[Rule, ...]) -> Run:
    """Explore once, in a fresh e-graph; loading the graph is not timed."""
    egraph = EGraph()
    root = egraph.load(graph)
    gc.collect()
    start = time.perf_counter()
    explorer = Explorer(
        egraph, rules, case.limits, cycle_filter=case.cycle_filter, schedule=case.schedule
    )
    exploration = explorer.run()
    return Run(egraph, root, exploration, time.perf_counter() - start)


def _parts(exploration: Exploration) -> Seconds:
    records = [record.seconds for record in exploration.records]
    return Seconds(
        sum(item.match for item in records),
        sum(item.apply for item in records),
        sum(item.rebuild for item in records),
        sum(item.filter for item in records),
    )


def _price(graph: Graph, run: Run, seconds: float) -> Price:
    pricer = METRICS[METRIC]()
    original = EGraph()
    before = cheapest(original, original.load(graph), graph, pricer)
    found = cheapest(run.egraph, run.root, graph, pricer, seconds=seconds)
    return Price(before.cost, found.cost, found.bound)
