"""Small ONNX models that the runtime tests share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
    save,
)

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name: str, kind: int = FLOAT, shape: Sequence[Any] | None = None) -> ValueInfoProto:
    """Declare an input or output."""
    return helper.make_tensor_value_info(name, kind, shape)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: dict[str, Any] | None = None,
    opset: int = 18,
) -> ModelProto:
    """Put a model together."""
    constants = [numpy_helper.from_array(a, name) for name, a in (initializers or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def unary(
    op_type: str, kind: int = FLOAT, shape: Sequence[Any] = (2, 3), opset: int = 18
) -> ModelProto:
    """Apply one operator to x."""
    node = helper.make_node(op_type, ["x"], ["y"])
    return model([node], [value("x", kind, shape)], [value("y", kind)], opset=opset)


def gather(rows: int) -> ModelProto:
    """Read rows of a table by index: fails for indices from `rows` on."""
    table = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    node = helper.make_node("Gather", ["table", "i"], ["y"])
    return model([node], [value("i", INT64, ["n"])], [value("y")], {"table": table})


def scaled(factor: float) -> ModelProto:
    """Multiply x by a factor."""
    return model(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [value("x", FLOAT, ["n", 3])],
        [value("y")],
        {"factor": np.array(factor, np.float32)},
    )


def external(folder: Path) -> Path:
    """Write a model that doubles x, its factor in a file beside it, and return its path."""
    proto = scaled(2.0)
    weight = np.full((1, 3), 2.0, np.float32)
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight, "factor"))
    path = folder / "model.onnx"
    save(proto, path, save_as_external_data=True, location="data", size_threshold=0)
    return path
