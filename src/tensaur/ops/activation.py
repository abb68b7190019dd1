"""Activation functions: elementwise ones, with attributes or not, and the two softmaxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np

from tensaur.ir.operator import Onnx, OnnxField, OnnxInput, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import ABSENT, Array, Fact, Known, OtherType, TensorType
from tensaur.ops import draw
from tensaur.ops.elementwise import Elementwise, Unary, error_function
from tensaur.ops.inference import (
    FLOATS,
    SIGNED,
    WIDE,
    builder,
    given,
    normal_axis,
    one_way,
    plain,
    required_rank,
    same_dtype,
    single,
)
from tensaur.ops.numeric import accumulate, elementwise, optional, present

_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Relu(Unary):
    """max(x, 0)."""

    dtypes = SIGNED
    onnx = plain("Relu", 6)

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return elementwise(np.maximum, x, np.zeros((), dtype=x.dtype))


@dataclass(frozen=True)
class Sigmoid(Unary):
    """1 / (1 + exp(-x))."""

    dtypes = FLOATS
    cost = 12
    onnx = plain("Sigmoid", 6)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(lambda x: 1 / (1 + np.exp(-x)), *present(inputs))


@dataclass(frozen=True)
class Tanh(Unary):
    """The hyperbolic tangent."""

    dtypes = FLOATS
    cost = 12
    function = np.tanh
    onnx = plain("Tanh", 6)


@dataclass(frozen=True)
class Clip(Elementwise):
    """min(max(x, low), high); either bound, a scalar, may be absent."""

    arity = 3
    arity_min = 1
    cost = 2
    onnx = Onnx(
        "Clip",
        since=6,
        inputs=(
            OnnxInput(1, "min", since=11, default=-_LARGEST),
            OnnxInput(2, "max", since=11, default=_LARGEST),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        x, *bounds = inputs
        dtype = same_dtype([x, *given(bounds)], self.dtypes)
        for bound in given(bounds):
            required_rank(bound, 0, "bound")
        return Fact(TensorType(dtype, x.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs[:1])
        low, high = optional(inputs, 1), optional(inputs, 2)
        if low is not None:
            x = elementwise(np.maximum, x, low)
        return x if high is None else elementwise(np.minimum, x, high)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, cls.dtypes)
        bound: list[Known | TensorType] = [TensorType(output.dtype, ())] * 2
        if draw.chance(rng):
            bound = [Known.of(np.array(value, output.dtype.numpy)) for value in (1, 3)]
        low, high = (item if draw.chance(rng, 0.7) else ABSENT for item in bound)
        inputs: list[TensorType | Known | OtherType] = [output, low, high]
        while inputs[-1] == ABSENT:
            inputs.pop()
        assert len(shape) == output.rank
        return Sample(cls(), tuple(inputs))


@dataclass(frozen=True)
class LeakyRelu(Unary):
    """x where it is not negative, else alpha * x."""

    alpha: float = single(0.01)

    dtypes = FLOATS
    cost = 2
    onnx = Onnx("LeakyRelu", since=6, fields=(OnnxField("alpha", "alpha", single(0.01)),))

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.where(x < 0, elementwise(lambda a: a * a.dtype.type(self.alpha), x), x)

    @classmethod
    def draw_operator(cls, rng: Random) -> Operator:
        return cls(rng.choice([cls.alpha, 0.25, 0.5]))


@dataclass(frozen=True)
class Elu(Unary):
    """x where it is positive, else alpha * (exp(x) - 1)."""

    alpha: float = 1.0

    dtypes = FLOATS
    cost = 12
    onnx = Onnx("Elu", since=6, fields=(OnnxField("alpha", "alpha", 1.0),))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(
            lambda x: np.where(x > 0, x, x.dtype.type(self.alpha) * np.expm1(x)), *present(inputs)
        )

    @classmethod
    def draw_operator(cls, rng: Random) -> Operator:
        return cls(rng.choice([1.0, 0.25, 2.0]))


@dataclass(frozen=True)
class Softplus(Unary):
    """log(1 + exp(x))."""

    dtypes = FLOATS
    cost = 20
    onnx = plain("Softplus", 1)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(_softplus, *present(inputs))


@dataclass(frozen=True)
class HardSigmoid(Unary):
    """max(0, min(1, alpha * x + beta))."""

    alpha: float = single(0.2)
    beta: float = 0.5

    dtypes = FLOATS
    cost = 4
    onnx = Onnx(
        "HardSigmoid",
        since=6,
        fields=(OnnxField("alpha", "alpha", single(0.2)), OnnxField("beta", "beta", 0.5)),
    )

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(lambda x: _hard_sigmoid(x, self.alpha, self.beta), *present(inputs))

    @classmethod
    def draw_operator(cls, rng: Random) -> Operator:
        return cls(rng.choice([cls.alpha, single(1 / 6), 0.5]), rng.choice([0.5, 0.25]))


@dataclass(frozen=True)
class HardSwish(Unary):
    """x * max(0, min(1, x / 6 + 1 / 2))."""

    dtypes = FLOATS
    cost = 5
    onnx = plain("HardSwish", 14)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(lambda x: x * _hard_sigmoid(x, 1 / 6, 0.5), *present(inputs))


@dataclass(frozen=True)
class Gelu(Unary):
    """x times the normal distribution function, exact or (`approximate` = "tanh") by tanh."""

    approximate: str = "none"

    dtypes = FLOATS
    cost = 20
    onnx = Onnx("Gelu", since=20, fields=(OnnxField("approximate", "approximate", "none"),))

    def infer(self, *inputs: Fact) -> Fact:
        if self.approximate not in ("none", "tanh"):
            raise ValueError(f"approximation {self.approximate!r} is unknown")
        return super().infer(*inputs)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(_gelu_tanh if self.approximate == "tanh" else _gelu, *present(inputs))

    @classmethod
    def draw_operator(cls, rng: Random) -> Operator:
        return cls(rng.choice(["none", "tanh"]))


@dataclass(frozen=True)
class PRelu(Elementwise):
    """x where it is not negative, else slope * x; the slope broadcasts to x."""

    dtypes = WIDE
    arity = 2
    cost = 2
    onnx = plain("PRelu", 7)

    def infer(self, *inputs: Fact) -> Fact:
        x, slope = inputs
        dtype = same_dtype(inputs, self.dtypes)
        one_way(x.shape, slope.shape, "slope")
        return Fact(TensorType(dtype, x.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        x, slope = present(inputs)
        return np.where(x < 0, elementwise(np.multiply, x, slope), x)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, cls.dtypes)
        slope = TensorType(output.dtype, draw.one_way_operand(rng, shape))
        return Sample(cls(), (output, slope))


@dataclass(frozen=True)
class _AlongAxis(Operator):
    """The base of the softmaxes: the whole axis `axis` takes part in each element."""

    axis: int = -1

    function: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, FLOATS)
        if x.shape is not None:
            normal_axis(self.axis, len(x.shape))
        return Fact(TensorType(dtype, x.shape))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work((output.tensor.size or 0) * 13, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(lambda x: type(self).function(x, self.axis), *present(inputs))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, FLOATS)
        axis = draw.axis_of(rng, output, shape)
        return Sample(cls(draw.signed(rng, axis, len(shape))), (output,))


def _softmax(x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def _log_softmax(x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    shifted = x - x.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


@dataclass(frozen=True)
class Softmax(_AlongAxis):
    """exp(x) divided by its sum along `axis`."""

    function = _softmax
    onnx = Onnx("Softmax", since=13, fields=(OnnxField("axis", "axis", -1, axis="input"),))


@dataclass(frozen=True)
class LogSoftmax(_AlongAxis):
    """The logarithm of Softmax."""

    function = _log_softmax
    onnx = Onnx("LogSoftmax", since=13, fields=(OnnxField("axis", "axis", -1, axis="input"),))


def _softplus(x: Array) -> Any:
    if x.dtype == object:
        return np.log(1 + np.exp(x))  # exact numbers do not overflow
    return np.logaddexp(x, x.dtype.type(0))


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    line = x * x.dtype.type(alpha) + x.dtype.type(beta)
    return np.asarray(np.maximum(0, np.minimum(1, line))).astype(x.dtype, copy=False)


def _gelu(x: Array) -> Array:
    kind = x.dtype.type
    return np.asarray(kind(0.5) * x * (1 + error_function(x * kind(np.sqrt(0.5)))))


def _gelu_tanh(x: Array) -> Array:
    kind = x.dtype.type
    inner = kind(np.sqrt(2 / np.pi)) * (x + kind(0.044715) * x * x * x)
    return np.asarray(kind(0.5) * x * (1 + np.tanh(inner)))


relu = builder(Relu)
sigmoid = builder(Sigmoid)
tanh = builder(Tanh)
clip = builder(Clip)
leaky_relu = builder(LeakyRelu)
elu = builder(Elu)
softplus = builder(Softplus)
hard_sigmoid = builder(HardSigmoid)
hard_swish = builder(HardSwish)
gelu = builder(Gelu)
prelu = builder(PRelu)
softmax = builder(Softmax)
log_softmax = builder(LogSoftmax)
