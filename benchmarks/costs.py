"""Predicted against measured latency: every network and variants of it, under three kinds of prices.

Run as ``python -m benchmarks.costs``. *Isolated* prices are those of single operators, *fused* ones those
of what the runtime computes together, *feedback* corrects these by what the profiles of half of the
variants showed; it is judged on the other half alone. One thread. What is predicted is how long a model
takes that is run again and again: each version is timed in fresh sessions, by itself for as long as its
share of a round lasts, in random order, half of the rounds before prices are measured and half after, since
the machine's own speed changes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

import onnx

from benchmarks.apart import apart
from benchmarks.environment import environment, environment_text
from benchmarks.models.entry import Entry
from benchmarks.models.networks import PAPERS
from benchmarks.tables import Table
from benchmarks.variants import variants
from tensaur import onnx_io
from tensaur.cost.feedback import Feedback
from tensaur.cost.learning import learn
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.prediction import predicted
from tensaur.cost.pricer import measured_cost
from tensaur.cost.query import never
from tensaur.cost.store import Store
from tensaur.egraph.egraph import EGraph
from tensaur.errors import RuntimeFailure
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.refine import Refinement
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import Graph
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Feeds
from tensaur.runtime.stopwatch import latency, meter_for
from tensaur.runtime.timing import estimate

PRICES = ("isolated", "fused", "feedback")
QUICK = ("squeezenet", "nasrnn")
# A difference between two variants counts if its interval excludes 1 and it is larger than this.
LEAST_DIFFERENCE = 0.01
PROFILE_SECONDS = 0.5
ROUNDS = 8


@dataclass
class Costs:
    """One network: measured seconds of each version, predictions by kind of price, and how they compare.

    Version 0 is the network as it is. `held` are the versions that feedback has not seen.
    """

    name: str
    seconds: list[float] = field(default_factory=list)
    predicted: dict[str, list[float]] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)
    pairs: list[tuple[int, int, float]] = field(default_factory=list)
    signatures: int = 0
    profiling: float = 0.0

    def errors(self, prices: str) -> list[float]:
        """Return the relative error of every prediction that may be judged."""
        return [
            abs(self.predicted[prices][item] / self.seconds[item] - 1)
            for item in self._judged(prices)
        ]

    def order(self, prices: str) -> tuple[int, int]:
        """Return how many pairs of versions that truly differ are in the right order, of how many."""
        judged, told = set(self._judged(prices)), self.predicted[prices]
        truly = [(i, j, log) for i, j, log in self.pairs if {i, j} <= judged]
        return sum((told[i] > told[j]) == (log > 0) for i, j, log in truly), len(truly)

    def _judged(self, prices: str) -> Sequence[int]:
        return self.held if prices == "feedback" else range(len(self.seconds))


def costs(name: str, count: int, seconds: float, seed: int = 0) -> Costs:
    """Predict and measure one network and `count` variants."""
    (entry,) = (item for item in PAPERS if item.name == name)
    with tempfile.TemporaryDirectory(prefix="tensaur-") as folder:
        paths = [entry.place(Path(folder) / "original.onnx")]
        for number, model in enumerate(variants(onnx_io.read(paths[0]), count, seed)):
            paths.append(Path(folder) / f"variant{number}.onnx")
            onnx.save(model, paths[-1])
        return _compared(entry, paths, Path(folder), seconds, Random(seed))


def _compared(
    entry: Entry, paths: Sequence[Path], folder: Path, seconds: float, rng: Random
) -> Costs:
    found = Costs(entry.name)
    feeds = dict(entry.feeds(0))
    # The network itself is what a user has: feedback begins there.
    seen = [0, *range(1, len(paths), 2)]
    found.held = [item for item in range(len(paths)) if item not in seen]
    sources = [onnx_io.read(path) for path in paths]
    graphs = [source.graph for source in sources]
    pricer = measured_cost(
        Store(folder / "costs.sqlite"),
        opsets={"": sources[0].opset},
        weight_nbytes=sum(data.nbytes for data in graphs[0].constants.values()),
    )
    every = list(zip(graphs, [RUNTIME.kernels(path) for path in paths], strict=True))
    feedback, rounds = Feedback(), []
    for half in range(2):
        for _ in range(ROUNDS // 2):
            rounds.append(_round(paths, feeds, seconds / ROUNDS, rng))
        profiles = [RUNTIME.profile(paths[item], feeds, seconds=PROFILE_SECONDS) for item in seen]
        if half == 0:
            start = time.perf_counter()
            found.predicted["isolated"] = [_isolated(graph, pricer) for graph in graphs]
            found.predicted["fused"] = [predicted(pricer, *each) for each in every]
            found.profiling = time.perf_counter() - start
            found.signatures = pricer.tally.measured
        for item, profile in zip(seen, profiles, strict=True):
            learn(feedback, pricer, graphs[item], profile)
    found.predicted["feedback"] = [predicted(pricer, *each, feedback) for each in every]
    found.seconds = [median(times) for times in zip(*rounds, strict=True)]
    found.pairs = list(_pairs(rounds))
    return found


def _isolated(graph: Graph, pricer: MeasuredCost) -> float:
    """Return the seconds that all operators take, each of them alone."""
    egraph = EGraph()
    space = Space(egraph, egraph.load(graph), graph.constants, never)

    def solve(problem: Problem, final: bool) -> Solution:
        return extract(problem, "dag")

    refinement = Refinement(space, pricer, time.perf_counter, math.inf)
    refined = refinement.run(solve, None, loaded_only=True)
    return refined.cost * 1e-9 + pricer.stopwatch.overhead(len(graph.inputs))


def _round(paths: Sequence[Path], feeds: Feeds, seconds: float, rng: Random) -> list[float]:
    """Return the seconds of one run of each model, each in a fresh session and with warm caches."""
    found = [0.0] * len(paths)
    for item in rng.sample(range(len(paths)), len(paths)):
        run = RUNTIME.open(paths[item]).runner(feeds)
        found[item] = latency(run, seconds / len(paths), meter=meter_for(1))
    return found


def _pairs(rounds: Sequence[Sequence[float]]) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of versions whose times differ for certain, and log(first / second)."""
    for i, j in itertools.combinations(range(len(rounds[0])), 2):
        told = estimate([math.log(times[i] / times[j]) for times in rounds])
        if not told.low <= 1 <= told.high and abs(math.log(told.ratio)) > LEAST_DIFFERENCE:
            yield i, j, math.log(told.ratio)


