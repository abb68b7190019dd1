"""Sizes read off one run."""

import numpy as np
from onnx import helper

from tensaur import onnx_io
from tensaur.runtime import observe
from tensaur.runtime.choice import open_session
from tensaur.runtime.observe import observed_sizes
from tensaur.runtime.protocol import Settings
from tests.runtime.models import INT64, external, model, scaled, value


def observed(proto, feeds):
    """Return the sizes, and the graph whose symbols they are for."""
    source = onnx_io.read(proto)
    session = open_session(proto, Settings())
    return observed_sizes(source.graph, source.proto, session, feeds), source.graph


def test_sizes_of_inputs():
    sizes, _ = observed(scaled(2.0), {"x": np.zeros((5, 3), np.float32)})
    assert sizes == {"n": 5}


def test_unnamed_dimensions_of_inputs():
    proto = model(
        [helper.make_node("Neg", ["x"], ["y"])], [value("x", shape=[None, 3])], [value("y")]
    )
    sizes, _ = observed(proto, {"x": np.zeros((5, 3), np.float32)})
    assert sizes == {"?x.0": 5}


def nonzero(extra=()):
    """Count what is not zero, which only the data decide, then compute with it."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["where"]),
        helper.make_node("Transpose", ["where"], ["places"], perm=[1, 0]),
        helper.make_node("Cast", ["places"], ["numbers"], to=1),
        helper.make_node("ReduceSum", ["numbers"], ["y"], keepdims=0),
        *extra,
    ]
    return model(nodes, [value("x", shape=["n"])], [value("y")])


def test_sizes_that_only_the_data_decide():
    sizes, graph = observed(nonzero(), {"x": np.array([1, 0, 2, 3], np.float32)})
    (where,) = (i for i, node in enumerate(graph.nodes) if node.name == "where")
    count = str(graph.facts[where].shape[1])
    assert sizes == {"n": 4, count: 3}


def test_values_that_are_outputs_need_no_second_session(monkeypatch):
    node = helper.make_node("NonZero", ["x"], ["y"])
    proto = model([node], [value("x", shape=["n"])], [value("y", INT64)])
    monkeypatch.setattr(observe, "open_session", None)
    sizes, _ = observed(proto, {"x": np.array([1, 0, 2, 3], np.float32)})
    assert sorted(sizes.values()) == [3, 4]


def test_sizes_that_nothing_tells_count_as_one(monkeypatch):
    def refuse(*args):
        raise observe.RuntimeFailure("no")

    monkeypatch.setattr(observe, "open_session", refuse)
    sizes, _ = observed(nonzero(), {"x": np.array([1, 0, 2, 3], np.float32)})
    assert sorted(sizes.values()) == [1, 4]


def test_the_model_is_not_changed():
    proto = nonzero()
    before = proto.SerializeToString(deterministic=True)
    observed(proto, {"x": np.array([1, 0], np.float32)})
    assert proto.SerializeToString(deterministic=True) == before


def test_external_data_are_found(tmp_path):
    path = external(tmp_path)
    source = onnx_io.read(path)
    source.proto.graph.node.extend([
        helper.make_node("NonZero", ["y"], ["where"]),
        helper.make_node("Shape", ["where"], ["count"]),
    ])  # fmt: skip
    source.proto.graph.output.append(value("count", INT64))
    full = tmp_path / "full.onnx"
    full.write_bytes(source.proto.SerializeToString())
    again = onnx_io.read(full)
    session = open_session(full, Settings())
    feeds = {"x": np.array([[1, 0, 2]], np.float32)}
    sizes = observed_sizes(again.graph, again.proto, session, feeds)
    assert sizes["n"] == 1
    assert 2 in sizes.values()
