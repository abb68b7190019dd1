"""Whatever the graph: optimised, it computes the same, costs no more, and has the same interface."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import onnx
import pytest

from tensaur import onnx_io
from tensaur.cost.sizes import named_sizes
from tensaur.errors import RuntimeFailure, TensaurError
from tensaur.ir.text import graph_text
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.rules import ALL_RULES
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import agree
from tensaur.runtime.inputs import random_feeds
from tests.quality.graphs import backward_graph, forward_graph, model, rule_graph

KINDS = ("forward", "backward", "rules")
RULES = tuple(one for rule in ALL_RULES for one in rule.directed())
BATCHES = (3, 1, 5)


def drawn(kind, seed):
    """Return a random graph and sizes for its symbols, None where the draw led to nothing."""
    rng = Random(f"{kind}/{seed}")
    if kind == "forward":
        return forward_graph(rng, rng.randint(6, 15)), {}
    if kind == "backward":
        return backward_graph(rng, rng.randint(3, 12)), {}
    planted = rule_graph(rng.sample(RULES, rng.choice((1, 1, 2, 3))), rng)
    return None if planted is None else (planted.graph, dict(planted.sizes))


def options_for(seed, graph, sizes):
    """Return random options for the rewriting alone of one graph."""
    rng = Random(seed)
    return Options(
        cost=rng.choice(("flops", "bytes", "launches")),
        extract=rng.choice(("ilp", "ilp", "dag", "tree")),
        max_growth=rng.choice((None, None, 0)),
        nodes=rng.choice((300, 3000)),
        iterations=rng.choice((3, 6)),
        sizes=named_sizes(graph, {"N": BATCHES[0], **sizes}),
        seconds=20,
        gate=False,
    )


def finite_feeds(session, sizes):
    """Return inputs of several batches on which the model runs and every output is a number."""
    found = []
    for batch in BATCHES:
        try:
            drawn_feeds = random_feeds(session, {**sizes, "N": batch}, count=2)
            found += [feeds for feeds in drawn_feeds if _finite(session.run(feeds))]
        except RuntimeFailure:  # a batch that the model does not take
            continue
    return found


def _finite(outputs):
    # Clip without an upper bound gives the greatest number for infinity, so that is no number either.
    floats = [item.astype(np.float64) for item in outputs.values() if item.dtype.kind == "f"]
    return all((np.abs(item) < 1e30).all() for item in floats)


def check(kind, seed):
    """Optimise one random graph; return whether there was something to check."""
    found = drawn(kind, seed)
    if found is None or not found[0].outputs:
        return False
    graph, sizes = found
    try:
        before = model(graph)
        session = open_session(before)
        feeds = finite_feeds(session, sizes)
    except TensaurError:  # the draw is not writable, or the runtime has no kernel for it
        return False
    if not feeds:
        return False
    options = options_for(seed, graph, sizes)
    result = optimize(before, options=options)
    told = f"{kind} graph {seed}, {options}:\n{graph_text(graph)}"
    assert result.reason == "not compared and not timed", f"{result.reason}\n{told}"
    after = result.model
    assert result.cost_after <= result.cost_before, told
    assert list(after.graph.input) == list(before.graph.input), told
    assert list(after.graph.output) == list(before.graph.output), told
    assert onnx_io.read(after).graph.outputs, told
    compared = agree(session, open_session(after), feeds)
    assert compared.equal, f"{compared.reason}\n{told}\n{graph_text(onnx_io.read(after).graph)}"
    return True


def run(kind, seeds):
    """Check many graphs; some draws lead to nothing, but not most."""
    checked = sum(check(kind, seed) for seed in seeds)
    assert checked > len(seeds) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_random_graphs(kind):
    run(kind, range(8))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_graphs(kind, part):
    run(kind, range(100 + 80 * part, 180 + 80 * part))


@pytest.mark.parametrize("seed", range(4))
def test_optimising_twice_changes_nothing_more(seed):
    found = drawn("forward", 50 + seed)
    assert found is not None
    options = replace(
        options_for(seed, found[0], {}), extract="ilp", max_growth=1 << 30, iterations=6, nodes=3000
    )
    once = optimize(model(found[0]), options=options)
    twice = optimize(once.model, options=options)
    assert twice.cost_before == once.cost_after
    assert twice.cost_after <= once.cost_after
    onnx.checker.check_model(twice.model)
