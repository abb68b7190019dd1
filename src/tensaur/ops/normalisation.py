"""Normalisations: by stored statistics, over trailing axes, over space, and across channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, Fact, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    FLOATS,
    builder,
    given,
    normal_axis,
    one_way,
    required_rank,
    same_dtype,
    single,
    unify,
)
from tensaur.ops.numeric import accumulate, optional, present

_EPSILON = OnnxField("epsilon", "epsilon", single(1e-5))


class _Normalisation(Operator):
    """The base: the result has the type of the first input, and costs some flops for each element."""

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work((output.tensor.size or 0) * 6, sum_nbytes((*inputs, output)))


@dataclass(frozen=True)
class BatchNormalization(_Normalisation):
    """(x - mean) / sqrt(var + epsilon) * scale + bias, with one of each for each channel (axis 1)."""

    epsilon: float = single(1e-5)

    arity = 5
    onnx = Onnx("BatchNormalization", since=7, fields=(_EPSILON,), ignored=("momentum",))

    def infer(self, *inputs: Fact) -> Fact:
        x, *vectors = inputs
        dtype = same_dtype(inputs, FLOATS)
        _check_channels(x, vectors, least_rank=2)
        return Fact(TensorType(dtype, x.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(self._normalise, *present(inputs))

    def _normalise(self, x: Array, *vectors: Array) -> Array:
        column = (-1, *(1,) * (x.ndim - 2))
        scale, bias, mean, var = (item.reshape(column) for item in vectors)
        deviation = np.sqrt(var + x.dtype.type(self.epsilon))
        return np.asarray((x - mean) / deviation * scale + bias)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 2, FLOATS)
        vector = TensorType(output.dtype, (shape[1],))
        op = cls(rng.choice([cls.epsilon, single(0.1)]))
        return Sample(op, (output, vector, vector, vector, vector))


@dataclass(frozen=True)
class LayerNormalization(_Normalisation):
    """Normalise over the axes from `axis` on, then scale and (if given) add a bias."""

    axis: int = -1
    epsilon: float = single(1e-5)

    arity = 3
    arity_min = 2
    onnx = Onnx(
        "LayerNormalization",
        since=17,
        fields=(OnnxField("axis", "axis", -1, axis="input"), _EPSILON),
    )

    def infer(self, *inputs: Fact) -> Fact:
        x, *rest = inputs
        dtype = same_dtype(given(inputs), FLOATS)
        if x.shape is not None:
            axis = normal_axis(self.axis, len(x.shape))
            for item in given(rest):
                one_way(x.shape[axis:], item.shape, "scale or bias")
        return Fact(TensorType(dtype, x.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        bias = optional(inputs, 2)
        operands = present(inputs[:2]) if bias is None else present(inputs[:3])
        return accumulate(self._normalise, *operands)

    def _normalise(self, x: Array, scale: Array, bias: Array | None = None) -> Array:
        axes = tuple(range(normal_axis(self.axis, x.ndim), x.ndim))
        result = _standardised(x, axes, self.epsilon) * scale
        return np.asarray(result if bias is None else result + bias)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 1, FLOATS)
        axis = rng.randrange(len(shape))
        vector = TensorType(output.dtype, shape[axis:])
        epsilon = rng.choice([cls.epsilon, single(0.1)])
        op = cls(draw.signed(rng, axis, len(shape)), epsilon)
        return Sample(op, (output, vector, vector) if draw.chance(rng) else (output, vector))


@dataclass(frozen=True)
class InstanceNormalization(_Normalisation):
    """Normalise each channel of each item over space, then scale and add a bias for each channel."""

    epsilon: float = single(1e-5)

    arity = 3
    onnx = Onnx("InstanceNormalization", since=6, fields=(_EPSILON,))

    def infer(self, *inputs: Fact) -> Fact:
        x, *vectors = inputs
        dtype = same_dtype(inputs, FLOATS)
        _check_channels(x, vectors, least_rank=3)
        return Fact(TensorType(dtype, x.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(self._normalise, *present(inputs))

    def _normalise(self, x: Array, scale: Array, bias: Array) -> Array:
        column = (-1, *(1,) * (x.ndim - 2))
        result = _standardised(x, tuple(range(2, x.ndim)), self.epsilon)
        return np.asarray(result * scale.reshape(column) + bias.reshape(column))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 3, FLOATS)
        vector = TensorType(output.dtype, (shape[1],))
        op = cls(rng.choice([cls.epsilon, single(0.1)]))
        return Sample(op, (output, vector, vector))


@dataclass(frozen=True)
class LRN(_Normalisation):
    """x / (bias + alpha / size * the sum of squares over `size` neighbouring channels) ** beta."""

    size: int
    alpha: float = single(1e-4)
    beta: float = 0.75
    bias: float = 1.0

    onnx = Onnx(
        "LRN",
        since=1,
        fields=(
            OnnxField("size", "size"),
            OnnxField("alpha", "alpha", single(1e-4)),
            OnnxField("beta", "beta", 0.75),
            OnnxField("bias", "bias", 1.0),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, FLOATS)
        if self.size < 1:
            raise ValueError(f"size {self.size} is not positive")
        if x.shape is not None and len(x.shape) < 3:
            raise ValueError(f"rank must be 3 or more, got {len(x.shape)}")
        return Fact(TensorType(dtype, x.shape))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work((output.tensor.size or 0) * (self.size + 10), sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(self._normalise, *present(inputs))

    def _normalise(self, x: Array) -> Array:
        kind = x.dtype.type
        before = (self.size - 1) // 2
        widths = [(0, 0)] * x.ndim
        widths[1] = (before, self.size - 1 - before)
        squares = np.pad(x * x, widths)
        near = sum(squares[:, i : i + x.shape[1]] for i in range(self.size))
        return np.asarray(
            x / (kind(self.bias) + kind(self.alpha / self.size) * near) ** kind(self.beta)
        )

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        if len(draw.static(output, FLOATS)) != 4:
            raise draw.refuse(output, "runtimes know rank 4 only")
        op = cls(rng.choice([1, 3, 5]), rng.choice([cls.alpha, 0.5]), rng.choice([0.75, 0.5]))
        return Sample(op, (output,))


def _check_channels(x: Fact, vectors: Sequence[Fact], least_rank: int) -> None:
    if x.shape is not None and len(x.shape) < least_rank:
        raise ValueError(f"rank must be {least_rank} or more, got {len(x.shape)}")
    channels = None if x.shape is None else x.shape[1]
    for vector in vectors:
        shape = required_rank(vector, 1, "statistics of the channels")
        if shape is not None:
            channels = shape[0] if channels is None else unify(channels, shape[0], "channels")


def _standardised(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = (centred * centred).mean(axis=axes, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + x.dtype.type(epsilon)))


batch_normalization = builder(BatchNormalization)
layer_normalization = builder(LayerNormalization)
instance_normalization = builder(InstanceNormalization)
lrn = builder(LRN)
