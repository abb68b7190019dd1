"""Small operator classes for the e-graph's tests; they know shapes only as far as rules need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensaur.ir.operator import Input, Literal, Operator, Project, Weight
from tensaur.ir.term import Apply, build, derived
from tensaur.ir.types import DType, Fact, Known, TensorType, TupleType


@dataclass(frozen=True)
class Neg(Operator):
    arity = 1

    def infer(self, *inputs: Fact) -> Fact:
        return Fact(inputs[0].tensor)

    def evaluate(self, *inputs: Any) -> Any:
        return -inputs[0]


@dataclass(frozen=True)
class Relu(Operator):
    arity = 1

    def infer(self, *inputs: Fact) -> Fact:
        return Fact(inputs[0].tensor)


@dataclass(frozen=True)
class Scale(Operator):
    factor: int = 1
    arity = 1

    def infer(self, *inputs: Fact) -> Fact:
        return Fact(inputs[0].tensor)


@dataclass(frozen=True)
class Add(Operator):
    arity = 2
    commutative = True

    def infer(self, *inputs: Fact) -> Fact:
        a, b = (item.tensor for item in inputs)
        if a.shape is not None and b.shape is not None and a.shape != b.shape:
            raise ValueError(f"shapes {a.shape} and {b.shape} differ")
        return Fact(a)

    def evaluate(self, *inputs: Any) -> Any:
        return inputs[0] + inputs[1]


@dataclass(frozen=True)
class Mul(Operator):
    arity = 2
    commutative = True
    infer = Add.infer

    def evaluate(self, *inputs: Any) -> Any:
        return inputs[0] * inputs[1]


@dataclass(frozen=True)
class MatMul(Operator):
    arity = 2

    def infer(self, *inputs: Fact) -> Fact:
        a, b = (item.tensor.shape for item in inputs)
        if a is None or b is None or len(a) != 2 or len(b) != 2 or a[1] != b[0]:
            raise ValueError(f"matmul of {a} and {b}")
        return Fact(TensorType(inputs[0].dtype, (a[0], b[1])))


@dataclass(frozen=True)
class Transpose(Operator):
    arity = 1

    def infer(self, *inputs: Fact) -> Fact:
        shape = inputs[0].tensor.shape
        assert shape is not None
        return Fact(TensorType(inputs[0].dtype, shape[::-1]))


@dataclass(frozen=True)
class Concat(Operator):
    axis: int
    arity = None
    arity_min = 1

    def infer(self, *inputs: Fact) -> Fact:
        shapes = [item.tensor.shape for item in inputs]
        result = list(shapes[0] or ())
        axis = self.axis % len(result)
        for shape in shapes[1:]:
            if shape is None or len(shape) != len(result):
                raise ValueError("ranks differ")
            for position, size in enumerate(shape):
                if position == axis:
                    result[position] += size
                elif size != result[position]:
                    raise ValueError("shapes differ")
        return Fact(TensorType(inputs[0].dtype, tuple(result)))


@dataclass(frozen=True)
class Wide(Operator):
    """Takes any number of inputs of one type."""

    arity = None
    arity_min = 1

    def infer(self, *inputs: Fact) -> Fact:
        return Fact(inputs[0].tensor)


@dataclass(frozen=True)
class Split(Operator):
    axis: int
    sizes: tuple[int, ...]
    arity = 1

    @property
    def output_count(self) -> int:
        return len(self.sizes)

    def infer(self, *inputs: Fact) -> Fact:
        shape = list(inputs[0].tensor.shape or ())
        axis = self.axis % len(shape)
        if shape[axis] != sum(self.sizes):
            raise ValueError("sizes do not add up")
        items = []
        for size in self.sizes:
            shape[axis] = size
            items.append(TensorType(inputs[0].dtype, tuple(shape)))
        return Fact(TupleType(tuple(items)))


TOYS = (Neg, Relu, Scale, Add, Mul, MatMul, Transpose, Concat, Wide, Split)


def neg(x: Any) -> Apply:
    return build(Neg, x)


def relu(x: Any) -> Apply:
    return build(Relu, x)


def scale(x: Any, **attrs: Any) -> Apply:
    return build(Scale, x, **attrs)


def add(x: Any, y: Any) -> Apply:
    return build(Add, x, y)


def mul(x: Any, y: Any) -> Apply:
    return build(Mul, x, y)


def matmul(x: Any, y: Any) -> Apply:
    return build(MatMul, x, y)


def transpose(x: Any) -> Apply:
    return build(Transpose, x)


def concat(*items: Any, axis: Any) -> Apply:
    return build(Concat, *items, axis=axis)


def wide(*items: Any) -> Apply:
    return build(Wide, *items)


def split(x: Any, *, axis: Any, sizes: Any) -> Apply:
    return build(Split, x, axis=axis, sizes=sizes)


def f32(*shape: Any) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def leaf(name: str, *shape: Any) -> Input:
    return Input(name, f32(*shape))


def weight(name: str, *shape: Any) -> Weight:
    return Weight(name, f32(*shape))


def scalar(value: float) -> Literal:
    return Literal(Known.of(np.array(value, np.float32)))


@derived
def columns(x: Fact) -> Any:
    return None if x.shape is None else x.shape[-1]


@derived
def plus(a: int, b: int) -> int:
    return a + b


@derived
def times(a: int, b: int) -> int:
    return a * b


@derived
def same_type(x: Fact, y: Fact) -> bool:
    return x.type == y.type


__all__ = [name for name in dir() if not name.startswith("_")] + ["Project"]
