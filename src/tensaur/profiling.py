"""Price everything that a model consists of now: each operator's signature, and each fused group's.

Holds what `tensaur costs measure` does. Prices go into the store, as while optimising.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tensaur.cost.canonical import Unpriceable, canonical
from tensaur.cost.fusion import ask
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.model import is_view, runs
from tensaur.cost.prediction import predicted
from tensaur.cost.pricer import measured_cost
from tensaur.cost.sizes import check_given, graph_sizes, named_sizes
from tensaur.cost.store import Entry, Store, default_path
from tensaur.cost.summary import Figures, figures
from tensaur.egraph.egraph import EGraph
from tensaur.errors import RuntimeFailure, TypeMismatch
from tensaur.extract.space import Space
from tensaur.ir.graph import Graph
from tensaur.onnx_io.source import Source
from tensaur.options import Options
from tensaur.runtime.build import original_of
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Settings

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Profile:
    """What pricing a model took, and what came of it.

    `signatures` were distinct; `measured` now, `stored` before; `estimated` is what could not be measured
    or for which there was no time. `entries` hold the measured ones. `predicted` is the latency in seconds
    that follows, None if the runtime refuses the model.
    """

    signatures: int
    measured: int
    stored: int
    estimated: int
    seconds: float
    spread: Figures | None
    entries: tuple[Entry, ...]
    sizes: Mapping[str, int]
    predicted: float | None


def profile(source: Source, options: Options, say: Say = lambda message: None) -> Profile:
    """Price a model's operators and groups, measuring what is not in the store within `options.seconds`."""
    check_given(source.graph, options.sizes)
    sizes = graph_sizes(source.graph, options.sizes)
    say("looking into the store")
    prices = measured_cost(
        Store(options.store or default_path()),
        sizes=sizes,
        threads=options.threads,
        opsets={item.domain: item.version for item in source.proto.opset_import},
        budget_seconds=options.seconds,
        weight_nbytes=sum(data.nbytes for data in source.graph.constants.values()),
    )
    start = time.perf_counter()
    graphs = signatures(source, prices, options.threads)
    for number, (signature, graph) in enumerate(graphs.items(), 1):
        say(f"pricing {number} of {len(graphs)}: {signature}")
        prices.measure(graph)
    seconds = time.perf_counter() - start
    entries = tuple(entry for graph in graphs.values() if (entry := prices.entry(graph)))
    measured = [entry for entry in entries if entry.stored.nanoseconds is not None]
    return Profile(
        signatures=len(graphs),
        measured=prices.tally.measured,
        stored=len(measured) - prices.tally.measured,
        estimated=len(graphs) - len(measured),
        seconds=seconds,
        spread=figures([entry.stored.spread for entry in measured]),
        entries=tuple(measured),
        sizes=named_sizes(source.graph, sizes),
        predicted=_predicted(source, prices, options.threads),
    )


def signatures(source: Source, prices: MeasuredCost, threads: int) -> dict[str, Graph]:
    """Return the small graphs that a model's price is the sum of, by signature."""
    fused = ask(prices, source, Settings(threads=threads))
    egraph = EGraph()
    root = egraph.load(source.graph)
    space = Space(egraph, root, source.graph.constants, fused.fuses, together=fused.together)
    found: dict[str, Graph] = {}
    for graph in space.queries:
        if not _is_measured(graph):
            continue
        try:
            found.setdefault(canonical(graph, prices.sizes).signature, graph)
        except (Unpriceable, TypeMismatch):  # only an estimate is possible
            found.setdefault(repr(graph), graph)
    return found


def _is_measured(graph: Graph) -> bool:
    """Tell whether a graph has a price of its own: it runs, and does more than change a shape."""
    constant = all(graph.facts[output.node].constant for output in graph.outputs)
    return not constant and any(runs(node.op) and not is_view(node.op) for node in graph.nodes)


def _predicted(source: Source, prices: MeasuredCost, threads: int) -> float | None:
    try:
        kernels = RUNTIME.kernels(original_of(source), Settings(threads=threads))
    except RuntimeFailure:
        return None
    return predicted(prices, source.graph, kernels)
