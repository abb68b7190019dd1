"""Small ONNX models that the runtime tests share."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=None, opset=18):
    constants = [numpy_helper.from_array(a, name) for name, a in (initializers or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def unary(op_type, kind=FLOAT, shape=(2, 3), opset=18):
    node = helper.make_node(op_type, ["x"], ["y"])
    return model([node], [value("x", kind, shape)], [value("y", kind)], opset=opset)


def gather(rows):
    """Read rows of a table by index: fails for indices from `rows` on."""
    table = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    node = helper.make_node("Gather", ["table", "i"], ["y"])
    return model([node], [value("i", INT64, ["n"])], [value("y")], {"table": table})


def scaled(factor):
    """Multiply by a factor."""
    return model(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [value("x", FLOAT, ["n", 3])],
        [value("y")],
        {"factor": np.array(factor, np.float32)},
    )
