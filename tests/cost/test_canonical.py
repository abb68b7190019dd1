"""Signatures: equal for what runs equally fast, different for what the runtime treats differently."""

import numpy as np
import pytest

from tensaur import ops
from tensaur.cost.canonical import Unpriceable, canonical, leaf, operator_graph
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Absent, Input, Literal, Opaque, Project, Weight
from tensaur.ir.types import ABSENT, DType, Fact, Known, OtherType, TensorType, literal_fact
from tests.cost.facts import BATCH, SEQUENCE, chain, scalar, tensor, weight

SIZES = {"batch": 2, "sequence": 5}


def signature(op, *inputs, sizes=SIZES):
    return canonical(operator_graph(op, inputs, sizes), sizes).signature


def vector(*numbers: float, dtype: DType = DType.FLOAT32) -> Fact:
    return literal_fact(Known.of(np.array(numbers), dtype))


@pytest.mark.parametrize(
    ("op", "first", "second"),
    [
        (ops.Relu(), [tensor(BATCH, 3)], [tensor(2, 3)]),
        (ops.Mul(), [tensor(9), scalar(0.37)], [tensor(9), scalar(0.74)]),
        (ops.Add(), [tensor(3), vector(1, 2, 3)], [tensor(3), vector(4, 5, 6)]),
    ],
)
def test_what_runs_alike_has_one_signature(op, first, second):
    assert signature(op, *first) == signature(op, *second)


@pytest.mark.parametrize(
    ("op", "first", "second"),
    [
        (ops.Relu(), [tensor(2, 3)], [tensor(3, 2)]),
        (ops.Relu(), [tensor(2, 3)], [tensor(2, 3, dtype=DType.FLOAT64)]),
        (ops.MatMul(), [tensor(2, 3), tensor(3, 4)], [tensor(2, 3), weight(3, 4)]),
        (ops.Pow(), [tensor(9), scalar(2.0)], [tensor(9), scalar(2.5)]),
        (ops.Mul(), [tensor(9), scalar(1.0)], [tensor(9), scalar(1.5)]),
        (ops.Mul(), [tensor(9), scalar(1.5)], [tensor(9), vector(1.5)]),
        (
            ops.Expand(),
            [tensor(1, 1), vector(2, 3, dtype=DType.INT64)],
            [tensor(1, 1), vector(3, 2, dtype=DType.INT64)],
        ),
    ],
)
def test_what_runs_differently_has_two(op, first, second):
    assert signature(op, *first) != signature(op, *second)


def test_attributes_count():
    x = tensor(2, 3)
    assert signature(ops.Transpose(perm=(0, 1)), x) != signature(ops.Transpose(perm=(1, 0)), x)


def test_sizes_count():
    x = tensor(SEQUENCE)
    assert signature(ops.Relu(), x) != signature(ops.Relu(), x, sizes={"sequence": 6})


def test_one_value_read_twice_is_not_two_values():
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (3,))))
    twice = builder.build([Output("y", builder.add(ops.Add(), [x, x]))])
    assert canonical(twice, {}).signature != signature(ops.Add(), tensor(3), tensor(3))


def test_names_do_not_count():
    kind = TensorType(DType.FLOAT32, (3,))
    graphs = [chain([Input(name, kind)], ops.Relu(), ops.Neg()) for name in ("x", "other")]
    first, second = (canonical(graph, {}) for graph in graphs)
    assert first == second
    assert first.signature == "input f32[3]; Relu(%0); Neg(%1); return %2"


def test_values_count_in_groups():
    # Whether the runtime fuses a group may depend on the values of its scalars.
    kind = TensorType(DType.FLOAT32, (3,))

    def group(factor):
        builder = GraphBuilder()
        x = builder.add(Input("x", kind))
        half = builder.add(Literal(Known.of(factor, DType.FLOAT32)))
        return builder.build(
            [Output("y", builder.add(ops.Erf(), [builder.add(ops.Mul(), [x, half])]))]
        )

    assert canonical(group(0.7), {}).signature != canonical(group(0.8), {}).signature


def test_dead_nodes_are_left_out():
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (3,))))
    builder.add(ops.Exp(), [x])
    graph = builder.build([Output("y", builder.add(ops.Neg(), [x]))])
    assert canonical(graph, {}).signature == "input f32[3]; Neg(%0); return %1"


def test_tuples_are_taken_apart_to_be_run():
    split = ops.Split(axis=0, sizes=(1, 2))
    item = canonical(operator_graph(split, [tensor(3)], {}), {})
    assert [type(item.graph.nodes[output.node].op) for output in item.graph.outputs] == [
        Project,
        Project,
    ]


@pytest.mark.parametrize(
    ("fact", "kind"),
    [
        (tensor(BATCH, 3), Input),
        (weight(3), Weight),
        (scalar(1.0), Literal),
        (Fact(ABSENT, None, constant=True), Absent),
        (Fact(TensorType(DType.INT64, (2,)), Known.of_dims((BATCH, 3))), Literal),
    ],
)
def test_leaves_stand_for_facts(fact, kind):
    found = leaf(fact, "x", SIZES)
    assert type(found) is kind
    if fact.is_tensor:
        assert found.infer().type == TensorType(fact.dtype, found.infer().tensor.static_shape)


@pytest.mark.parametrize("kind", [TensorType(DType.FLOAT32, None), OtherType("seq")])
def test_unknown_types_cannot_be_priced(kind):
    with pytest.raises(Unpriceable):
        leaf(Fact(kind), "x", {})
    with pytest.raises(Unpriceable):
        canonical(chain([Input("x", kind)], Opaque("", "Any", "", (), (kind,), 1)), {})


def test_opaque_operators_are_told_apart_by_their_attributes():
    kind = TensorType(DType.FLOAT32, (BATCH,))
    ops_ = [
        Opaque("", "Mystery", "", (("a", bytes([number])),), (kind,), 1, unique=name)
        for number, name in ((1, "n1"), (1, "n2"), (2, "n1"))
    ]
    one, same, other = (signature(op, tensor(2)) for op in ops_)
    assert one == same != other


def test_operators_with_bodies_cannot_be_priced():
    kind = TensorType(DType.FLOAT32, (2,))
    op = Opaque("", "Loop", "", (), (kind,), 1)
    with pytest.raises(Unpriceable, match="Loop runs a subgraph"):
        signature(op, tensor(2))
