"""Sessions: opening from every kind of source, running every kind of tensor, one-line failures."""

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tensaur.errors import RuntimeFailure, one_line
from tensaur.ir.types import DType
from tensaur.runtime.choice import RUNTIME, open_session
from tensaur.runtime.protocol import InFolder, Settings
from tests.runtime.models import FLOAT, external, gather, model, scaled, unary, value

X = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)


@pytest.mark.parametrize("kind", ["proto", "bytes", "path", "text"])
def test_opens_every_kind_of_source(kind, tmp_path):
    proto = unary("Relu")
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    sources = {"proto": proto, "bytes": proto.SerializeToString(), "path": path, "text": str(path)}
    outputs = open_session(sources[kind]).run({"x": X})
    np.testing.assert_array_equal(outputs["y"], np.maximum(X, 0))


def test_reads_tensors_in_files_beside_the_model(tmp_path):
    path = external(tmp_path)
    assert (tmp_path / "data").is_file()
    np.testing.assert_array_equal(open_session(path).run({"x": X})["y"], 2 * X)


@pytest.mark.parametrize("kind", ["proto", "bytes", "path"])
def test_reads_tensors_in_files_of_another_folder(tmp_path, kind):
    proto = onnx.load(external(tmp_path), load_external_data=False)
    elsewhere = tmp_path / "elsewhere" / "model.onnx"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(proto.SerializeToString())
    sources = {"proto": proto, "bytes": proto.SerializeToString(), "path": elsewhere}
    session = open_session(InFolder(sources[kind], tmp_path))
    np.testing.assert_array_equal(session.run({"x": X})["y"], 2 * X)
    np.testing.assert_array_equal(session.reopened().run({"x": X})["y"], 2 * X)
    with pytest.raises(RuntimeFailure):
        open_session(sources[kind])


@pytest.mark.parametrize("optimised", [False, True])
def test_settings_are_kept(optimised):
    settings = Settings(threads=2, optimised=optimised, without=("MatMulAddFusion",))
    session = open_session(unary("Relu"), settings)
    assert session.settings is settings
    assert session.run({"x": X})["y"].max() == 5


def test_ports_name_every_dimension():
    nodes = [helper.make_node("Concat", ["x", "z"], ["y"], axis=0)]
    proto = model(
        nodes, [value("x", FLOAT, ["batch", None]), value("z", FLOAT, [4, "?"])], [value("y")]
    )
    x, z = open_session(proto).inputs
    assert (x.name, x.dtype, x.dims) == ("x", DType.FLOAT32, ("batch", "?x.1"))
    assert z.dims == (4, "?z.1")


def test_initialisers_that_are_inputs_need_not_be_given():
    proto = scaled(2.0)
    proto.graph.input.append(value("factor", FLOAT, []))
    session = open_session(proto)
    assert [port.name for port in session.inputs] == ["x"]
    np.testing.assert_array_equal(session.run({"x": X})["y"], 2 * X)
    factor = np.array(3, np.float32)
    np.testing.assert_array_equal(session.run({"x": X, "factor": factor})["y"], 3 * X)


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        (TensorProto.FLOAT16, X.astype(np.float16)),
        (TensorProto.DOUBLE, X.astype(np.float64)),
        (TensorProto.BFLOAT16, X.astype(ml_dtypes.bfloat16)),
        (TensorProto.FLOAT8E4M3FN, X.astype(ml_dtypes.float8_e4m3fn)),
        (TensorProto.INT8, X.astype(np.int8)),
        (TensorProto.UINT64, np.abs(X).astype(np.uint64)),
        (TensorProto.BOOL, X > 0),
        (TensorProto.STRING, np.array([["a", "b", ""], ["Zürich", "d", "e f"]], object)),
    ],
    ids=lambda item: getattr(getattr(item, "dtype", None), "name", item),
)
def test_runs_every_element_type(kind, array):
    session = open_session(unary("Identity", kind, opset=19))
    assert session.inputs[0].dtype is DType.of(array.dtype)
    outputs = session.run({"x": array})
    assert outputs["y"].dtype == array.dtype
    np.testing.assert_array_equal(outputs["y"], array)
    session.runner({"x": array})()


def test_empty_arrays_run():
    session = open_session(unary("Relu", shape=("n", 3)))
    empty = np.zeros((0, 3), np.float32)
    assert session.run({"x": empty})["y"].shape == (0, 3)
    session.runner({"x": empty})()


def test_sequences_come_back_as_lists():
    node = helper.make_node("SequenceConstruct", ["x", "x"], ["y"])
    proto = model(
        [node],
        [value("x", FLOAT, [2, 3])],
        [helper.make_tensor_sequence_value_info("y", FLOAT, None)],
    )
    session = open_session(proto)
    assert session.outputs[0].dtype is None
    (first, second) = session.run({"x": X})["y"]
    np.testing.assert_array_equal(first, second)
    session.runner({"x": X})()


def test_sessions_can_be_opened_again():
    session = open_session(unary("Relu"))
    again = session.reopened(Settings(optimised=False))
    assert not again.settings.optimised
    np.testing.assert_array_equal(again.run({"x": X})["y"], session.run({"x": X})["y"])


@pytest.mark.parametrize(
    "source", [b"", b"no model", "does-not-exist.onnx", unary("NoSuchOperator")]
)
def test_refused_models_give_one_line(source):
    with pytest.raises(RuntimeFailure) as caught:
        open_session(source)
    text = str(caught.value)
    assert text and "\n" not in text and not text.endswith(".") and "ONNXRuntimeError" not in text


@pytest.mark.parametrize("feeds", [{}, {"x": X.astype(np.float64)}, {"x": X, "z": X}])
def test_refused_inputs_give_one_line(feeds):
    session = open_session(unary("Relu"))
    with pytest.raises(RuntimeFailure, match="running the model failed: ") as caught:
        session.run(feeds)
    assert "\n" not in str(caught.value)


def test_failing_kernels_are_silent_and_one_line(capfd):
    session = open_session(gather(rows=3))
    with pytest.raises(RuntimeFailure, match="indices element out of data bounds"):
        session.run({"i": np.array([7])})
    with pytest.raises(RuntimeFailure):
        session.runner({"i": np.array([7])})
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


def test_one_line_bounds_the_length():
    text = one_line(ValueError("word\n " * 1000))
    assert len(text) <= 300 and text.startswith("word word") and text.endswith(" [...]")
    assert one_line(ValueError()) == "ValueError"


def test_runtime_name_has_a_version():
    assert any(character.isdigit() for character in RUNTIME.name)


def test_the_runtime_reports_nothing_home(tmp_path):
    # ONNX Runtime keeps its telemetry quiet by itself where CI is set.
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(tmp_path))
    code = "from tensaur.runtime.choice import RUNTIME; print(RUNTIME.name)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=kept | places, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == RUNTIME.name
    assert not list(tmp_path.iterdir())


def test_a_runner_keeps_its_inputs():
    import weakref

    feeds = {"x": np.ones((2, 3), np.float32)}
    kept = weakref.ref(feeds["x"])
    run = open_session(scaled(2.0)).runner(feeds)
    del feeds
    assert kept() is not None, "the runtime reads the array at every run"
    run()
    del run
    assert kept() is None
