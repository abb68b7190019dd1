"""A small model and a small result, for tests of what surrounds the engine."""

import numpy as np

from tensaur import onnx_io
from tensaur.ir.graph import ArrayData, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Weight
from tensaur.ir.types import DType, Known, TensorType
from tensaur.ops import Add, MatMul, Relu
from tensaur.result import ExtractionSummary, Latency, Result, Rewrite
from tensaur.runtime.build import model_of
from tensaur.runtime.compare import Comparison, Difference


def small_graph(seed=0):
    """Return relu(x * w + 1) for x of 2 x 4."""
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (2, 4))))
    array = np.random.default_rng(seed).standard_normal((4, 8)).astype(np.float32)
    builder.constants["w"] = ArrayData(array)
    w = builder.add(Weight("w", TensorType(DType.FLOAT32, (4, 8))))
    one = builder.add(Literal(Known.of(np.float32(1))))
    y = builder.add(Relu(), [builder.add(Add(), [builder.add(MatMul(), [x, w]), one])])
    return builder.build([Output("y", y)])


def small_model(seed=0):
    """Return the small graph as an ONNX model."""
    return model_of(small_graph(seed), {"": 18})


def small_file(folder, name="model.onnx", seed=0):
    """Write the small model to a file and return its path."""
    path = folder / name
    path.write_bytes(small_model(seed).SerializeToString())
    return path


def small_result(model=None, **changes):
    """Return a result as `optimize` gives it, for a model that became faster."""
    source = onnx_io.read(small_model() if model is None else model)
    values = {
        "source": source,
        "written": source.proto,
        "kept_original": False,
        "reason": "faster by 1.500 (1.450 to 1.550)",
        "latency": Latency(3e-3, 2e-3, 1.5, (1.45, 1.55)),
        "cost_before": 3_000_000,
        "cost_after": 2_000_000,
        "cost_unit": "ns",
        "nodes_before": 12,
        "nodes_after": 8,
        "rewrites": (Rewrite("matmul-associate", 2), Rewrite("elementwise-add-zero", 1)),
        "records": (),
        "stop": "saturated",
        "extraction": ExtractionSummary("highs", 2_000_000, 2_000_000, True, 0.25, "proved"),
        "comparison": Comparison((Difference("y", True, 1e-6, 1e-7),)),
        "seconds": {"reading": 0.1, "exploring": 0.5},
        "sizes": {"batch": 1},
    }
    return Result(**{**values, **changes})
