"""Elementwise operators on truth values: comparisons, logic, selection, and conversion of types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.ir.dims import Dim, is_anonymous, is_positive
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Fact, Known, TensorType
from tensaur.ops import draw
from tensaur.ops.elementwise import Binary, Elementwise, Unary
from tensaur.ops.inference import (
    ORDINARY,
    broadcast_type,
    builder,
    plain,
    same_dtype,
    symbolic_value,
)
from tensaur.ops.numeric import present

_BOOL = frozenset({DType.BOOL})
# What is outside the range of these integers comes out by way of a wider one, as compiled code has it;
# left to NumPy it depends on how many elements there are.
_THROUGH = {
    DType.INT8: np.int32,
    DType.INT16: np.int32,
    DType.UINT8: np.int32,
    DType.UINT16: np.int32,
    DType.UINT32: np.int64,
}


class Comparison(Binary):
    """The base of comparisons: two inputs of one type, a truth value for each element."""

    def infer(self, *inputs: Fact) -> Fact:
        same_dtype(inputs, self.dtypes)
        return Fact(broadcast_type(inputs, DType.BOOL))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        first, second = draw.operands(rng, draw.static(output, _BOOL), 2)
        # Float16 and the small integers have no kernel in common runtimes.
        wide = (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64)
        dtype = rng.choice([item for item in wide if item in cls.dtypes])
        return Sample(cls(), (TensorType(dtype, first), TensorType(dtype, second)))


@dataclass(frozen=True)
class Equal(Comparison):
    """Whether a = b."""

    dtypes = ORDINARY
    commutative = True
    function = np.equal
    onnx = plain("Equal", 7)

    def infer(self, *inputs: Fact) -> Fact:
        same_dtype(inputs, self.dtypes)
        return Fact(broadcast_type(inputs, DType.BOOL), _equal_dims(inputs))


@dataclass(frozen=True)
class Less(Comparison):
    """Whether a < b."""

    function = np.less
    onnx = plain("Less", 7)


@dataclass(frozen=True)
class Greater(Comparison):
    """Whether a > b."""

    function = np.greater
    onnx = plain("Greater", 7)


@dataclass(frozen=True)
class LessOrEqual(Comparison):
    """Whether a <= b."""

    function = np.less_equal
    onnx = plain("LessOrEqual", 12)


@dataclass(frozen=True)
class GreaterOrEqual(Comparison):
    """Whether a >= b."""

    function = np.greater_equal
    onnx = plain("GreaterOrEqual", 12)


@dataclass(frozen=True)
class Not(Unary):
    """The negation of a truth value."""

    dtypes = _BOOL
    function = np.logical_not
    onnx = plain("Not", 1)


@dataclass(frozen=True)
class And(Binary):
    """Whether both are true."""

    dtypes = _BOOL
    commutative = True
    function = np.logical_and
    onnx = plain("And", 7)


@dataclass(frozen=True)
class Or(Binary):
    """Whether either is true."""

    dtypes = _BOOL
    commutative = True
    function = np.logical_or
    onnx = plain("Or", 7)


@dataclass(frozen=True)
class Where(Elementwise):
    """The element of the second input where the first is true, else of the third."""

    dtypes = ORDINARY
    arity = 3
    onnx = plain("Where", 9)

    def infer(self, *inputs: Fact) -> Fact:
        condition, *branches = inputs
        same_dtype([condition], _BOOL)
        dtype = same_dtype(branches, self.dtypes)
        value = symbolic_value(inputs, self.evaluate, dtype)
        return Fact(broadcast_type(inputs, dtype), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        condition, a, b = present(inputs)
        return np.where(condition.astype(bool), a, b)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        condition, *branches = draw.operands(rng, draw.static(output, cls.dtypes), 3)
        types = tuple(TensorType(output.dtype, item) for item in branches)
        return Sample(cls(), (TensorType(DType.BOOL, condition), *types))


@dataclass(frozen=True)
class Cast(Operator):
    """Conversion to the element type `to`: floats are truncated to integers, nonzero becomes true."""

    to: DType

    onnx = Onnx("Cast", since=6, fields=(OnnxField("to", "to", dtype="type"),))

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        same_dtype(inputs, ORDINARY)
        if self.to not in ORDINARY:
            raise TypeError(f"conversion to {self.to.value} is not modelled")
        symbolic = x.value is not None and x.value.dims is not None and self.to is DType.INT64
        return Fact(TensorType(self.to, x.shape), x.value if symbolic else None)

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(output.tensor.size or 0, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        if x.dtype == object and self.to.is_float:
            return x  # exact numbers stay exact
        through = _THROUGH.get(self.to)
        if x.dtype.kind == "f" and through is not None:
            x = x.astype(through)
        return x.astype(self.to.numpy)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        sources = (DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.BOOL)
        return Sample(cls(output.dtype), (TensorType(rng.choice(sources), shape),))


def _equal_dims(inputs: Sequence[Fact]) -> Known | None:
    """Compare symbolic integers; None unless every pair is certainly equal or certainly different."""
    a, b = (fact.value for fact in inputs)
    if a is None or b is None or (a.dims is None and b.dims is None):
        return None
    first, second = (np.array(item.ints, dtype=object).reshape(item.shape) for item in (a, b))
    result = np.asarray(np.frompyfunc(_certainly_equal, 2, 1)(first, second), dtype=object)
    if result.size > KNOWN_LIMIT or any(item is None for item in result.ravel()):
        return None
    return Known.of(result.astype(bool))


def _certainly_equal(a: Dim, b: Dim) -> bool | None:
    difference = a - b
    if isinstance(difference, int):
        return None if difference == 0 and is_anonymous(a) else difference == 0
    # Sizes are never negative, so a shape never equals the -1 that exporters compare it with.
    return False if is_positive(difference) or is_positive(-difference) else None


equal = builder(Equal)
less = builder(Less)
greater = builder(Greater)
less_or_equal = builder(LessOrEqual)
greater_or_equal = builder(GreaterOrEqual)
not_ = builder(Not)
and_ = builder(And)
or_ = builder(Or)
where = builder(Where)
cast = builder(Cast)
