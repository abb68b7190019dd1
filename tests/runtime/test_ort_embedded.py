"""Opened as inside a larger model: kernels in their own layout, and nothing around them."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tensaur.runtime.ort.embedded import open_embedded
from tensaur.runtime.protocol import Settings

FLOAT = TensorProto.FLOAT
CHANNELS, SIDE = 32, 6
PICTURE = [1, CHANNELS, SIDE, SIDE]


def proto(nodes, inputs, weights=()):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in weights],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def windows(channels, read):
    return np.random.default_rng(0).uniform(0.5, 1.5, (channels, read, 1, 1)).astype(np.float32)


def kinds(session):
    return [node.op_type for node in session.model.graph.node]


def test_a_convolution_has_no_changes_of_layout_around_it():
    weight = windows(20, CHANNELS)
    model = proto([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": PICTURE}, [("w", weight)])
    session = open_embedded(model, Settings())
    assert kinds(session) == ["Conv"]
    (port,) = session.inputs
    # Whole blocks of channels come out; on equal channels a layout makes no difference.
    (found,) = session.run({port.name: np.ones(port.dims, np.float32)}).values()
    wanted = np.sort(np.repeat(weight.sum((1, 2, 3)), SIDE * SIDE))
    assert found.shape[1] >= 20
    np.testing.assert_allclose(np.sort(found.ravel())[-wanted.size :], wanted, rtol=1e-4)


def test_a_sum_is_added_in_place_as_between_convolutions():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Add", ["c", "z"], ["s"]),
        helper.make_node("Relu", ["s"], ["y"]),
    ]
    inputs = {"x": PICTURE, "z": PICTURE}
    session = open_embedded(proto(nodes, inputs, [("w", windows(32, 32))]), Settings())
    assert kinds(session) == ["Conv"]
    assert len(session.inputs) == 2 and len(session.overwritten) == 1
    (written,) = session.overwritten.values()
    feeds = {port.name: np.ones(port.dims, np.float32) for port in session.inputs}
    run = session.runner(feeds)
    first = feeds[written].copy()
    run()
    assert (feeds[written] > first).all()


def test_a_picture_read_plain_is_plain():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Softmax", ["z"], ["d"], axis=3),
        helper.make_node("Reshape", ["c", "shape"], ["e"]),
        helper.make_node("Reshape", ["d", "shape"], ["f"]),
        helper.make_node("MatMul", ["e", "f"], ["y"]),
    ]
    square = [1, 36, SIDE, SIDE]
    given = [("w", windows(36, CHANNELS)), ("shape", np.array([36, 36]))]
    model = proto(nodes, {"x": PICTURE, "z": square}, given)
    session = open_embedded(model, Settings())
    assert kinds(session).count("ReorderOutput") == 1 and "ReorderInput" not in kinds(session)
    assert sorted(port.dims for port in session.inputs) == [tuple(PICTURE), tuple(square)]
    feeds = {port.name: np.ones(port.dims, np.float32) for port in session.inputs}
    assert session.run(feeds)["y"].shape == (36, 36)


@pytest.mark.parametrize("kind", ["Relu", "Softmax"])
def test_what_has_one_layout_is_opened_as_it_is(kind):
    model = proto([helper.make_node(kind, ["x"], ["y"])], {"x": PICTURE})
    assert open_embedded(model, Settings()).model is model
