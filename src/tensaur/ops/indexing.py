"""Operators that compute from positions on an axis: OneHot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, DType, Fact, Known, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import builder, normal_axis, required_rank, same_dtype
from tensaur.ops.numeric import present

# What runtimes have kernels for, with a depth of 64 bits.
_VALUES = frozenset({DType.FLOAT16, DType.FLOAT32, DType.INT64})


@dataclass(frozen=True)
class OneHot(Operator):
    """The second item of `values` at position i of a new axis of length `depth`, the first elsewhere.

    i is the index, counted from the end if negative; an index outside the axis is nowhere on it.
    """

    depth: int
    axis: int = -1

    arity = 2
    onnx = Onnx(
        "OneHot",
        since=11,
        fields=(
            OnnxField("depth", None, input=1, scalar=True),
            OnnxField("axis", "axis", -1, axis="output"),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        indices, values = inputs
        same_dtype([indices], frozenset({DType.INT64}))
        dtype = same_dtype([values], _VALUES)
        if self.depth < 1:
            raise ValueError(f"depth {self.depth} is below 1")
        pair = required_rank(values, 1, "values")
        if pair is not None and isinstance(pair[0], int) and pair[0] != 2:
            raise ValueError(f"expected two values, got {pair[0]}")
        if indices.shape is None:
            return Fact(TensorType(dtype, None))
        if not indices.shape:
            raise ValueError("indices must have an axis")
        axis = normal_axis(self.axis, len(indices.shape) + 1)
        shape = (*indices.shape[:axis], self.depth, *indices.shape[axis:])
        return Fact(TensorType(dtype, shape))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(0, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        indices, values = present(inputs)
        off, on = values
        places = np.where(indices < 0, indices.astype(np.int64) + self.depth, indices)
        axis = normal_axis(self.axis, indices.ndim + 1)
        positions = np.arange(self.depth).reshape((-1,) + (1,) * (indices.ndim - axis))
        hit = np.expand_dims(places, axis) == positions
        return np.asarray(np.where(hit, on, off), dtype=values.dtype)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 2, _VALUES)
        axis = draw.axis_of(rng, output, shape)
        if not shape[axis]:
            raise draw.refuse(output, "an axis of depth 0")
        indices = TensorType(DType.INT64, (*shape[:axis], *shape[axis + 1 :]))
        op = cls(shape[axis], draw.signed(rng, axis, len(shape)))
        values = TensorType(output.dtype, (2,))
        usual = Known.of(np.array([0, 1], dtype=output.dtype.numpy), output.dtype)
        return Sample(op, (indices, usual if draw.chance(rng) else values))


one_hot = builder(OneHot)
