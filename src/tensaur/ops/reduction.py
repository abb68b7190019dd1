"""Reductions: one value for all elements along some axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, Fact, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    NUMERIC,
    WIDE,
    builder,
    normal_axes,
    same_dtype,
    symbolic_value,
)
from tensaur.ops.numeric import accumulate, greatest, lowest, present, truncating_division


@dataclass(frozen=True)
class Reduction(Operator):
    """The base of all reductions: over `axes` (None or none: all), kept as axes of size 1 or dropped."""

    axes: tuple[int, ...] | None = None
    keepdims: bool = True

    dtypes = WIDE

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, type(self).dtypes)
        if x.shape is None and self.axes and self.keepdims is False:
            return Fact(TensorType(dtype, None))
        if x.shape is None:
            return Fact(TensorType(dtype, None if self.axes or self.keepdims else ()))
        axes = self.reduced(len(x.shape))
        if self.keepdims:
            shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(x.shape))
        else:
            shape = tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
        return Fact(TensorType(dtype, shape), symbolic_value(inputs, self.evaluate, dtype))

    def reduced(self, rank: int) -> tuple[int, ...]:
        """Return the axes that are reduced, counted from the left."""
        return normal_axes(self.axes, rank) if self.axes else tuple(range(rank))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(inputs[0].tensor.size or 0, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(self._reduce, *present(inputs))

    def _reduce(self, x: Array) -> Array:
        return np.asarray(self.function(x, axis=self.reduced(x.ndim), keepdims=self.keepdims))

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        """Reduce an array over axes."""
        raise NotImplementedError

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, cls.dtypes)
        ones = [axis for axis, dim in enumerate(shape) if dim == 1]
        if ones and draw.chance(rng):
            places = tuple(rng.sample(ones, rng.randint(1, len(ones))))
            wide = draw.Widened(places, shape)
        else:
            wide = draw.with_ones(rng, shape, rng.randint(1, 2))
        sizes = tuple(
            rng.randint(1, 4) if axis in wide.places else dim for axis, dim in enumerate(wide.shape)
        )
        axes: tuple[int, ...] | None = draw.signed_axes(rng, wide.places, len(sizes))
        if len(wide.places) == len(sizes) and draw.chance(rng):
            axes = None
        return Sample(cls(axes, wide.shape is shape), (TensorType(output.dtype, sizes),))


def _described(name: str, axes_input_since: int) -> Onnx:
    """Describe a reduction whose axes are an attribute, and an input from some opset on."""
    return Onnx(
        name,
        since=1,
        fields=(
            OnnxField("axes", "axes", None, input=1, input_since=axes_input_since, axis="input"),
            OnnxField("keepdims", "keepdims", True),
        ),
    )


@dataclass(frozen=True)
class ReduceSum(Reduction):
    """The sum."""

    onnx = _described("ReduceSum", 13)

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


@dataclass(frozen=True)
class ReduceMean(Reduction):
    """The mean; of integers, rounded towards zero."""

    onnx = _described("ReduceMean", 18)

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        if x.dtype.kind not in "iu":
            return np.mean(x, axis=axis, keepdims=keepdims)
        total = np.asarray(np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype))
        return truncating_division(total, np.array(x.size // max(total.size, 1), dtype=x.dtype))


@dataclass(frozen=True)
class ReduceMax(Reduction):
    """The greatest element."""

    dtypes = NUMERIC
    onnx = _described("ReduceMax", 18)

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        return np.max(x, axis=axis, keepdims=keepdims, initial=lowest(x.dtype))


@dataclass(frozen=True)
class ReduceMin(Reduction):
    """The least element."""

    dtypes = NUMERIC
    onnx = _described("ReduceMin", 18)

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        return np.min(x, axis=axis, keepdims=keepdims, initial=greatest(x.dtype))


@dataclass(frozen=True)
class ReduceProd(Reduction):
    """The product."""

    onnx = _described("ReduceProd", 18)

    def function(self, x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
        return np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


reduce_sum = builder(ReduceSum)
reduce_mean = builder(ReduceMean)
reduce_max = builder(ReduceMax)
reduce_min = builder(ReduceMin)
reduce_prod = builder(ReduceProd)
