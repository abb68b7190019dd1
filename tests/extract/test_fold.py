"""Constants computed before run time: which can be, what comes out, and what happens when it fails."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensaur.egraph.egraph import EGraph
from tensaur.errors import FoldingFailure
from tensaur.extract import fold
from tensaur.extract.fold import Folder
from tensaur.ir.graph import ArrayData, GraphBuilder, Output
from tensaur.ir.operator import Opaque, Weight
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ir.types import DType, TensorType
from tensaur.ops import Add, MatMul, Mul, Neg, Relu, add, matmul, mul, neg
from tests.extract.spaces import explored

x, y, z = (Var(name) for name in "xyz")
F32 = TensorType(DType.FLOAT32, (32,))
ASSOCIATE = Rule("associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), (), ROUNDING)


def folder_of(egraph, constants, failed=frozenset()):
    """Return the derivations of the constants of an e-graph."""
    rows = egraph.rows()
    children = [tuple(rows.child[a:b].tolist()) for a, b in pairwise(rows.child_start.tolist())]
    return Folder(egraph, rows, children, constants, failed)


def test_values_are_those_of_the_operators():
    found = explored("""\
input x: f32[2,8]
weight a: f32[8,8]
weight b: f32[8]
p = MatMul(a, a)
s = Add(p, b)
t = Transpose{perm=(1, 0)}(s)
y = MatMul(x, t)
output y
""")
    folder, data = found.space.folder, {k: v.array for k, v in found.graph.constants.items()}
    expected = (data["a"] @ data["a"] + data["b"]).T
    assert np.allclose(folder.value(found.cls("t")), expected, rtol=1e-6)
    assert folder.value(found.cls("a")) is data["a"]
    assert folder.nbytes(found.cls("t")) == 256
    assert folder.is_leaf(found.cls("a"))
    assert not folder.is_leaf(found.cls("t"))
    assert found.cls("y") not in folder.choice


def test_items_of_several_outputs_are_folded_but_not_the_tuple():
    found = explored("""\
input x: f32[12]
weight a: f32[32]
s = Split{axis=0, sizes=(12, 20)}(a)
first = s[0]
y = Add(x, first)
output y
""")
    folder, a = found.space.folder, found.graph.constants["a"].array
    assert np.array_equal(folder.value(found.cls("first")), a[:12])
    folded = {option.cls for option in found.space.options if not option.rows}
    assert folded == {found.cls("first")}, "no constant of the file is a tuple"


def test_symbolic_and_text_values_are_not_folded():
    found = explored("""\
input x: f32[N,20]
weight a: f32[20]
s = Shape(x)
y = Add(x, a)
output y
output s
""")
    assert set(found.space.folder.choice) == {found.cls("a")}


def test_what_would_be_huge_is_not_folded(monkeypatch):
    monkeypatch.setattr(fold, "STEP_LIMIT", 4 * 64)
    text = "input x: f32[{0}]\nweight a: f32[{0}]\nb = Neg(a)\ny = Add(x, b)\noutput y\n"
    small, large = explored(text.format(64)), explored(text.format(65))
    assert small.cls("b") in small.space.folder.choice
    assert large.cls("b") not in large.space.folder.choice


def chain(length, op=Neg):
    builder = GraphBuilder()
    builder.constants["w"] = ArrayData(np.arange(32, dtype=np.float32))
    node = builder.add(Weight("w", F32), (), "w")
    for _ in range(length):
        node = builder.add(Add(), [builder.add(op(), [node]), 0])
    return builder.build([Output("y", node)])


def test_deep_chains_need_no_deep_stack():
    graph = chain(3000)
    egraph = EGraph()
    root = egraph.load(graph)
    folder = folder_of(egraph, graph.constants)
    (end,) = folder.children[np.flatnonzero(folder.rows.cls == root)[0]]
    assert len(folder.choice) == 6001
    # -w + w = 0 after every odd step, -0 + w = w after every even one.
    assert np.array_equal(folder.value(end), np.arange(32, dtype=np.float32))


def test_shallow_derivations_are_preferred():
    # b is a weight; a rule says that it equals a long computation on another weight.
    rule = Rule("as-sum", neg(x), add(x, mul(x, x)))
    found = explored(
        "input x: f32[32]\nweight a: f32[32]\nb = Neg(a)\ny = Add(x, b)\noutput y\n", rule
    )
    folder = found.space.folder
    row = folder.choice[found.cls("b")]
    assert type(found.space.operator(row)) is Neg


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_derivation_ends_at_leaves(data):
    builder = GraphBuilder()
    builder.constants["w"] = ArrayData(np.ones(32, np.float32))
    nodes = [builder.add(Weight("w", F32), (), "w")]
    for _ in range(data.draw(st.integers(1, 12))):
        pair = [data.draw(st.sampled_from(nodes)) for _ in range(2)]
        op = data.draw(st.sampled_from((Add(), Mul(), Relu())))
        nodes.append(builder.add(op, pair[: op.arity]))
    egraph = EGraph()
    egraph.load(builder.build([Output("y", nodes[-1])]))
    for _ in range(data.draw(st.integers(0, 4))):
        # Equal values make cycles of classes.
        egraph.union(*(data.draw(st.integers(0, len(builder.nodes) - 1)) for _ in range(2)))
    egraph.rebuild()
    folder = folder_of(egraph, builder.constants)
    constant = {int(cls) for cls in folder.rows.cls if egraph.fact(int(cls)).is_tensor}
    assert set(folder.choice) == constant, "all of it is made of one weight"
    for cls in constant:
        assert folder.value(cls).shape == (32,)


def failing(error):
    """Return an operator class whose values cannot be computed."""

    class Broken(Neg):
        def evaluate(self, *inputs):
            raise error

    return Broken


@pytest.mark.parametrize(
    "error",
    [ValueError("v"), TypeError("t"), IndexError("i"), ZeroDivisionError("z"), MemoryError("m")],
    ids=lambda error: type(error).__name__,
)
def test_a_failure_is_said_and_remembered(error):
    graph = chain(1, failing(error))
    egraph = EGraph()
    egraph.load(graph)
    folder = folder_of(egraph, graph.constants)
    with pytest.raises(FoldingFailure, match=f"folding Broken: {error}"):
        folder.value(2)
    assert folder.failed == {1}
    again = folder_of(egraph, graph.constants, folder.failed)
    assert set(again.choice) == {0}, "neither the failed class nor what needs it"


def test_operators_without_a_definition_are_not_folded():
    builder = GraphBuilder()
    builder.constants["w"] = ArrayData(np.ones(32, np.float32))
    w = builder.add(Weight("w", F32), (), "w")
    opaque = Opaque("", "Mystery", "", (), (F32,), 1)
    egraph = EGraph()
    egraph.load(builder.build([Output("y", builder.add(opaque, [w]))]))
    folder = folder_of(egraph, builder.constants)
    assert egraph.fact(1).constant
    assert set(folder.choice) == {0}


def test_new_products_of_weights_have_values():
    found = explored(
        "input x: f32[2,8]\nweight a: f32[8,8]\nweight b: f32[8,8]\n"
        "xa = MatMul(x, a)\ny = MatMul(xa, b)\noutput y\n",
        ASSOCIATE,
    )
    (made,) = (option.cls for option in found.space.options if not option.rows)
    a, b = (found.graph.constants[name].array for name in "ab")
    assert np.allclose(found.space.folder.value(made), MatMul().evaluate(a, b))
