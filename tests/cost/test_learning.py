"""What a profile says of a graph: its parts as the prices know them, their neighbours, the factors."""

import pytest

from tensaur import ops
from tensaur.cost.feedback import Feedback
from tensaur.cost.learning import learn, parts
from tensaur.cost.query import Query
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Input, Project, Weight
from tensaur.ir.types import DType, TensorType
from tensaur.runtime.protocol import Kernel
from tests.cost.facts import tensor, weight
from tests.cost.test_measured import FakeStopwatch, model


def affine():
    """Return relu(x @ w + x) and its negation, with the names of its values."""
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (64, 64))), (), "x")
    w = builder.add(Weight("w", TensorType(DType.FLOAT32, (64, 64))), (), "w")
    product = builder.add(ops.MatMul(), [x, w], "product")
    total = builder.add(ops.Add(), [product, x], "total")
    positive = builder.add(ops.Relu(), [total], "positive")
    negative = builder.add(ops.Neg(), [positive], "negative")
    return builder.build([Output("y", negative)])


KERNELS = (
    Kernel("FusedMatMul", ("product", "total"), 4e-6),
    Kernel("Relu", ("positive",), 2e-6),
    Kernel("Neg", ("negative",), 1e-6),
    Kernel("Reorder", (), 1e-6),
)


def test_parts_are_what_runs_together_with_neighbours():
    fused, relu, neg = parts(affine(), KERNELS)
    square = tensor(64, 64)
    query = Query((ops.MatMul(), ops.Add()), ((0, 1), (-1, 0)), (square, weight(64, 64)))
    assert fused.graph.nodes == query.graph().nodes
    assert (fused.seconds, fused.neighbours) == (4e-6, ((), ("Relu",)))
    assert relu.neighbours == (("FusedMatMul",), ("Neg",))
    assert neg.neighbours == (("Relu",), ())


def test_what_runs_as_several_kernels_is_one_part():
    split = (Kernel("Gemm", ("product",), 1e-6), Kernel("Copy", ("product",), 2e-6))
    (part,) = parts(affine(), split)
    assert part.seconds == pytest.approx(3e-6)


def test_unknown_values_are_left_out():
    assert list(parts(affine(), [Kernel("Mystery", ("elsewhere",), 1.0)])) == []


def test_operators_of_several_values_are_found_by_any_of_them():
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (4, 6))), (), "x")
    halves = builder.add(ops.Split(1, (3, 3)), [x])
    left = builder.add(Project(0), [halves], "left")
    right = builder.add(Project(1), [halves], "right")
    result = builder.add(ops.Relu(), [right], "result")
    graph = builder.build([Output("y", result), Output("z", left)])
    split, relu = parts(
        graph, [Kernel("Split", ("left",), 2e-6), Kernel("Relu", ("result",), 1e-6)]
    )
    assert [type(node.op).__name__ for node in split.graph.nodes] == ["Input", "Split"]
    assert split.neighbours == ((), ("Relu",)) and relu.neighbours == (("Split",), ())


def test_prices_become_those_of_the_model():
    pricer = model(FakeStopwatch())
    graph, feedback = affine(), Feedback(strength=0.01)
    before = [pricer.price_graph(part.graph).amount for part in parts(graph, KERNELS)]
    slower = [
        Kernel(item.kind, item.computes, 3e-9 * price)
        for item, price in zip(KERNELS, before, strict=False)
    ]
    learn(feedback, pricer, graph, slower)
    pricer.use(feedback)
    after = [pricer.price_graph(part.graph).amount for part in parts(graph, KERNELS)]
    assert after == pytest.approx([3 * price for price in before], rel=0.1)
    alone = [pricer.isolated(part.graph).amount for part in parts(graph, KERNELS)]
    assert alone == before


def test_a_profile_without_times_teaches_nothing():
    pricer, feedback = model(FakeStopwatch()), Feedback()
    learn(feedback, pricer, affine(), [Kernel("Relu", ("positive",))])
    assert feedback.factor(()) == 1.0
