import numpy as np
import pytest
from onnx import TensorProto, helper

from tensaur.comparison import compare
from tensaur.errors import ModelError, UsageError
from tests.small import small_file


def test_a_model_equals_itself(tmp_path):
    first, second = small_file(tmp_path, "a.onnx"), small_file(tmp_path, "b.onnx")
    said = []
    found = compare(first, second, seconds=0, say=said.append)
    assert found.equal
    assert found.ratio.low <= found.ratio.ratio <= found.ratio.high
    assert found.first_seconds > 0
    assert found.second_seconds > 0
    assert len(said) == 3


def test_other_weights_are_seen(tmp_path):
    first, second = small_file(tmp_path, "a.onnx"), small_file(tmp_path, "b.onnx", seed=1)
    found = compare(first, second, seconds=0)
    assert not found.equal
    assert found.outputs.outputs[0].name == "y"


def test_own_inputs_are_used(tmp_path):
    first, second = small_file(tmp_path, "a.onnx"), small_file(tmp_path, "b.onnx", seed=1)
    # relu(x * w + 1) is 1 for x = 0, whatever the weights are.
    zeros = {"x": np.zeros((2, 4), np.float32)}
    assert compare(first, second, inputs=zeros, seconds=0).equal
    with pytest.raises(UsageError, match="'x' is missing"):
        compare(first, second, inputs={}, seconds=0)


def write(path, name="x", elem_type=TensorProto.FLOAT):
    ends = [helper.make_tensor_value_info(each, elem_type, [2, 4]) for each in (name, "y")]
    graph = helper.make_graph([helper.make_node("Abs", [name], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def test_models_that_cannot_be_fed_alike_are_not_run(tmp_path):
    first = write(tmp_path / "a.onnx")
    other = compare(first, write(tmp_path / "b.onnx", name="z"))
    assert (other.equal, other.interface, other.ratio) == (False, "inputs x and z", None)
    other = compare(first, write(tmp_path / "c.onnx", elem_type=TensorProto.DOUBLE))
    assert other.interface == "input 'x' is tensor(float) and tensor(double)"


def test_a_broken_model_is_named(tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"broken\.onnx"):
        compare(small_file(tmp_path), broken)