def tables(rows: Sequence[Costs]) -> list[Table]:
    """Return errors and orders by network, and over all."""
    head = ["network", "versions", "ms", "signatures", "s",
            *(f"error {item}" for item in PRICES), *(f"order {item}" for item in PRICES)]  # fmt: skip
    body = []
    for row in rows:
        orders = [row.order(item) for item in PRICES]
        body.append(
            [
                row.name,
                str(len(row.seconds)),
                f"{row.seconds[0] * 1e3:.2f}",
                str(row.signatures),
                f"{row.profiling:.1f}",
                *(f"{median(row.errors(item)):.1%}" for item in PRICES),
                *(f"{right}/{of}" for right, of in orders),
            ]
        )
    every = [
        f"{median(error for row in rows for error in row.errors(item)):.1%}" for item in PRICES
    ]
    sums = [
        [sum(part) for part in zip(*(row.order(item) for row in rows), strict=True)]
        for item in PRICES
    ]
    shares = [f"{right / of:.1%} of {of}" if of else "-" for right, of in sums]
    body.append(["all", str(sum(len(row.seconds) for row in rows)), "", "", "", *every, *shares])
    remark = (
        "Median of |predicted / measured - 1| over the versions of each network; for feedback, over those "
        "that it has not seen. Order: pairs of versions whose times differ by more than "
        f"{LEAST_DIFFERENCE:.0%} for certain (95 %), of them predicted in the right order."
    )
    return [Table(head, body, title="Predicted latency", remark=remark)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two networks, as a check")
    parser.add_argument("--networks", nargs="*", default=[entry.name for entry in PAPERS])
    parser.add_argument("--variants", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0, help="of timing, for one network")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args(arguments)
    names = QUICK if given.quick else given.networks
    rows = []
    for name in names:
        try:
            rows.append(apart(costs, name, given.variants, given.seconds))
        except RuntimeFailure as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            continue
        print(tables(rows[-1:])[0].text(), file=sys.stderr, flush=True)
    about = environment_text(environment(("tensaur", "onnxruntime", "numpy")))
    found = tables(rows)
    texts = [item.markdown() if given.markdown else item.text() for item in found]
    print("\n\n".join([f"```\n{about}\n```" if given.markdown else about, *texts]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
