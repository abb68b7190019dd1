"""Short ways to write ONNX models, and to run them, for these tests."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tensaur.onnx_io import read, write

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
BOOL = TensorProto.BOOL


def value(name, kind=FLOAT, shape=()):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name, data, dtype=None):
    return numpy_helper.from_array(np.asarray(data, dtype=dtype), name)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def node(op_type, inputs, outputs, **attributes):
    return helper.make_node(op_type, inputs.split(), outputs.split(), **attributes)


def body(nodes, inputs=(), outputs=(), constants=()):
    return helper.make_graph(list(nodes), "body", list(inputs), list(outputs), list(constants))


def model(nodes, inputs, outputs, constants=(), opset=18, ir=9, domains=(), functions=(), **graph):
    made = helper.make_graph(
        list(nodes), "graph", list(inputs), list(outputs), list(constants), **graph
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(
        made, opset_imports=imports, ir_version=ir, functions=list(functions), producer_name="test"
    )


def round_trip(proto):
    """Read and write a model, which must leave it alone and give a valid one."""
    before = proto.SerializeToString(deterministic=True)
    source = read(proto)
    result = write(source.graph, source)
    assert proto.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(result)
    return result


def session(proto):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = proto if isinstance(proto, str) else proto.SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(proto, **feeds):
    return session(proto).run(None, feeds)


def run_reference(proto, **feeds):
    return ReferenceEvaluator(proto).run(None, feeds)


def same(first, second):
    """Tell whether two outputs are equal; floating-point ones up to the last bits."""
    if first is None or second is None or isinstance(first, dict):
        return first == second
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc":
        return np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True)
    return bool(np.array_equal(a, b)) if a.dtype.kind != "V" else a.tobytes() == b.tobytes()


def operators(proto):
    return [item.op_type for item in proto.graph.node]
