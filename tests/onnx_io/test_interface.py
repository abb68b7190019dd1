"""What surrounds the graph, and the names in it, are as in the source."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tensaur.ir.dims import symbol
from tensaur.ir.graph import Graph, GraphBuilder, Node, Output
from tensaur.ir.operator import Input, Weight
from tensaur.ir.types import DType, TensorType
from tensaur.onnx_io import read, to_ir, write
from tensaur.ops import MatMul, Relu
from tests.onnx_io.models import (
    BOOL,
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


def names(values):
    return [item.name for item in values]


def test_documentation_and_metadata_survive():
    relu = node("Relu", "x", "y", name="activation")
    relu.doc_string = "what it does"
    relu.metadata_props.add(key="origin", value="layer 3")
    proto = model([relu], [value("x", FLOAT, ["N", 3])], [value("y", FLOAT, ["N", 3])])
    proto.doc_string, proto.domain, proto.model_version = "model", "example", 7
    proto.producer_version = "1.2"
    helper.set_model_props(proto, {"labels": "cat,dog"})
    proto.graph.doc_string = "graph"
    proto.graph.metadata_props.add(key="k", value="v")
    proto.graph.input[0].doc_string = "pixels"
    proto.graph.output[0].metadata_props.add(key="unit", value="score")
    assert round_trip(proto) == proto


def test_a_value_keeps_its_description():
    middle = value("h", FLOAT, ["N", 3])
    middle.doc_string = "hidden"
    proto = model(
        [node("Relu", "x", "h"), node("Neg", "h", "y")],
        [value("x", FLOAT, ["N", 3])],
        [value("y", FLOAT, ["N", 3])],
        value_info=[middle],
    )
    assert list(round_trip(proto).graph.value_info) == [middle]


def test_a_stale_description_is_dropped():
    proto = model(
        [node("Relu", "x", "h"), node("Neg", "h", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, [2, 3])],
        value_info=[value("h", FLOAT, [1, 3])],
    )
    assert not round_trip(proto).graph.value_info


def test_quantisation_annotations_survive():
    proto = model(
        [node("Relu", "x", "h"), node("Neg", "h", "y")],
        [value("x", FLOAT, [2])],
        [value("y", FLOAT, [2])],
        [const("scale", 0.5, np.float32)],
    )
    note = proto.graph.quantization_annotation.add(tensor_name="h")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    result = round_trip(proto)
    assert list(result.graph.quantization_annotation) == [note]
    assert names(result.graph.initializer) == ["scale"]


def test_symbols_are_shared_and_unknown_sizes_are_not():
    proto = model(
        [node("Add", "a b", "y")],
        [value("a", FLOAT, ["N", None, "?"]), value("b", FLOAT, ["N", None, "?"])],
        [value("y", FLOAT, ["N", None, None])],
    )
    a, b = read(proto).graph.inputs
    n = symbol("N")
    assert a.type == TensorType(DType.FLOAT32, (n, symbol("?a.1"), symbol("?a.2")))
    assert b.type == TensorType(DType.FLOAT32, (n, symbol("?b.1"), symbol("?b.2")))


def test_inputs_that_nobody_uses_stay():
    proto = model(
        [node("Relu", "x", "y")],
        [value("mask", INT64, [2]), value("x", FLOAT, [2])],
        [value("y", FLOAT, [2])],
    )
    source = read(proto)
    assert [item.name for item in source.graph.inputs] == ["mask", "x"]
    pruned = Graph((source.graph.nodes[1], Node(Relu(), (0,), "y")), (Output("y", 1),))
    assert names(write(pruned, source).graph.input) == ["mask", "x"]


def test_overridable_initialisers_stay_inputs_with_a_default():
    proto = model(
        [node("Mul", "w two", "w2"), node("Add", "x w2", "y")],
        [value("x", FLOAT, [3]), value("w", FLOAT, [3])],
        [value("y", FLOAT, [3])],
        [const("w", floats(3)), const("two", 2, np.float32)],
    )
    result = round_trip(proto)
    assert names(result.graph.input) == ["x", "w"]
    x, other = floats(3, seed=1), floats(3, seed=2)
    assert same(run(proto, x=x), run(result, x=x))
    assert same(run(proto, x=x, w=other), run(result, x=x, w=other))


def test_a_default_is_written_even_if_the_graph_no_longer_uses_it():
    proto = model(
        [node("Add", "x w", "y")],
        [value("x", FLOAT, [3]), value("w", FLOAT, [3])],
        [value("y", FLOAT, [3])],
        [const("w", np.zeros(3), np.float32)],
    )
    source = read(proto)
    x = Node(Input("x", TensorType(DType.FLOAT32, (3,))), (), "x")
    result = write(Graph((x,), (Output("y", 0),)), source)
    assert names(result.graph.initializer) == ["w"]
    assert operators(result) == ["Identity"]


@pytest.mark.parametrize("listed", [True, False])
def test_before_ir_4_initialisers_are_constants(listed):
    weight = const("w", floats(4, 5))
    inputs = [value("x", FLOAT, [2, 4]), value("w", FLOAT, [4, 5]), value("gone", FLOAT, [1])]
    proto = model(
        [node("MatMul", "x w", "h"), node("Clip", "h", "y", min=0.0, max=2.0)],
        inputs if listed else inputs[:1],
        [value("y", FLOAT, [2, 5])],
        [weight, const("gone", [1.0], np.float32)] if listed else [weight],
        opset=9,
        ir=3,
    )
    source = read(proto)
    assert [item.name for item in source.graph.inputs] == ["x"]
    result = write(source.graph, source)
    if listed:
        onnx.checker.check_model(result)
    assert names(result.graph.input) == (["x", "w"] if listed else ["x"])
    assert names(result.graph.initializer) == ["w"]
    x = floats(2, 4, seed=3)
    assert same(run(proto, x=x), run(result, x=x))


def test_before_ir_4_a_new_weight_is_no_new_input():
    proto = model(
        [node("MatMul", "x w", "y")],
        [value("x", FLOAT, [2, 4]), value("w", FLOAT, [4, 5])],
        [value("y", FLOAT, [2, 5])],
        [const("w", floats(4, 5))],
        opset=9,
        ir=3,
    )
    source = read(proto)

    class Folded:
        nbytes = 80

        @staticmethod
        def numpy():
            return floats(4, 5) * 2

    builder = GraphBuilder()
    builder.constants["twice"] = Folded()
    x = builder.add(source.graph.inputs[0])
    w = builder.add(Weight("twice", TensorType(DType.FLOAT32, (4, 5))))
    y = builder.add(MatMul(), (x, w))
    result = write(builder.build([Output("y", y)]), source)
    onnx.checker.check_model(result)
    assert names(result.graph.input) == ["x"]
    x_data = floats(2, 4, seed=3)
    assert same(run(result, x=x_data), [x_data @ (floats(4, 5) * 2)])


def test_every_output_gets_exactly_its_name():
    proto = model(
        [
            node("Identity", "x", "y"),
            node("Identity", "x", "z"),
            node("Relu", "x", "a"),
            node("Identity", "a", "b"),
            node("Identity", "a", "c"),
            node("Identity", "w", "d"),
        ],
        [value("x", FLOAT, [2])],
        [value(name, FLOAT, [2]) for name in ("y", "z", "b", "a", "c", "d", "w")],
        [const("w", floats(2))],
    )
    result = round_trip(proto)
    assert names(result.graph.output) == names(proto.graph.output)
    assert sorted(operators(result)) == ["Identity"] * 5 + ["Relu"]
    x = floats(2, seed=5)
    assert same(run(proto, x=x), run(result, x=x))


def test_an_input_may_be_an_output():
    proto = model([], [value("x", FLOAT, [2])], [value("x", FLOAT, [2])])
    result = round_trip(proto)
    assert result == proto


def test_outputs_that_became_equal_are_copies():
    proto = model(
        [node("Relu", "x", "y"), node("Relu", "x", "z")],
        [value("x", FLOAT, [2])],
        [value("y", FLOAT, [2]), value("z", FLOAT, [2])],
    )
    result = round_trip(proto)
    assert operators(result) == ["Relu", "Identity"]
    assert names(result.graph.output) == ["y", "z"]


def test_names_of_nodes_are_kept_but_not_twice():
    proto = model(
        [
            node("Relu", "x", "a", name="n"),
            node("Neg", "a", "b", name="n"),
            node("Abs", "b", "c"),
            node("Sqrt", "c", "y", name=""),
        ],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
    )
    result = round_trip(proto)
    assert names(result.graph.node) == ["n", "", "", ""]
    assert [item.output[0] for item in result.graph.node] == ["a", "b", "c", "y"]


def test_fresh_names_differ_from_all_others():
    proto = model(
        [node("Relu", "x", "relu_1"), node("Neg", "relu_1", "y")],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
    )
    source = read(proto)
    x = source.graph.nodes[0]
    nodes = (x, Node(Relu(), (0,)), Node(Relu(), (1,), "relu_1"), Node(Relu(), (2,), "x"))
    result = write(Graph(nodes, (Output("y", 3),)), source)
    onnx.checker.check_model(result)
    outputs = [item.output[0] for item in result.graph.node]
    assert outputs[1:] == ["relu_1", "y"]
    assert outputs[0] not in ("x", "y", "relu_1")


def test_a_name_that_is_an_output_is_not_given_to_another_value():
    proto = model(
        [node("Relu", "x", "h"), node("Neg", "h", "y")],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
    )
    source = read(proto)
    x = source.graph.nodes[0]
    result = write(
        Graph((x, Node(Relu(), (0,), "y"), Node(Relu(), (1,))), (Output("y", 2),)), source
    )
    onnx.checker.check_model(result)
    assert result.graph.node[1].output[0] == "y"


def test_nodes_out_of_order_are_sorted():
    proto = model(
        [node("Neg", "h", "y"), node("Relu", "x", "h")],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
    )
    source = read(proto)
    result = write(source.graph, source)
    onnx.checker.check_model(result)
    assert operators(result) == ["Relu", "Neg"]


def test_inputs_without_a_shape():
    proto = model([node("Relu", "x", "y")], [value("x", FLOAT, None)], [value("y", FLOAT, None)])
    source = read(proto)
    assert source.graph.inputs[0].type == TensorType(DType.FLOAT32, None)
    assert write(source.graph, source) == proto


def test_onnx_ir_models_are_read():
    proto = model(
        [node("Mul", "x w", "y")],
        [value("x", FLOAT, ["N", 40])],
        [value("y", FLOAT, ["N", 40])],
        [const("w", floats(40))],
    )
    source = read(read(proto).model)
    result = write(source.graph, source)
    assert names(result.graph.initializer) == ["w"]
    x = floats(3, 40, seed=1)
    assert same(run(proto, x=x), run(result, x=x))
    assert to_ir(result, source).graph.inputs[0].name == "x"


def test_local_functions_stay():
    function = helper.make_function(
        "mine", "f", ["x"], ["y"],
        [
            helper.make_node("Constant", [], ["t"], value_float=1.0),
            node("Sub", "t x", "y"),
        ],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    proto = model(
        [
            node("f", "x", "a", domain="mine"),
            node("f", "a", "b", domain="mine"),
            node("Relu", "b", "y"),
        ],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
        domains=["mine"],
        functions=[function],
    )
    result = round_trip(proto)
    assert list(result.functions) == [function]
    assert [(item.domain, item.op_type) for item in result.graph.node] == [
        ("mine", "f"), ("mine", "f"), ("", "Relu"),
    ]  # fmt: skip
    x = floats(3)
    assert same(run(proto, x=x), run(result, x=x))


def test_a_function_that_hides_an_operator_is_not_that_operator():
    function = helper.make_function(
        "", "Relu", ["x"], ["y"], [node("Neg", "x", "y")], [helper.make_opsetid("", 18)]
    )
    proto = model(
        [node("Relu", "x", "y")],
        [value("x", FLOAT, [3])],
        [value("y", FLOAT, [3])],
        functions=[function],
    )
    assert all(not isinstance(item.op, Relu) for item in read(proto).graph)


@pytest.mark.parametrize("domain", ["acme", "com.microsoft"])
def test_custom_operators_stay(domain):
    custom = node("FusedMatMul", "x w", "a", domain=domain, transB=1, alpha=0.5)
    proto = model(
        [custom, node("Relu", "a", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, [2, 4])],
        [const("w", floats(4, 3))],
        domains=[domain],
    )
    result = round_trip(proto)
    assert result.graph.node[0].domain == domain
    assert operators(result) == ["FusedMatMul", "Relu"]
    kept = {item.name: helper.get_attribute_value(item) for item in result.graph.node[0].attribute}
    assert kept == {"transB": 1, "alpha": 0.5}


def test_operators_of_the_runtime_in_the_onnx_domain_are_opaque():
    proto = model(
        [node("SimplifiedLayerNormalization", "x s", "a"), node("Relu", "a", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, [2, 3])],
        [const("s", floats(3))],
    )
    source = read(proto)
    assert operators(write(source.graph, source)) == ["SimplifiedLayerNormalization", "Relu"]


def test_sequences_and_strings_pass():
    words = helper.make_tensor("words", TensorProto.STRING, [3], [b"cat", b"dog", b"emu"])
    proto = model(
        [node("Gather", "words i", "y"), node("SequenceConstruct", "i i", "s")],
        [value("i", INT64, ["n"])],
        [
            value("y", TensorProto.STRING, ["n"]),
            helper.make_tensor_sequence_value_info("s", INT64, ["n"]),
        ],
        [words],
    )
    result = round_trip(proto)
    assert list(result.graph.output) == list(proto.graph.output)
    i = np.array([2, 0])
    assert same(run(proto, i=i), run(result, i=i))


def test_random_draws_are_not_merged_but_pure_operators_are():
    proto = model(
        [
            node("RandomNormalLike", "x", "a"),
            node("RandomNormalLike", "x", "b"),
            node("Sub", "a b", "c"),
            node("CumSum", "c zero", "d"),
            node("CumSum", "c zero", "e"),
            node("Mul", "d e", "y"),
        ],
        [value("x", FLOAT, [16])],
        [value("y", FLOAT, [16])],
        [const("zero", 0, np.int64)],
    )
    assert operators(round_trip(proto)) == [
        "RandomNormalLike",
        "RandomNormalLike",
        "Sub",
        "CumSum",
        "Mul",
    ]


@pytest.mark.parametrize(
    ("opset", "inputs", "attributes", "kept"),
    [
        (9, "x", {"ratio": 0.5}, False),
        (18, "x", {}, False),
        (18, "x ratio", {}, False),
        (18, "x ratio no", {}, False),
        (18, "x ratio yes", {"seed": 1}, True),
        (18, "x ratio flag", {}, True),
    ],
)
def test_dropout_vanishes_at_inference_only(opset, inputs, attributes, kept):
    graph_inputs = [value("x", FLOAT, [4])]
    if "flag" in inputs:
        graph_inputs.append(value("flag", BOOL, []))
    constants = [const("ratio", 0.5, np.float32), const("no", False), const("yes", True)]
    proto = model(
        [node("Dropout", inputs, "a", **attributes), node("Relu", "a", "y")],
        graph_inputs,
        [value("y", FLOAT, [4])],
        [item for item in constants if item.name in inputs.split()],
        opset=opset,
    )
    assert ("Dropout" in operators(round_trip(proto))) == kept


def test_dropout_stays_if_its_mask_is_used():
    proto = model(
        [node("Dropout", "x", "a mask"), node("Where", "mask a x", "y")],
        [value("x", FLOAT, [4])],
        [value("y", FLOAT, [4])],
    )
    assert operators(round_trip(proto)) == ["Dropout", "Where"]


@pytest.mark.parametrize(
    "attribute", ["value", "value_float", "value_floats", "value_int", "value_ints"]
)
def test_constants_of_every_kind(attribute):
    kind = INT64 if "int" in attribute else FLOAT
    data = {
        "value": const("", [1.5, -2.0], np.float32),
        "value_float": 1.5,
        "value_floats": [0.5] * 20,
        "value_int": 3,
        "value_ints": list(range(20)),
    }
    proto = model(
        [
            helper.make_node("Constant", [], ["c"], **{attribute: data[attribute]}),
            node("Add", "x c", "y"),
        ],
        [value("x", kind, ["n"])],
        [value("y", kind, ["m"])],
    )
    result = round_trip(proto)
    assert operators(result) == ["Add"]
    assert names(result.graph.initializer) == ["c"]
    x = np.ones(1, np.int64 if kind == INT64 else np.float32)
    assert same(run(proto, x=x), run(result, x=x))


@pytest.mark.parametrize(
    "kind",
    [
        "BFLOAT16",
        "FLOAT16",
        "DOUBLE",
        "INT4",
        "UINT4",
        "FLOAT8E4M3FN",
        "INT8",
        "UINT16",
        "BOOL",
        "COMPLEX64",
    ],
)
@pytest.mark.parametrize("count", [3, 33])
def test_constants_of_every_element_type_survive(kind, count):
    number = TensorProto.DataType.Value(kind)
    data = [True, False, True] * (count // 3) if kind == "BOOL" else [1, 2, 0] * (count // 3)
    tensor = helper.make_tensor("w", number, [count], data)
    proto = model(
        [node("Identity", "w", "y")], [], [value("y", number, [count])], [tensor], opset=21, ir=10
    )
    result = round_trip(proto)
    before, after = (onnx.numpy_helper.to_array(t) for t in (tensor, result.graph.initializer[0]))
    assert before.dtype == after.dtype
    assert before.tobytes() == after.tobytes()


def test_shared_weights_stay_shared():
    proto = model(
        [
            node("Gather", "E i", "e"),
            node("Transpose", "E", "t", perm=[1, 0]),
            node("MatMul", "e t", "y"),
        ],
        [value("i", INT64, ["n"])],
        [value("y", FLOAT, ["n", 100])],
        [const("E", floats(100, 8))],
    )
    result = round_trip(proto)
    assert names(result.graph.initializer) == ["E"]
    assert read(proto).graph.constants["E"].proto is proto.graph.initializer[0]


def test_sparse_initialisers_survive():
    sparse = helper.make_sparse_tensor(
        const("w", [1.0, 2.0], np.float32), const("", [1, 5], np.int64), [2, 3]
    )
    proto = model(
        [node("Add", "x w", "y")],
        [value("x", FLOAT, [2, 3])],
        [value("y", FLOAT, [2, 3])],
        sparse_initializer=[sparse],
    )
    source = read(proto)
    assert source.graph.constants["w"].numpy().tolist() == [[0, 1, 0], [0, 0, 2]]
    result = round_trip(proto)
    assert list(result.graph.sparse_initializer) == [sparse]
    x = floats(2, 3)
    assert same(run(proto, x=x), run(result, x=x))
