"""Group rules of the library on networks: all at once in one iteration, where pairs take several."""

from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.models.recurrent import nasrnn
from benchmarks.models.transformers import bert_encoder, bert_tensat
from tensaur.cost.analytic import Launches
from tensaur.cost.model import FREE
from tensaur.egraph.budget import Limits
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.operator import Project
from tensaur.ops import Concat, MatMul, Split
from tensaur.rules import ALL_RULES
from tests.extract.spaces import never

GROUPS = tuple(rule for rule in ALL_RULES if rule.group is not None)
PAIRS = tuple(rule for rule in ALL_RULES if rule.is_multi)
SINGLES = tuple(rule for rule in ALL_RULES if rule.group is None and not rule.is_multi)


def products_by_input(graph):
    """Return the products by a constant of each varying value: lists of their positions."""
    found: dict[int, list[int]] = {}
    for position, node in enumerate(graph):
        if isinstance(node.op, MatMul):
            left, right = node.inputs
            if graph.facts[right].constant and not graph.facts[left].constant:
                found.setdefault(left, []).append(position)
    return {left: products for left, products in found.items() if len(products) > 1}


def assert_merged(egraph, graph, left, products):
    """Assert that each product is an output of one split of one product by all constants joined."""
    size = egraph.node_count
    classes = []
    for node in graph:
        classes.append(egraph.add(node.op, [classes[item] for item in node.inputs]))
    constants = [graph.nodes[product].inputs[1] for product in products]
    joined = egraph.add(Concat(axis=-1), [classes[item] for item in constants])
    merged = egraph.add(MatMul(), [classes[left], joined])
    sizes = tuple(graph.facts[item].shape[-1] for item in constants)
    parts = egraph.add(Split(axis=-1, sizes=sizes), [merged])
    for index, product in enumerate(products):
        assert egraph.add(Project(index), [parts]) == egraph.find(classes[product])
    assert egraph.node_count == size, "some of this was not there"


CASES = {
    "bert": (bert_tensat(width=32, layers=3), [4, 4, 4]),
    "bert-encoder": (bert_encoder(width=24, heads=2, layers=2, sequence=5), [3, 3]),
    # At the first step, the state is a constant.
    "nasrnn": (nasrnn(width=8, steps=3), [8, 8, 8, 8, 8]),
    "nasrnn-unshared": (nasrnn(width=8, steps=3, shared=False), [8, 8, 8, 8, 8]),
}


@pytest.mark.parametrize("rules", [GROUPS, ALL_RULES], ids=["groups", "library"])
@pytest.mark.parametrize(("graph", "sizes"), CASES.values(), ids=CASES.keys())
def test_one_iteration_merges_all_products_of_one_value(graph, sizes, rules):
    egraph = EGraph()
    egraph.load(graph)
    limits = Limits(nodes=100_000, seconds=1e6, iterations=1)
    Explorer(egraph, rules, limits).run()
    by_input = products_by_input(graph)
    assert [len(products) for products in by_input.values()] == sizes
    for left, products in by_input.items():
        assert_merged(egraph, graph, left, products)


@dataclass(frozen=True)
class FreeSplits(Launches):
    """Kernels started, where splitting starts none: as in TenSat and TASO, and best for pairs."""

    def _quote(self, op, inputs, output):
        return FREE if isinstance(op, Split) else super()._quote(op, inputs, output)


@dataclass(frozen=True)
class Reached:
    """The least cost after exploring, and the number of e-nodes that it took."""

    cost: int
    nodes: int


def reached(graph, rules, model, multi):
    """Explore and extract the proven best; pairs of pairs of pairs need three iterations."""
    egraph = EGraph()
    root = egraph.load(graph)
    Explorer(egraph, rules, Limits(nodes=4000, seconds=1e6, iterations=4, multi=multi)).run()
    space = Space(egraph, root, graph.constants, never)
    prices = np.array([model.estimate(query) for query in space.queries], dtype=float)
    problem = space.problem(prices, np.zeros(len(prices), dtype=bool), None)
    solution = extract(problem, "ilp", seconds=120)
    assert solution.proved
    return Reached(space.price(space.picked(problem, solution), prices), egraph.node_count)


@pytest.mark.parametrize(
    ("singles", "model"),
    [
        pytest.param((), Launches(), id="multi-only-launches"),
        pytest.param((), FreeSplits(), id="multi-only-free-splits"),
        pytest.param(SINGLES, Launches(), id="library-launches"),
        pytest.param(SINGLES, FreeSplits(), id="library-free-splits", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("graph", "rounds"),
    [(nasrnn(512, steps=1, shared=False), 3), (bert_tensat(1024, layers=1), 2)],
    ids=["nasrnn", "bert"],
)
def test_groups_reach_in_one_round_what_pairs_reach_in_several(graph, rounds, singles, model):
    """Eight products are three rounds of pairs, four are two."""
    pairs = reached(graph, (*singles, *PAIRS), model, rounds)
    both = reached(graph, (*singles, *PAIRS, *GROUPS), model, 1)
    assert both.cost <= pairs.cost
    assert both.nodes < pairs.nodes
    if not singles:
        assert both.cost < reached(graph, PAIRS, model, 1).cost
    # With as many rounds, pairs go on growing beside the groups, but nothing gets dearer.
    assert reached(graph, (*singles, *PAIRS, *GROUPS), model, rounds).cost <= pairs.cost
