"""Sizes of pooling results against ONNX Runtime, on every small window."""

from itertools import product

import numpy as np
import pytest

from tensaur import ops
from tensaur.errors import TypeMismatch
from tensaur.ir import dims
from tensaur.ir.operator import evaluate, infer_fact
from tensaur.ir.types import DType, Fact, TensorType
from tests.ops.draws import LATEST, Draw, feeds, model_of
from tests.ops.test_operators import runtime

WINDOWS = [
    (kernel, stride, before, after)
    for kernel, stride in product((1, 2, 3), (1, 2, 3))
    for before, after in product(range(kernel), range(kernel))
]


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "before", "after"), WINDOWS)
def test_pool_sizes(kernel, stride, before, after, ceil_mode):
    op = ops.MaxPool((kernel,), (stride,), (before, after), (1,), ceil_mode)
    general = infer_fact(op, [Fact(TensorType(DType.FLOAT32, (1, 1, dims.symbol("n"))))])
    for size in range(1, 7):
        source = TensorType(DType.FLOAT32, (1, 1, size))
        try:
            output = infer_fact(op, [Fact(source)]).tensor
        except TypeMismatch:
            assert size + before + after < kernel
            continue
        assert dims.evaluate(general.shape[2], {"n": size}) == output.shape[2]
        model = model_of(Draw(op, (source,), output, 0), LATEST)
        data = [np.arange(size, dtype=np.float32).reshape(source.shape) - 3]
        (expected,) = runtime(model, feeds(model, data))
        assert expected.shape == output.shape
        np.testing.assert_array_equal(evaluate(op, data), expected)
