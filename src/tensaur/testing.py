"""Functions that tests outside this project call."""

from __future__ import annotations

from onnx import ModelProto

from tensaur.onnx_io import read, write


def optimize_proto(model: ModelProto) -> ModelProto:
    """Return an equivalent model, read and written."""
    source = read(model)
    return write(source.graph, source)
