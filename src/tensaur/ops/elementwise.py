"""Elementwise arithmetic: one, two or any number of inputs, NumPy broadcasting.

Comparisons, logic, Where and Cast are in `comparison`; activation functions in `activation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from random import Random
from typing import Any, ClassVar

import numpy as np

from tensaur.ir.dims import Dim, dim_max, dim_min, floordiv, is_nonnegative
from tensaur.ir.operator import Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, DType, Fact, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    FLOATS,
    NUMERIC,
    SIGNED,
    broadcast_type,
    builder,
    plain,
    same_dtype,
    symbolic_value,
)
from tensaur.ops.numeric import accumulate, elementwise, present, truncating_division


class Elementwise(Operator):
    """The base of operators that compute each element of the result from one of each input.

    `dtypes` are the element types accepted, `cost` the floating-point operations for one element.
    """

    dtypes: ClassVar[frozenset[DType]] = NUMERIC
    cost: ClassVar[int] = 1

    def infer(self, *inputs: Fact) -> Fact:
        dtype = same_dtype(inputs, self.dtypes)
        value = symbolic_value(inputs, self.symbolic, dtype)
        return Fact(broadcast_type(inputs, dtype), value)

    def symbolic(self, *inputs: Array | None) -> Any:
        """Compute the result on arrays of dimensions; the default is `evaluate`."""
        return self.evaluate(*inputs)

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        size = output.tensor.size if output.is_tensor else None
        return Work((size or 0) * self.cost, sum_nbytes((*inputs, output)))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, cls.dtypes)
        count = cls.arity if cls.arity is not None else rng.randint(1, 4)
        shapes = draw.operands(rng, shape, count)
        return Sample(
            cls.draw_operator(rng), tuple(TensorType(output.dtype, item) for item in shapes)
        )

    @classmethod
    def draw_operator(cls, rng: Random) -> Operator:
        """Draw the attributes; the default is for operators without any."""
        return cls()


class Unary(Elementwise):
    """The base of elementwise operators of one input that NumPy has as a function."""

    function: ClassVar[Callable[..., Any]]

    def evaluate(self, *inputs: Array | None) -> Array:
        return elementwise(type(self).function, *present(inputs))


class Binary(Elementwise):
    """The base of elementwise operators of two inputs of one type that NumPy has as a function."""

    function: ClassVar[Callable[..., Any]]

    arity = 2

    def evaluate(self, *inputs: Array | None) -> Array:
        return elementwise(type(self).function, *present(inputs))


@dataclass(frozen=True)
class Add(Binary):
    """a + b."""

    commutative = True
    function = np.add
    onnx = plain("Add", 7)


@dataclass(frozen=True)
class Sub(Binary):
    """a - b."""

    function = np.subtract
    onnx = plain("Sub", 7)


@dataclass(frozen=True)
class Mul(Binary):
    """a * b."""

    commutative = True
    function = np.multiply
    onnx = plain("Mul", 7)


@dataclass(frozen=True)
class Div(Binary):
    """a / b; integers round towards zero."""

    onnx = plain("Div", 7)

    def evaluate(self, *inputs: Array | None) -> Array:
        a, b = present(inputs)
        if a.dtype.kind in "iu":
            return truncating_division(a, b)
        return elementwise(np.true_divide, a, b)

    def symbolic(self, *inputs: Array | None) -> Any:
        return np.frompyfunc(_divide_dims, 2, 1)(*present(inputs))


@dataclass(frozen=True)
class Pow(Elementwise):
    """a to the power of b; the result has the type of a, and b may have another."""

    arity = 2
    cost = 10
    onnx = plain("Pow", 7)

    def infer(self, *inputs: Fact) -> Fact:
        base, exponent = inputs
        dtype = same_dtype([base], self.dtypes)
        same_dtype([exponent], self.dtypes)
        return Fact(broadcast_type(inputs, dtype))

    def evaluate(self, *inputs: Array | None) -> Array:
        a, b = present(inputs)
        if a.dtype == object or (a.dtype == b.dtype and a.dtype.kind not in "iu"):
            return _power(*(np.array(item) for item in np.broadcast_arrays(a, b)))
        # Integer powers of negative exponent are fractions before they are converted back.
        wide = np.float64 if a.dtype.kind in "iu" or b.dtype.kind in "iu" else np.float32
        return np.asarray(np.power(a.astype(wide), b.astype(wide))).astype(a.dtype)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        base, exponent = draw.operands(rng, draw.static(output, cls.dtypes), 2)
        return Sample(cls(), (TensorType(output.dtype, base), TensorType(output.dtype, exponent)))


@dataclass(frozen=True)
class Neg(Unary):
    """-x."""

    dtypes = SIGNED
    function = np.negative
    onnx = plain("Neg", 6)


@dataclass(frozen=True)
class Abs(Unary):
    """The absolute value."""

    function = np.abs
    onnx = plain("Abs", 6)


@dataclass(frozen=True)
class Sqrt(Unary):
    """The square root."""

    dtypes = FLOATS
    function = np.sqrt
    onnx = plain("Sqrt", 6)


@dataclass(frozen=True)
class Reciprocal(Unary):
    """1 / x."""

    dtypes = FLOATS
    onnx = plain("Reciprocal", 6)

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return elementwise(np.true_divide, np.ones((), dtype=x.dtype), x)


@dataclass(frozen=True)
class Exp(Unary):
    """e to the power of x."""

    dtypes = FLOATS
    cost = 10
    function = np.exp
    onnx = plain("Exp", 6)


@dataclass(frozen=True)
class Log(Unary):
    """The natural logarithm."""

    dtypes = FLOATS
    cost = 10
    function = np.log
    onnx = plain("Log", 6)


@dataclass(frozen=True)
class Erf(Unary):
    """The error function."""

    dtypes = FLOATS
    cost = 10
    onnx = plain("Erf", 9)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(error_function, *present(inputs))


@dataclass(frozen=True)
class Floor(Unary):
    """The greatest integer that is not above x."""

    dtypes = FLOATS
    function = np.floor
    onnx = plain("Floor", 6)


@dataclass(frozen=True)
class Ceil(Unary):
    """The least integer that is not below x."""

    dtypes = FLOATS
    function = np.ceil
    onnx = plain("Ceil", 6)


@dataclass(frozen=True)
class Sign(Unary):
    """-1, 0 or 1."""

    function = np.sign
    onnx = plain("Sign", 9)


@dataclass(frozen=True)
class Sin(Unary):
    """The sine."""

    dtypes = FLOATS
    cost = 10
    function = np.sin
    onnx = plain("Sin", 7)


@dataclass(frozen=True)
class Cos(Unary):
    """The cosine."""

    dtypes = FLOATS
    cost = 10
    function = np.cos
    onnx = plain("Cos", 7)


class Variadic(Elementwise):
    """The base of elementwise operators of any number of inputs, folded from the left."""

    pair: ClassVar[Callable[..., Any]]
    pair_of_dims: ClassVar[Callable[[Dim, Dim], Dim]]

    arity = None
    arity_min = 1

    def evaluate(self, *inputs: Array | None) -> Array:
        function = type(self).pair
        return reduce(lambda a, b: elementwise(function, a, b), present(inputs))

    def symbolic(self, *inputs: Array | None) -> Any:
        function = np.frompyfunc(type(self).pair_of_dims, 2, 1)
        return reduce(lambda a, b: np.asarray(function(a, b), dtype=object), present(inputs))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work((output.tensor.size or 0) * (len(inputs) - 1), sum_nbytes((*inputs, output)))


@dataclass(frozen=True)
class Min(Variadic):
    """The least of all inputs, element by element."""

    commutative = True
    pair = np.minimum
    pair_of_dims = dim_min
    onnx = plain("Min", 8)


@dataclass(frozen=True)
class Max(Variadic):
    """The greatest of all inputs, element by element."""

    commutative = True
    pair = np.maximum
    pair_of_dims = dim_max
    onnx = plain("Max", 8)


@dataclass(frozen=True)
class Sum(Variadic):
    """The sum of all inputs, element by element."""

    dtypes = FLOATS
    commutative = True
    pair = np.add
    onnx = plain("Sum", 8)


def _power(a: Array, b: Array) -> Array:
    """Compute powers of arrays of one shape.

    NumPy takes shortcuts for some exponents, but only where they are scalars; here they are the rule.
    """
    result = elementwise(np.power, a, b)
    if a.dtype != object:
        result = np.where(b == 1, a, np.where(b == 2, a * a, result)).astype(a.dtype)
    return result


def error_function(x: Array) -> Any:
    """Compute the error function."""
    if np.asarray(x).dtype == object:
        return np.frompyfunc(lambda item: item.erf(), 1, 1)(x)  # exact numbers know theirs
    from scipy.special import erf  # noqa: PLC0415  # heavy: imported when used

    return erf(x)


def _divide_dims(a: Dim, b: Dim) -> Dim | None:
    if not (is_nonnegative(a) and is_nonnegative(b)):
        return None  # rounding down and rounding towards zero may differ
    return floordiv(a, b)


add = builder(Add)
sub = builder(Sub)
mul = builder(Mul)
div = builder(Div)
pow_ = builder(Pow)
neg = builder(Neg)
abs_ = builder(Abs)
sqrt = builder(Sqrt)
reciprocal = builder(Reciprocal)
exp = builder(Exp)
log = builder(Log)
erf = builder(Erf)
floor = builder(Floor)
ceil = builder(Ceil)
sign = builder(Sign)
sin = builder(Sin)
cos = builder(Cos)
min_ = builder(Min)
max_ = builder(Max)
sum_ = builder(Sum)
