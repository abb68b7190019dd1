"""Operator classes are written at every opset that has them, and read back as what they were."""

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tensaur import ops
from tensaur.errors import TensaurError
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Absent, Input, Literal, Opaque, Project, Weight
from tensaur.ir.types import ABSENT, DType, Known, TupleType
from tensaur.onnx_io import Source, read, writable, write
from tensaur.onnx_io.operators import write_operator
from tensaur.onnx_io.types import elem_type_of
from tests.onnx_io.models import (
    FLOAT,
    INT64,
    const,
    floats,
    model,
    node,
    operators,
    round_trip,
    run,
    same,
    value,
)
from tests.ops.draws import draw, opsets

OPSETS = [
    pytest.param(cls, opset, id=f"{cls.__name__}-{opset}")
    for cls in ops.OPERATORS
    for opset in opsets(cls)
    if opset >= 7
]


def source_for(graph, opset):
    """Return a source with the interface of a graph."""
    inputs = [helper.make_tensor_value_info(i.name, elem_type_of(i.type.dtype), i.type.shape)
              for i in graph.inputs]  # fmt: skip
    kinds = [graph.facts[output.node].type for output in graph.outputs]
    outputs = [
        helper.make_tensor_value_info(o.name, elem_type_of(kind.dtype), kind.shape)
        for o, kind in zip(graph.outputs, kinds, strict=True)
    ]
    proto = helper.make_model(
        helper.make_graph([], "graph", inputs, outputs),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=9,
    )
    return Source(graph, proto, opset, None, Path())


def graph_of(case):
    """Return the graph that applies a drawn operator."""
    builder = GraphBuilder()
    inputs = []
    for i, item in enumerate(case.inputs):
        if isinstance(item, Known):
            inputs.append(builder.add(Literal(item), (), f"c{i}"))
        elif item == ABSENT:
            inputs.append(builder.add(Absent()))
        else:
            inputs.append(builder.add(Input(f"x{i}", item), (), f"x{i}"))
    whole = builder.add(case.op, inputs, "y")
    if not isinstance(case.fact.type, TupleType):
        return builder.build([Output("y", whole)])
    parts = range(case.op.output_count)
    return builder.build([Output(f"y{i}", builder.add(Project(i), (whole,))) for i in parts])


@pytest.mark.parametrize(("cls", "opset"), OPSETS)
def test_written_and_read_back(cls, opset):
    read_back = 0
    for seed in range(12):
        case = draw(cls, Random(f"{cls.__name__}{opset}{seed}"), DType.FLOAT32)
        if case is None:
            case = draw(cls, Random(seed), DType.BOOL) or draw(cls, Random(seed), DType.INT64)
        assert case is not None
        graph = graph_of(case)
        source = source_for(graph, opset)
        try:
            proto = write(graph, source)
        except TensaurError as error:
            assert f"opset {opset}" in str(error)
            continue
        try:
            onnx.checker.check_model(proto, full_check=True)
        except onnx.shape_inference.InferenceError:
            continue  # a type that this opset does not have yet
        assert writable(cls, opset)
        again = read(proto).graph
        (found,) = (item.op for item in again if not again_leaf(item.op))
        # Not compared with ==: before opset 11 axes are counted from the left.
        assert type(found) is cls
        expected = case.op.canonical(case.facts, case.op.output_count)
        one, other = (write_operator(i, case.facts, case.fact, opset) for i in (found, expected))
        assert one == other
        read_back += 1
    assert read_back or opset < 13


def again_leaf(op):
    return isinstance(op, (Input, Literal, Absent, Project, Weight))


def test_not_writable_before_and_after():
    assert not writable(ops.LayerNormalization, 16)
    assert writable(ops.LayerNormalization, 17)
    assert writable(Opaque, 1)
    assert all(writable(cls, 21) for cls in ops.OPERATORS)


def test_an_operator_that_the_opset_lacks_is_refused():
    case = draw(ops.LayerNormalization, Random(1), DType.FLOAT32)
    graph = graph_of(case)
    with pytest.raises(TensaurError, match="opset 16 has no such operator"):
        write(graph, source_for(graph, 16))


def only_operator(proto):
    """Return the one operator of a model that is no leaf."""
    (found,) = (item.op for item in read(proto).graph if not again_leaf(item.op))
    return found


