"""Matrix products: MatMul with NumPy's batch rules, and Gemm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.ir.dims import Dim
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, Fact, Shape, TensorType, broadcast
from tensaur.ops import draw
from tensaur.ops.inference import (
    WIDE,
    builder,
    given,
    is_absent,
    one_way,
    plain,
    required_rank,
    same_dtype,
    unify,
    unknown,
)
from tensaur.ops.numeric import accumulate, optional, present, scaled


@dataclass(frozen=True)
class MatMul(Operator):
    """The matrix product of the last two axes; the axes before them broadcast."""

    arity = 2
    onnx = plain("MatMul", 1)

    def infer(self, *inputs: Fact) -> Fact:
        a, b = inputs
        dtype = same_dtype(inputs, WIDE)
        if a.shape is None or b.shape is None:
            return Fact(TensorType(dtype, None))
        return Fact(TensorType(dtype, _product_shape(a.shape, b.shape)))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        shape = inputs[0].shape
        inner: Dim = shape[-1] if shape else 1
        return Work(2 * inner * (output.tensor.size or 0), sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(np.matmul, *present(inputs))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, WIDE)
        inner = rng.randint(1, 4)
        first, second = _operands(rng, shape, inner)
        return Sample(cls(), (TensorType(output.dtype, first), TensorType(output.dtype, second)))


@dataclass(frozen=True)
class Gemm(Operator):
    """alpha * a * b + beta * c for matrices, either one transposed first; c broadcasts, or is left out."""

    alpha: float = 1.0
    beta: float = 1.0
    trans_a: bool = False
    trans_b: bool = False

    arity = 3
    arity_min = 2
    onnx = Onnx(
        "Gemm",
        since=7,
        fields=(
            OnnxField("alpha", "alpha", 1.0),
            OnnxField("beta", "beta", 1.0),
            OnnxField("trans_a", "transA", False),
            OnnxField("trans_b", "transB", False),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        a, b, *rest = inputs
        dtype = same_dtype(given(inputs), WIDE)
        first = _oriented(required_rank(a, 2, "first matrix"), self.trans_a)
        second = _oriented(required_rank(b, 2, "second matrix"), self.trans_b)
        if first is not None and second is not None:
            unify(first[1], second[0], "contracted dimensions")
        rows = unknown(self, inputs, 0) if first is None else first[0]
        columns = unknown(self, inputs, 1) if second is None else second[1]
        shape = (rows, columns)
        for c in given(rest):
            one_way(shape, c.shape, "summand")
        return Fact(TensorType(dtype, shape))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        shape = _oriented(inputs[0].shape, self.trans_a)
        inner: Dim = shape[1] if shape else 1
        extra = 2 if len(inputs) > 2 and not is_absent(inputs[2]) else 0
        return Work((2 * inner + extra) * (output.tensor.size or 0), sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        a, b = present(inputs[:2])
        c = optional(inputs, 2)
        matrices = (a.T if self.trans_a else a, b.T if self.trans_b else b)
        if c is None:
            return accumulate(lambda x, y: scaled(x @ y, self.alpha), *matrices)
        return accumulate(
            lambda x, y, z: scaled(x @ y, self.alpha) + scaled(z, self.beta), *matrices, c
        )

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, WIDE)
        if len(shape) != 2:
            raise draw.refuse(output, "the result is a matrix")
        trans_a, trans_b = draw.chance(rng), draw.chance(rng)
        inner = rng.randint(1, 4)
        first = (inner, shape[0]) if trans_a else (shape[0], inner)
        second = (shape[1], inner) if trans_b else (inner, shape[1])
        shapes: list[draw.StaticShape] = [first, second]
        if draw.chance(rng, 0.7):
            shapes.append(draw.one_way_operand(rng, shape))
        scales = (rng.choice([1.0, 1.0, 0.5]), rng.choice([1.0, 1.0, 2.0]))
        if not output.dtype.is_float:
            scales = (1.0, 1.0)
        op = cls(*scales, trans_a, trans_b)
        return Sample(op, tuple(TensorType(output.dtype, item) for item in shapes))


def _product_shape(a: Shape, b: Shape) -> Shape:
    if not a or not b:
        raise ValueError("a scalar has no matrix product")
    rows: Shape = a[-2:-1]
    columns: Shape = b[-1:] if len(b) > 1 else ()
    unify(a[-1], b[-2] if len(b) > 1 else b[0], "contracted dimensions")
    batch = broadcast([a[:-2], b[:-2]])
    assert batch is not None
    return (*batch, *rows, *columns)


def _oriented(shape: Shape | None, transposed: bool) -> Shape | None:
    return shape[::-1] if shape is not None and transposed else shape


def _operands(
    rng: Random, shape: draw.StaticShape, inner: int
) -> tuple[draw.StaticShape, draw.StaticShape]:
    if not shape:
        return (inner,), (inner,)
    vector_second = draw.chance(rng, 0.15) or (len(shape) == 1 and draw.chance(rng))
    if vector_second:
        return (*shape, inner), (inner,)
    if len(shape) == 1 or draw.chance(rng, 0.1):
        return (inner,), (*shape[:-1], inner, shape[-1])
    first, second = draw.operands(rng, shape[:-2], 2)
    return (*first, shape[-2], inner), (*second, inner, shape[-1])


matmul = builder(MatMul)
gemm = builder(Gemm)
