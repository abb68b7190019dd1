"""The models of ONNX's backend test suite with their inputs, from the installed package."""

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


@dataclass(frozen=True)
class Case:
    """A model and lists of inputs to run it on."""

    name: str
    model: ModelProto
    inputs: tuple[tuple[Any, ...], ...]

    @property
    def feeds(self):
        """Return the inputs by name."""
        constants = {item.name for item in self.model.graph.initializer}
        names = [item.name for item in self.model.graph.input if item.name not in constants]
        return [dict(zip(names, values, strict=True)) for values in self.inputs]


@functools.cache
def node_cases():
    """Return the models of one operator each; ONNX makes them when asked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    return tuple(
        Case(case.name, case.model, tuple(tuple(map(_array, data[0])) for data in case.data_sets))
        for case in cases
    )


@functools.cache
def stored_cases():
    """Return the models that lie in the package, converted from PyTorch and written by hand."""
    return tuple(_stored(path) for path in sorted(DATA.glob("*/*/model.onnx")))


def _array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _stored(path):
    model = onnx.load(path)
    folders = sorted(path.parent.glob("test_data_set_*"))
    sets = tuple(tuple(map(_load, sorted(folder.glob("input_*.pb")))) for folder in folders)
    return Case(f"{path.parts[-3]}/{path.parts[-2]}", model, sets)


def _load(path):
    data = path.read_bytes()
    try:
        return numpy_helper.to_array(TensorProto.FromString(data))
    except Exception:  # a sequence, which protobuf may or may not take for a tensor
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
