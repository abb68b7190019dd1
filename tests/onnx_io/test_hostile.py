"""Files that are no valid models: one clear line, naming the file and the fault."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tensaur.errors import ModelError
from tensaur.onnx_io import read
from tensaur.onnx_io.hazards import elements_can_be_followed
from tests.onnx_io.models import FLOAT, INT64, body, const, floats, model, node, value

X, Y = [value("x", FLOAT, [3])], [value("y", FLOAT, [3])]


def valid(weights=()):
    return model([node("Relu", "x", "y")], X, Y, weights)


def refused(path_or_model, *words):
    """Read what must be refused in one line that holds these words."""
    with pytest.raises(ModelError) as caught:
        read(path_or_model)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    for word in words:
        assert str(word) in message
    return message


def saved(tmp_path, proto):
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def test_a_valid_file_is_read(tmp_path):
    path = saved(tmp_path, valid())
    assert read(path).path == path
    assert read(str(path)).folder == tmp_path


def test_no_file(tmp_path):
    refused(tmp_path / "none.onnx", tmp_path / "none.onnx", "no such file")


def test_a_folder(tmp_path):
    refused(tmp_path, tmp_path, "folder")


def test_an_empty_file(tmp_path):
    path = tmp_path / "model.onnx"
    path.touch()
    refused(path, path, "empty")


def test_a_device():
    refused("/dev/zero", "regular file")


def test_a_name_that_cannot_be():
    refused("a\0b", "cannot be read")


def test_something_else_than_a_model():
    refused(42, "expected a path")


def test_truncated_at_every_length(tmp_path):
    data = model(
        [node("MatMul", "x w", "h"), node("Relu", "h", "y")],
        X, [value("y", FLOAT, [4])], [const("w", floats(3, 4))],
    ).SerializeToString()  # fmt: skip
    path = tmp_path / "model.onnx"
    accepted = []
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        try:
            read(path)
            accepted.append(length)
        except ModelError as error:
            assert str(path) in str(error)
            assert "\n" not in str(error)
    # Protobuf has no end mark: the model may be whole before its last fields.
    assert all(onnx.load_from_string(data[:length]).graph.output for length in accepted)


@pytest.mark.parametrize("seed", range(40))
def test_random_bytes(tmp_path, seed):
    path = tmp_path / "model.onnx"
    rng = np.random.default_rng(seed)
    path.write_bytes(rng.bytes(int(rng.integers(1, 300))))
    refused(path, path)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_bytes(tmp_path, seed):
    data = bytearray(
        model(
            [node("MatMul", "x w", "h"), node("Softmax", "h", "y", axis=-1)],
            X, [value("y", FLOAT, [4])], [const("w", floats(3, 4))],
        ).SerializeToString()
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    for _ in range(3):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    path = tmp_path / "model.onnx"
    path.write_bytes(bytes(data))
    try:
        read(path)
    except ModelError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)


def test_text_is_no_model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("hello\n")
    refused(path, path, "not an ONNX model")


def test_a_file_over_the_limit_of_protobuf(tmp_path):
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(2**31)
    refused(path, "2 GB")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_file_that_may_not_be_read(tmp_path):
    path = saved(tmp_path, valid())
    path.chmod(0)
    refused(path, "cannot be read")


def graph(nodes, outputs=None, constants=(), inputs=None):
    return model(nodes, X if inputs is None else inputs, outputs or Y, constants)


INVALID = {
    "cyclic": (graph([node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b", "y")]), "cyclic"),
    "self": (graph([node("Add", "x y", "y")]), "cyclic"),
    "undefined": (graph([node("Add", "x nowhere", "y")]), "'nowhere', which is not defined"),
    "undefined output": (graph([node("Relu", "x", "a")]), "output 'y' is not defined"),
    "undefined in a body": (
        graph([
            node("If", "c", "y", then_branch=body([node("Relu", "no", "t")], [], [value("t", FLOAT, [3])]),
                 else_branch=body([node("Relu", "x", "t")], [], [value("t", FLOAT, [3])])),
        ], inputs=[*X, value("c", TensorProto.BOOL, [])]),
        "'no', which is not defined",
    ),
    "twice": (graph([node("Relu", "x", "y"), node("Neg", "x", "y")]), "'y' is defined twice"),
    "input again": (graph([node("Relu", "x", "x"), node("Neg", "x", "y")]), "'x' is defined twice"),
    "inputs twice": (graph([node("Relu", "x", "y")], inputs=[*X, *X]), "'x' is declared twice"),
    "constants twice": (
        graph([node("Add", "x k", "y")], constants=[const("k", floats(3)), const("k", floats(3))]),
        "'k' is declared twice",
    ),
    "output twice": (graph([node("Relu", "x", "y")], [*Y, *Y]), "'y' is listed twice"),
    "no outputs": (model([node("Relu", "x", "y")], X, []), "no outputs"),
    "arity": (graph([node("Add", "x x x", "y")]), "input size 3"),
    "type": (
        graph([node("Add", "x i", "y")], inputs=[*X, value("i", INT64, [3])]),
        "inconsistent type",
    ),
    "attribute": (graph([node("Relu", "x", "y", beta=3)]), "beta"),
    "operator": (graph([node("Reluu", "x", "y")]), "Reluu"),
    "domain": (graph([node("Foo", "x", "y", domain="none")]), "none"),
    "output type": (graph([node("Relu", "x", "y")], [value("y", INT64, [3])]), "y"),
}  # fmt: skip


@pytest.mark.parametrize("name", INVALID)
def test_invalid_graphs(tmp_path, name):
    proto, word = INVALID[name]
    path = saved(tmp_path, proto)
    refused(path, path, word)
    refused(proto, "model: ", word)


@pytest.mark.parametrize("step", [2**31, -(2**31), 2**32, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("nested", [False, True])
def test_steps_that_crash_shape_inference(step, nested):
    constants = {"a": -9 if step > 0 else 9, "b": 5 if step > 0 else -9, "axes": 0, "step": step}
    tensors = [const(name, [number], np.int64) for name, number in constants.items()]
    nodes = [node("Shape", "x", "s"), node("Slice", "s a b axes step", "t")]
    inputs = [value("x", FLOAT, [2, 3, 4, 5]), value("c", TensorProto.BOOL, [])]
    if nested:
        branch = body(nodes, [], [value("t", INT64, None)], tensors)
        nodes, tensors = [node("If", "c", "y", then_branch=branch, else_branch=branch)], []
    else:
        nodes[-1].output[0] = "y"
    assert read(model(nodes, inputs, [value("y", INT64, None)], tensors)).graph.outputs


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("ConstantOfShape", {"length": [10**9]}),
        ("Expand", {"one": [1], "length": [10**9]}),
        ("Tile", {"one": [1], "length": [10**9]}),
        ("Tile", {"some": [1] * 2000, "length": [10**6]}),
        ("Range", {"start": 0, "limit": 10**9, "delta": 1}),
    ],
)
def test_vectors_too_long_for_shape_inference(op, arguments):
    tensors = [const(name, number, np.int64) for name, number in arguments.items()]
    nodes = [node(op, " ".join(arguments), "t"), node("Gather", "t i", "y")]
    made = FLOAT if op == "ConstantOfShape" else INT64
    proto = model(nodes, [value("i", INT64, [1])], [value("y", made, None)], tensors)
    assert not elements_can_be_followed(proto)
    assert read(proto).graph.outputs


def test_inputs_too_long_for_shape_inference():
    inputs, outputs = [value("x", FLOAT, [10**10])], [value("y", FLOAT, None)]
    assert read(model([node("Add", "x x", "y")], inputs, outputs)).graph.outputs


def test_constants_in_attributes_of_their_own_are_no_hazard():
    nodes = [node("Constant", "", "n", value_ints=[3]), node("ConstantOfShape", "n", "y")]
    proto = model(nodes, [], Y)
    assert elements_can_be_followed(proto)
    assert read(proto).graph.outputs


@pytest.mark.parametrize("place", ["domain", "input", "name", "tensor", "dimension"])
def test_names_that_are_no_text(place):
    proto = model(
        [node("Conv", "x hold", "y", auto_pad="hold", name="hold", domain="")],
        [value("x", FLOAT, ["hold", 2, 3, 3])],
        [value("y", FLOAT, None)],
        [const("hold", floats(2, 2, 1, 1))],
    )
    proto.domain = "hold"
    data = proto.SerializeToString()
    places = [i for i in range(len(data)) if data.startswith(b"hold", i)]
    order = ["domain", "input", "name", "attribute", "tensor", "dimension"]
    assert len(places) == len(order)
    at = places[order.index(place)]
    broken = onnx.ModelProto.FromString(data[:at] + b"h\xffld" + data[at + 4 :])
    refused(broken, "model: ")


def test_versions_from_the_future():
    proto = valid()
    proto.ir_version = 1000
    refused(proto, "1000")
    proto = valid()
    proto.opset_import[0].version = 1000
    refused(proto, "1000")


def test_training_information_is_refused():
    proto = valid()
    proto.training_info.add()
    refused(proto, "training")


def external(location, count=60, offset=None, length=None, name="w"):
    tensor = TensorProto(
        name=name, data_type=FLOAT, dims=[count], data_location=TensorProto.EXTERNAL
    )
    entries = {"location": location, "offset": offset, "length": length}
    for key, entry in entries.items():
        if entry is not None:
            tensor.external_data.add(key=key, value=str(entry))
    return tensor


def external_model(*arguments, **options):
    return model(
        [node("Add", "x w", "y")],
        [value("x", FLOAT, [60])],
        [value("y", FLOAT, [60])],
        [external(*arguments, **options)],
    )


def test_external_data_are_mapped(tmp_path):
    data = floats(64)
    (tmp_path / "data.bin").write_bytes(data.tobytes())
    source = read(saved(tmp_path, external_model("data.bin", offset=16, length=240)))
    (weight,) = source.graph.constants.values()
    assert weight.nbytes == 240
    assert np.array_equal(weight.numpy(), data[4:])


@pytest.mark.parametrize(
    ("location", "options", "word"),
    [
        ("none.bin", {}, "is missing"),
        ("../data.bin", {}, "leaves the model's folder"),
        ("sub/../../data.bin", {}, "leaves the model's folder"),
        ("sub/../data.bin", {}, "leaves the model's folder"),
        ("{root}/data.bin", {}, "is not a relative path"),
        ("link.bin", {}, "leaves the model's folder"),
        ("sub", {}, "is missing"),
        ("", {}, "without a location"),
        ("data.bin", {"offset": 100}, "has 240 bytes"),
        ("data.bin", {"offset": -4}, "at offset -4"),
        ("data.bin", {"offset": "x"}, "not a number"),
        ("data.bin", {"length": 8}, "expected 240"),
        ("data.bin", {"count": -1}, "negative dimension"),
    ],
)
def test_bad_external_data(tmp_path, location, options, word):
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    for place in (tmp_path, folder):
        (place / "data.bin").write_bytes(bytes(240))
    (folder / "link.bin").symlink_to(tmp_path / "data.bin")
    location = location.replace("{root}", str(folder))
    path = saved(folder, external_model(location, **options))
    refused(path, path, "'w'", word)


def test_linked_files_of_a_model_cache(tmp_path):
    store, snapshot = tmp_path / "store", tmp_path / "snapshot"
    store.mkdir()
    snapshot.mkdir()
    (store / "abc").write_bytes(external_model("data.bin").SerializeToString())
    (store / "def").write_bytes(floats(60).tobytes())
    (snapshot / "model.onnx").symlink_to(store / "abc")
    (snapshot / "data.bin").symlink_to(store / "def")
    (weight,) = read(snapshot / "model.onnx").graph.constants.values()
    assert np.array_equal(weight.numpy(), floats(60))


@pytest.mark.parametrize(
    "data", [{"raw_data": bytes(8)}, {"float_data": [1, 2]}, {"int32_data": [1] * 3}]
)
@pytest.mark.parametrize("count", [3, 100])
def test_data_of_the_wrong_size(data, count):
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[count], **data)
    refused(graph([node("Add", "x w", "y")], constants=[tensor]), "'w'", "data")


def test_external_data_inside_a_body_are_checked(tmp_path):
    branch = body([node("Add", "x w", "t")], [], [value("t", FLOAT, [60])], [external("no.bin")])
    proto = model(
        [node("If", "c", "y", then_branch=branch, else_branch=branch)],
        [value("x", FLOAT, [60]), value("c", TensorProto.BOOL, [])],
        [value("y", FLOAT, [60])],
    )
    refused(saved(tmp_path, proto), "'w'", "is missing")


def test_unknown_element_types():
    proto = model([node("Relu", "x", "y")], [value("x", FLOAT, [3])], Y, [
        helper.make_tensor("w", 1, [1], [1.0]),
    ])  # fmt: skip
    proto.graph.initializer[0].data_type = 99
    proto.graph.node[0].op_type = "Add"
    proto.graph.node[0].input.append("w")
    refused(proto, "w")
