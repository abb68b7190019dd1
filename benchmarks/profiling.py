"""Seconds to price 500 distinct signatures, from an empty store and from a full one.

`python -m benchmarks.profiling [COUNT]` draws signatures of operators and fused groups from the papers'
networks, each with the opsets and the weights of its network, and prices all of them twice.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.models.networks import PAPERS
from tensaur import onnx_io
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.pricer import measured_cost
from tensaur.cost.sizes import Sizes, graph_sizes
from tensaur.cost.store import Store
from tensaur.cost.summary import figures
from tensaur.ir.graph import Graph
from tensaur.profiling import signatures

COUNT = 500


@dataclass(frozen=True, slots=True)
class Drawn:
    """Small graphs of one network, and what their prices depend on beside themselves."""

    graphs: tuple[Graph, ...]
    sizes: Sizes
    opsets: dict[str, int]
    weight_nbytes: int

    def prices(self, store: Store) -> MeasuredCost:
        """Return the model that prices these graphs from and into a store."""
        return measured_cost(
            store, sizes=self.sizes, opsets=self.opsets, weight_nbytes=self.weight_nbytes
        )


def draw(count: int, folder: Path) -> list[Drawn]:
    """Return so many graphs, distinct within and between the networks."""
    store = Store(folder / "drawing.sqlite")
    found: list[Drawn] = []
    seen: set[str] = set()
    for entry in PAPERS:
        if len(seen) == count:
            break
        source = onnx_io.read(entry.place(folder / f"{entry.name}.onnx"))
        drawn = Drawn(
            (),
            graph_sizes(source.graph, entry.sizes),
            {item.domain: item.version for item in source.proto.opset_import},
            sum(data.nbytes for data in source.graph.constants.values()),
        )
        graphs = []
        for signature, graph in signatures(source, drawn.prices(store), 1).items():
            if signature not in seen and len(seen) < count:
                seen.add(signature)
                graphs.append(graph)
        found.append(Drawn(tuple(graphs), drawn.sizes, drawn.opsets, drawn.weight_nbytes))
    return found


def price(drawn: Sequence[Drawn], path: Path) -> float:
    """Return the seconds that pricing everything takes, calibration included."""
    begin = time.perf_counter()
    store = Store(path)
    for item in drawn:
        prices = item.prices(store)
        for graph in item.graphs:
            prices.measure(graph)
    seconds = time.perf_counter() - begin
    store.close()
    return seconds


def main(count: int) -> None:
    """Print both figures."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw(count, Path(folder))
        path = Path(folder) / "costs.sqlite"
        begin = time.process_time()
        empty = price(drawn, path)
        busy = time.process_time() - begin
        stored = [entry.stored for entry in Store(path).entries()]
        full = price(drawn, path)
    print(f"{sum(len(item.graphs) for item in drawn)} distinct signatures")
    print(f"from an empty store {empty:.1f} s ({busy:.1f} s of them on a processor)")
    print(f"from a full store {full:.2f} s")
    spread = figures([item.spread for item in stored if item.nanoseconds is not None])
    if spread is not None:
        print(f"spread: median {spread.median:.1%}, 90 % at most {spread.most:.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