def image_model(op_type, opset=18, size=(7, 8), weight=None, **attributes):
    constants = [] if weight is None else [const("w", floats(*weight))]
    inputs = "x" if weight is None else "x w"
    return model(
        [node(op_type, inputs, "y", **attributes)],
        [value("x", FLOAT, [1, 2, *size])],
        [value("y", FLOAT, None)],
        constants,
        opset=opset,
    )


def checked(proto):
    """Write a model again and compare its outputs; return the one operator in it."""
    rewritten(proto)
    return only_operator(proto)


def rewritten(proto):
    source = read(proto)
    result = write(source.graph, source)
    (x,) = proto.graph.input
    shape = [dim.dim_value or 5 for dim in x.type.tensor_type.shape.dim]
    data = floats(*shape)
    assert same(run(proto, x=data), run(result, x=data))
    return result


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("op_type", ["Conv", "MaxPool", "AveragePool"])
def test_automatic_padding_becomes_pads(op_type, stride, mode):
    shape = {"weight": (3, 2, 3, 2)} if op_type == "Conv" else {"kernel_shape": [3, 2]}
    proto = image_model(op_type, auto_pad=mode, strides=[stride, stride], **shape)
    op = checked(proto)
    assert isinstance(op, getattr(ops, op_type))
    assert len(op.pads) == 4
    assert any(op.pads) == mode.startswith("SAME")


@pytest.mark.parametrize(("stride", "known"), [(1, True), (2, False)])
def test_automatic_padding_of_unknown_sizes(stride, known):
    proto = image_model(
        "Conv", weight=(3, 2, 3, 3), size=("h", "w"), auto_pad="SAME_UPPER", strides=[stride] * 2
    )
    assert isinstance(checked(proto), ops.Conv if known else Opaque)


def test_rounding_up_with_automatic_padding_is_opaque():
    proto = image_model("MaxPool", kernel_shape=[2, 2], auto_pad="SAME_UPPER", ceil_mode=1)
    assert isinstance(only_operator(proto), Opaque)


def test_defaults_are_written_out():
    op = checked(image_model("Conv", weight=(3, 2, 3, 3)))
    assert op == ops.Conv((1, 1), (0, 0, 0, 0), (1, 1), 1)


def test_an_attribute_that_the_class_lacks_must_have_its_default():
    plain = image_model("MaxPool", kernel_shape=[2, 2], storage_order=0)
    other = image_model("MaxPool", kernel_shape=[2, 2], storage_order=1)
    assert isinstance(only_operator(plain), ops.MaxPool)
    assert isinstance(only_operator(other), Opaque)


def test_an_output_that_nobody_uses_does_not_count():
    proto = image_model("MaxPool", kernel_shape=[2, 2])
    proto.graph.node[0].output.append("indices")
    assert isinstance(checked(proto), ops.MaxPool)
    proto.graph.output.append(value("indices", INT64, None))
    assert isinstance(read(proto).graph.nodes[1].op, Opaque)


def test_a_float_default_in_single_precision_is_the_default():
    explicit = image_model("LeakyRelu", alpha=0.01)
    assert only_operator(explicit) == only_operator(image_model("LeakyRelu"))


@pytest.mark.parametrize(
    ("opset", "attributes"), [(6, {"min": 0.0}), (9, {"min": 0.0, "max": 6.0}), (9, {})]
)
def test_old_clip(opset, attributes):
    proto = image_model("Clip", opset=opset, **attributes)
    assert isinstance(checked(proto), ops.Clip)
    result = rewritten(proto)
    written = result.graph.node[0]
    assert not result.graph.initializer
    kept = {item.name: item.f for item in written.attribute}
    assert attributes.items() <= kept.items()
    assert len(written.input) == 1


def test_an_input_that_must_be_constant_and_is_not():
    proto = model(
        [node("Slice", "x starts ends", "y")],
        [value("x", FLOAT, [4]), value("starts", INT64, [1]), value("ends", INT64, [1])],
        [value("y", FLOAT, None)],
    )
    assert isinstance(only_operator(proto), Opaque)


def test_attributes_from_computed_constants():
    proto = model(
        [node("Concat", "one two", "axes", axis=0), node("ReduceSum", "x axes", "y")],
        [value("x", FLOAT, [2, 3, 4])],
        [value("y", FLOAT, None)],
        [const("one", [1], np.int64), const("two", [-1], np.int64)],
    )
    source = read(proto)
    assert ops.ReduceSum((1, -1), True) in [item.op for item in source.graph]
    result = write(source.graph, source)
    assert operators(result) == ["ReduceSum"]
    assert same(run(proto, x=floats(2, 3, 4)), run(result, x=floats(2, 3, 4)))


