"""Models from graphs that no file holds."""

import numpy as np
import pytest

from tensaur import ops
from tensaur.ir.graph import ArrayData, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Project, Weight
from tensaur.ir.types import DType, Known, TensorType
from tensaur.runtime.build import model_of
from tensaur.runtime.choice import open_session


@pytest.mark.parametrize("opset", [13, 18, 21])
def test_a_graph_runs_with_its_weights_and_literals(opset):
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (2, 3))))
    w = builder.add(Weight("w", TensorType(DType.FLOAT32, (3, 4))))
    two = builder.add(Literal(Known.of(np.array(2, np.float32))))
    product = builder.add(ops.Mul(), [builder.add(ops.MatMul(), [x, w]), two])
    parts = builder.add(ops.Split(axis=1, sizes=(1, 3)), [product])
    outputs = [Output(f"y{i}", builder.add(Project(i), [parts])) for i in range(2)]
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    builder.constants["w"] = ArrayData(weights)
    session = open_session(model_of(builder.build(outputs), {"": opset}))
    given = np.ones((2, 3), np.float32)
    found = session.run({"x": given})
    np.testing.assert_allclose(
        np.concatenate([found["y0"], found["y1"]], axis=1), 2 * given @ weights
    )
    assert session.inputs[0].dims == (2, 3)
