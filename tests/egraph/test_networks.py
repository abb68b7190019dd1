"""Both rule sets on the papers' networks: no cycle, nothing lost, one value for all rows of a class."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from benchmarks.models.networks import NETWORKS
from tensaur.egraph.budget import Limits, StopReason
from tensaur.ir.operator import Input, Root, Weight, evaluate
from tensaur.ops import Relu
from tests.egraph.networks import RULE_SETS, Explored, network, outcome, rows_of

# Checking each application by itself takes seconds where hundreds of matches would close a cycle.
LONG = (
    "inception-v3",
    "nasnet-a",
    "nasrnn",
    "nasrnn-unshared",
    "nmt",
    "resnext50-branches",
    "rnntc",
)
CASES = [
    pytest.param(
        name, rules, kind, marks=[pytest.mark.slow] if kind == "vanilla" and name in LONG else []
    )
    for kind in ("efficient", "vanilla")
    for rules in RULE_SETS
    for name in NETWORKS
]
on_all_networks = pytest.mark.parametrize(("name", "rules", "kind"), CASES)


def cyclic_classes(rows):
    """Return the classes that lie on a cycle, by SciPy's strongly connected components."""
    edges = [(row.cls, kid) for row in rows for kid in row.kids]
    size = 1 + max(row.cls for row in rows)
    parent, child = np.array(edges).T
    graph = coo_array((np.ones(len(edges)), (parent, child)), shape=(size, size))
    _, component = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(component)
    return {cls for cls, kid in edges if cls == kid or sizes[component[cls]] > 1}


def extractable_classes(rows):
    """Return the classes for which rows can be chosen, each made of classes chosen before."""
    done = set()
    size = -1
    while size < (size := len(done)):
        done |= {row.cls for row in rows if done.issuperset(row.kids)}
    return done


@on_all_networks
def test_no_cycle_is_left_and_a_term_can_be_extracted_from_every_class(name, rules, kind):
    found = outcome(name, rules, kind)
    every = rows_of(found.explored.egraph)
    rows = [row for row in every if not row.banned]
    assert not cyclic_classes(rows)
    assert extractable_classes(rows) == {row.cls for row in every}
    assert found.exploration.stop is not StopReason.TIME_LIMIT


@on_all_networks
def test_every_part_of_a_network_stays_in_its_class(name, rules, kind):
    explored = outcome(name, rules, kind).explored
    assert not explored.lost
    assert explored.egraph.represents(explored.graph, explored.root)
    explored.egraph.check_invariants()


def evaluated(rows, constants):
    """Yield each row with its value and the first value found for its class, bottom-up."""
    rng = np.random.default_rng(0)
    known = {}
    waiting = [*(row for row in rows if not row.banned), *(row for row in rows if row.banned)]
    while waiting:
        left = []
        for row in waiting:
            if all(kid in known for kid in row.kids):
                value = value_of(row.op, [known[kid] for kid in row.kids], constants, rng)
                yield row, value, known.setdefault(row.cls, value)
            else:
                left.append(row)
        assert len(left) < len(waiting)
        waiting = left


def value_of(op, inputs, constants, rng):
    """Return what an operator makes, as a list of tensors or one, in double precision."""
    if isinstance(op, Input):
        return rng.standard_normal(op.type.static_shape)
    if isinstance(op, Weight):
        return wide(constants[op.name].numpy())
    return inputs if isinstance(op, Root) else wide(evaluate(op, inputs))


def wide(value):
    """Return floats in double precision, so that rounding is far from what a wrong rule changes."""
    if isinstance(value, tuple):
        return [wide(item) for item in value]
    return value.astype(np.float64) if value.dtype == np.float32 else value


def difference(value, first):
    """Return by how much two values differ, as a part of the greatest element."""
    if isinstance(first, list):
        return max(difference(*pair) for pair in zip(value, first, strict=True))
    assert (value.shape, value.dtype) == (first.shape, first.dtype)
    assert np.isfinite(first).all()
    scale = np.abs(first).max(initial=1e-30)
    return float(np.abs(value - first).max(initial=0.0) / scale)


@on_all_networks
def test_all_rows_of_a_class_have_one_value(name, rules, kind):
    explored = outcome(name, rules, kind).explored
    rows = rows_of(explored.egraph)
    compared = 0
    for row, value, first in evaluated(rows, explored.graph.constants):
        # Known values are folded in single precision.
        assert difference(value, first) < 1e-6, explored.egraph.describe(row.number)
        compared += value is not first
    assert compared == len(rows) - explored.egraph.class_count


def test_wrong_rules_are_seen_in_the_values():
    """The values tell a network whose classes are right from one in which two were mixed up."""
    explored = Explored(network("squeezenet"), Limits())
    rows = rows_of(explored.egraph)
    relus = [row.number for row in rows if isinstance(row.op, Relu)]
    by_type = {}
    for cls in relus:
        by_type.setdefault(explored.egraph.fact(cls).type, []).append(cls)
    first, second = next(alike[:2] for alike in by_type.values() if len(alike) > 1)
    explored.egraph.union(first, second)
    explored.egraph.rebuild()
    differences = [
        difference(value, expected)
        for _, value, expected in evaluated(rows_of(explored.egraph), explored.graph.constants)
    ]
    assert max(differences) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
@pytest.mark.parametrize("name", NETWORKS)
def test_larger_egraphs_of_networks_are_acyclic_feasible_and_right(name, rules):
    explored = Explored(network(name), Limits(nodes=20_000, iterations=8, multi=2))
    explored.explore(rules, "efficient")
    every = rows_of(explored.egraph)
    rows = [row for row in every if not row.banned]
    assert not cyclic_classes(rows)
    assert extractable_classes(rows) == {row.cls for row in every}
    assert not explored.lost
    for row, value, first in evaluated(every, explored.graph.constants):
        assert difference(value, first) < 1e-6, explored.egraph.describe(row.number)