@pytest.mark.parametrize(("axes", "known"), [("axes", True), ("", False)])
def test_an_attribute_that_has_no_effect(axes, known):
    proto = model(
        [node("ReduceSum", f"x {axes}", "y", noop_with_empty_axes=1)],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, None)],
        [const("axes", [1], np.int64)],
    )
    assert isinstance(checked(proto), ops.ReduceSum) == known


def test_a_stale_claim_does_not_hide_an_operator():
    proto = model(
        [node("NonZero", "x", "n"), node("Shape", "n", "s"), node("Reshape", "x s", "y")],
        [value("x", FLOAT, [2, 2])],
        [value("y", FLOAT, [1, 2, 2])],
    )
    assert any(isinstance(item.op, ops.Reshape) for item in read(proto).graph)


def test_constants_in_place_of_attributes_are_shared():
    proto = model(
        [node("ReduceSum", "x a", "s"), node("ReduceMean", "x b", "m"), node("Add", "s m", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, None)],
        [const("a", [1], np.int64), const("b", [1], np.int64)],
    )
    source = read(proto)
    result = write(source.graph, source)
    assert len(result.graph.initializer) == 1
    assert same(run(proto, x=floats(2, 3)), run(result, x=floats(2, 3)))


@pytest.mark.parametrize(
    ("opset", "attributes", "size", "found"),
    [
        (11, {}, 6, ops.Split(0, (3, 3))),
        (11, {"split": [2, 4], "axis": -1}, 6, ops.Split(-1, (2, 4))),
        (13, {}, 6, ops.Split(0, (3, 3))),
        (18, {"num_outputs": 2}, 7, ops.Split(0, (4, 3))),
        (18, {"num_outputs": 2}, "n", None),
    ],
)
def test_split(opset, attributes, size, found):
    proto = model(
        [node("Split", "x", "a b", **attributes), node("Neg", "b", "c")],
        [value("x", FLOAT, [size])],
        [value("a", FLOAT, None), value("c", FLOAT, None)],
        opset=opset,
    )
    op = read(proto).graph.nodes[1].op
    assert op == found if found is not None else isinstance(op, Opaque)
    source = read(proto)
    result = write(source.graph, source)
    data = floats(6 if size == "n" else size)
    assert same(run(proto, x=data), run(result, x=data))


def test_split_into_one():
    proto = model(
        [node("Split", "x", "a", num_outputs=1), node("Neg", "a", "y")],
        [value("x", FLOAT, [4])],
        [value("y", FLOAT, None)],
    )
    assert operators(rewritten(proto)) == ["Split", "Neg"]


def test_batch_normalisation_in_training_is_opaque():
    vectors = [const(name, np.abs(floats(2, seed=i)) + 1) for i, name in enumerate("sbmv")]
    for opset, attributes, outputs, known in (
        (9, {}, "y", True),
        (9, {"momentum": 0.5}, "y", True),
        (9, {}, "y m2 v2 m3 v3", False),
        (14, {}, "y", True),
        (14, {"training_mode": 1}, "y m2 v2", False),
        (14, {"training_mode": 1}, "y", False),
    ):
        proto = model(
            [node("BatchNormalization", "x s b m v", outputs, **attributes)],
            [value("x", FLOAT, [1, 2, 3])],
            [value("y", FLOAT, [1, 2, 3])],
            vectors,
            opset=opset,
        )
        op = next(
            item.op for item in read(proto).graph if item.name == "y" or item.op.output_count > 1
        )
        assert isinstance(op, ops.BatchNormalization) == known, (opset, attributes, outputs)


def test_integers_are_not_confused_with_float_attributes():
    proto = model(
        [node("Cast", "x", "y", to=TensorProto.INT32)],
        [value("x", FLOAT, [2])],
        [value("y", TensorProto.INT32, [2])],
    )
    assert only_operator(proto) == ops.Cast(DType.INT32)
    assert round_trip(proto).graph.node[0].attribute[0].i == TensorProto.INT32


def test_the_other_name_of_the_onnx_domain():
    proto = model(
        [node("Relu", "x", "y", domain="ai.onnx")],
        [value("x", FLOAT, [2])],
        [value("y", FLOAT, [2])],
    )
    proto.opset_import[0].domain = "ai.onnx"
    assert checked(proto) == ops.Relu()
