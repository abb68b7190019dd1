"""Different graphs for one network: extracted from its explored e-graph under randomly distorted prices.

They differ in what the rules can do to the network, and are about as good as it; nothing is timed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tensaur import onnx_io
from tensaur.cost.analytic import TYPICAL_MACHINE, Roofline
from tensaur.cost.query import never
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer, Limits
from tensaur.extract.lower import lower
from tensaur.extract.numbering import ConstantNumbering
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.onnx_io import Source
from tensaur.options import Options
from tensaur.pipeline import admitted

NODES, SECONDS, ITERATIONS = 5_000, 10.0, 6
# Spread of the distortion: the standard deviation of its logarithm.
DISTORTION = 0.7
# Variants that promise to take longer than this many times the original's time are left out.
WORST = 1.5
_ATTEMPTS = 20  # for one variant


def variants(source: Source, count: int, seed: int = 0) -> Iterator[Any]:
    """Yield at most `count` distinct models, each equal to the source, none of them the source itself."""
    egraph = EGraph()
    root = egraph.load(source.graph)
    rules = admitted(Options(), source.opset)
    numbering = ConstantNumbering(egraph, source.graph.constants, SECONDS)
    limits = Limits(nodes=NODES, seconds=SECONDS, iterations=ITERATIONS, multi=1)
    Explorer(egraph, rules, limits, on_iteration=numbering).run()
    writes = partial(onnx_io.expressible, opset=source.opset)
    space = Space(egraph, root, source.graph.constants, never, writes)
    paper = Roofline({}, TYPICAL_MACHINE)
    prices = np.array([paper.estimate(query) for query in space.queries], dtype=float)
    refused = np.zeros(len(prices), dtype=bool)
    rng = np.random.default_rng(seed)
    original = space.problem(prices, refused, None, loaded_only=True)
    most = WORST * space.price(space.picked(original, extract(original, "dag")), prices)
    seen = [source.graph.nodes]
    for _ in range(_ATTEMPTS * count):
        distorted = prices * np.exp(DISTORTION * rng.standard_normal(len(prices)))
        problem = space.problem(distorted, refused, None)
        picked = space.picked(problem, extract(problem, "dag"))
        if space.price(picked, prices) > most:
            continue
        graph = lower(space, picked, source.graph)
        if graph.nodes in seen:
            continue
        seen.append(graph.nodes)
        yield onnx_io.write(graph, source)
        if len(seen) > count:
            return
