"""Constants that are computed to the same numbers become one class, and no others do."""

import numpy as np
import pytest

from tensaur.egraph.egraph import EGraph
from tensaur.extract.numbering import ConstantNumbering
from tensaur.ir.graph import ArrayData, GraphBuilder, Output
from tensaur.ir.operator import Input, Weight
from tensaur.ir.types import DType, TensorType
from tensaur.ops import Add, Mul

SHAPE = (6, 5)


def loaded(arrays, dtype=DType.FLOAT32):
    """Return an e-graph that holds the weights and x, and the classes of the weights by name."""
    builder = GraphBuilder()
    kind = TensorType(dtype, SHAPE)
    x = builder.add(Input("x", kind), (), "x")
    for name, array in arrays.items():
        builder.constants[name] = ArrayData(np.asarray(array, dtype=dtype.numpy))
        read = builder.add(Weight(name, kind), (), name)
        builder.add(Add(), (x, read), f"reads_{name}")
    graph = builder.build([Output("y", len(builder.nodes) - 1)])
    egraph = EGraph()
    egraph.load(graph)
    rows = {name: row for row, name in egraph.names.items()}
    return egraph, graph.constants, rows


def drawn(seed=0):
    return np.random.default_rng(seed).uniform(0.5, 2.0, SHAPE).astype(np.float32)


def test_products_in_another_order_are_one_class():
    arrays = {"w": drawn(0), "s": drawn(1), "t": drawn(2)}
    egraph, constants, rows = loaded(arrays)
    w, s, t = (rows[name] for name in "wst")
    left = egraph.add(Mul(), (egraph.add(Mul(), (w, s)), t))
    right = egraph.add(Mul(), (w, egraph.add(Mul(), (s, t))))
    numbering = ConstantNumbering(egraph, constants, seconds=10.0)
    numbering()
    assert egraph.find(left) == egraph.find(right)
    assert numbering.joined == 1
    egraph.check_invariants()


def test_readers_of_joined_constants_are_congruent():
    w = drawn(0)
    egraph, constants, rows = loaded({"w": w, "again": w.copy()})
    ConstantNumbering(egraph, constants, seconds=10.0)()
    assert egraph.find(rows["reads_w"]) == egraph.find(rows["reads_again"])


@pytest.mark.parametrize("change", [1e-3, 1e-4])
def test_one_element_that_differs_keeps_constants_apart(change):
    w = drawn(0)
    other = w.copy()
    # A small element beside large ones: a norm over the whole tensor would not see it.
    w[0, 0], other[0, 0] = 1e-6, 1e-6 * (1 + change)
    egraph, constants, rows = loaded({"w": w, "other": other})
    ConstantNumbering(egraph, constants, seconds=10.0)()
    assert egraph.find(rows["w"]) != egraph.find(rows["other"])


def test_exact_joins_equal_bits_alone():
    w = drawn(0)
    arrays = {"w": w, "rounded": np.nextafter(w, np.float32(9)), "same": w.copy()}
    egraph, constants, rows = loaded(arrays)
    ConstantNumbering(egraph, constants, seconds=10.0, exact=True)()
    assert egraph.find(rows["w"]) == egraph.find(rows["same"])
    assert egraph.find(rows["w"]) != egraph.find(rows["rounded"])
    ConstantNumbering(egraph, constants, seconds=10.0)()
    assert egraph.find(rows["w"]) == egraph.find(rows["rounded"])


def test_integers_are_compared_exactly():
    w = np.full(SHAPE, 2**30, dtype=np.int64)
    egraph, constants, rows = loaded({"w": w, "next": w + 1}, DType.INT64)
    ConstantNumbering(egraph, constants, seconds=10.0)()
    assert egraph.find(rows["w"]) != egraph.find(rows["next"])


def test_infinities_and_nans_agree_with_themselves():
    w = drawn(0)
    w[0, :3] = np.nan, np.inf, -np.inf
    egraph, constants, rows = loaded({"w": w, "same": w.copy()})
    ConstantNumbering(egraph, constants, seconds=10.0)()
    assert egraph.find(rows["w"]) == egraph.find(rows["same"])


def test_no_time_joins_nothing():
    w = drawn(0)
    egraph, constants, rows = loaded({"w": w, "same": w.copy()})
    ConstantNumbering(egraph, constants, seconds=0.0)()
    assert egraph.find(rows["w"]) != egraph.find(rows["same"])


def test_each_constant_is_computed_once():
    w, s = drawn(0), drawn(1)
    egraph, constants, rows = loaded({"w": w, "s": s})
    numbering = ConstantNumbering(egraph, constants, seconds=10.0)
    numbering()
    product = egraph.add(Mul(), (rows["w"], rows["s"]))
    twin = egraph.add(Mul(), (rows["s"], rows["w"]))
    numbering()
    assert egraph.find(product) == egraph.find(twin)
    numbering()
    assert numbering.joined == 1
