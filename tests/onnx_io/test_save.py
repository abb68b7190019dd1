"""Saving writes everything or nothing, and external data stay within reach."""

import importlib
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tensaur.errors import OutputError
from tensaur.onnx_io import read, save, write
from tests.onnx_io.models import FLOAT, const, floats, model, node, run, same, value

# The package holds a function of the same name.
module = importlib.import_module("tensaur.onnx_io.save")


def plain():
    return model(
        [node("MatMul", "x w", "y")],
        [value("x", FLOAT, [2, 30])],
        [value("y", FLOAT, [2, 40])],
        [const("w", floats(30, 40))],
    )


def with_external_data(folder, location="weights.bin", offset=64):
    """Write a model with its weight in a file of its own; return its path."""
    data = floats(30, 40)
    file = folder / location
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(offset) + data.tobytes())
    proto = plain()
    (weight,) = proto.graph.initializer
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, entry in {"location": location, "offset": offset, "length": data.nbytes}.items():
        weight.external_data.add(key=key, value=str(entry))
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def locations(path):
    proto = onnx.load(path, load_external_data=False)
    return [
        e.value for t in proto.graph.initializer for e in t.external_data if e.key == "location"
    ]


def runs_alike(path, proto=None):
    x = floats(2, 30, seed=1)
    assert same(run(str(path), x=x), run(proto or plain(), x=x))


def test_a_graph_and_a_proto_are_saved_alike(tmp_path):
    source = read(plain())
    save(source.graph, source, tmp_path / "a.onnx")
    save(write(source.graph, source), source, str(tmp_path / "b.onnx"))
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert files(tmp_path) == ["a.onnx", "b.onnx"]
    runs_alike(tmp_path / "a.onnx")


def test_the_file_has_ordinary_permissions(tmp_path):
    source = read(plain())
    save(source.graph, source, tmp_path / "a.onnx")
    (tmp_path / "other").touch()
    assert (tmp_path / "a.onnx").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_external_data_beside_the_output_are_referred_to(tmp_path):
    path = with_external_data(tmp_path)
    source = read(path)
    save(source.graph, source, tmp_path / "fast.onnx")
    assert files(tmp_path) == ["fast.onnx", "model.onnx", "weights.bin"]
    assert (tmp_path / "fast.onnx").stat().st_size < 1000
    runs_alike(tmp_path / "fast.onnx")


def test_the_source_may_be_replaced(tmp_path):
    path = with_external_data(tmp_path)
    source = read(path)
    save(source.graph, source, path)
    runs_alike(path)


@pytest.mark.parametrize("location", ["weights.bin", "sub/weights.bin"])
def test_external_data_are_copied_to_another_folder(tmp_path, location):
    source = read(with_external_data(tmp_path / "from", location))
    target = tmp_path / "to"
    target.mkdir()
    save(source.graph, source, target / "fast.onnx")
    assert files(target) == ["fast.onnx", "weights.bin"]
    runs_alike(target / "fast.onnx")
    save(source.graph, source, target / "again.onnx")
    assert files(target) == ["again.onnx", "fast.onnx", "weights.bin"]


def test_a_file_of_the_same_name_is_left_alone(tmp_path):
    source = read(with_external_data(tmp_path / "from"))
    target = tmp_path / "to"
    target.mkdir()
    (target / "weights.bin").write_bytes(b"something else")
    save(source.graph, source, target / "fast.onnx")
    assert (target / "weights.bin").read_bytes() == b"something else"
    assert locations(target / "fast.onnx") == ["fast.1.weights.bin"]
    runs_alike(target / "fast.onnx")


def test_data_of_a_model_from_memory(tmp_path, monkeypatch):
    path = with_external_data(tmp_path / "from")
    monkeypatch.chdir(path.parent)
    source = read(onnx.load("model.onnx", load_external_data=False))
    save(source.graph, source, tmp_path / "fast.onnx")
    runs_alike(tmp_path / "fast.onnx")


def test_an_onnx_ir_model_finds_its_data(tmp_path):
    source = read(read(with_external_data(tmp_path)).model)
    (weight,) = source.graph.constants.values()
    assert np.array_equal(weight.numpy(), floats(30, 40))


def test_what_does_not_fit_is_moved_out(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PROTO_LIMIT", module._MARGIN + 2000)
    source = read(plain())
    save(source.graph, source, tmp_path / "big.onnx")
    assert files(tmp_path) == ["big.onnx", "big.onnx.data"]
    assert locations(tmp_path / "big.onnx") == ["big.onnx.data"]
    runs_alike(tmp_path / "big.onnx")
    again = read(tmp_path / "big.onnx")
    (weight,) = again.graph.constants.values()
    assert np.array_equal(weight.numpy(), floats(30, 40))


def refused(path, *words):
    source = read(plain())
    with pytest.raises(OutputError) as caught:
        save(source.graph, source, path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    for word in words:
        assert word in message


def test_targets_that_cannot_be(tmp_path):
    refused(tmp_path, "folder")
    refused(tmp_path / "none" / "a.onnx", "no such file or directory")
    (tmp_path / "file").touch()
    refused(tmp_path / "file" / "a.onnx", "cannot be written")
    refused("/dev/null", "not a regular file")
    assert files(tmp_path) == ["file"]
    assert os.path.exists("/dev/null")


def test_the_data_of_the_source_are_not_overwritten_by_a_result_without_data(tmp_path):
    source = read(with_external_data(tmp_path))
    before = (tmp_path / "weights.bin").read_bytes()
    with pytest.raises(OutputError, match="holds data"):
        save(plain(), source, tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == before


def test_the_data_of_the_model_are_not_overwritten(tmp_path):
    source = read(with_external_data(tmp_path))
    before = (tmp_path / "weights.bin").read_bytes()
    with pytest.raises(OutputError, match="holds data"):
        save(source.graph, source, tmp_path / "weights.bin")
    assert (tmp_path / "weights.bin").read_bytes() == before


@pytest.mark.parametrize("failing", ["replace", "second replace", "copyfile", "write"])
def test_nothing_is_left_behind_by_a_failure(tmp_path, monkeypatch, failing):
    source = read(with_external_data(tmp_path / "from"))
    target = tmp_path / "to"
    target.mkdir()
    (target / "fast.onnx").write_bytes(b"old")

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    if failing == "replace":
        monkeypatch.setattr(module.os, "replace", fail)
    elif failing == "copyfile":
        monkeypatch.setattr(module.shutil, "copyfile", fail)
    elif failing == "second replace":
        replace, calls = os.replace, []

        def second_fails(*arguments):
            calls.append(arguments)
            return fail() if len(calls) == 2 else replace(*arguments)

        monkeypatch.setattr(module.os, "replace", second_fails)
    else:
        monkeypatch.setattr(type(target), "write_bytes", fail)
    with pytest.raises(OutputError, match="no space left"):
        save(source.graph, source, target / "fast.onnx")
    assert files(target) == ["fast.onnx"]
    monkeypatch.undo()
    assert (target / "fast.onnx").read_bytes() == b"old"
