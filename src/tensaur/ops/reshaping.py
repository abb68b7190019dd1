"""Shapes as values: Shape reads one, Reshape, Expand and Tile take one as an input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.ir.dims import Dim, exact_quotient, floordiv, is_anonymous, product
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Fact, Known, TensorType, broadcast
from tensaur.ir.types import Shape as Dims
from tensaur.ops import draw
from tensaur.ops.inference import (
    ORDINARY,
    builder,
    integers,
    plain,
    same_dtype,
    symbolic_value,
    unknown,
    unknowns,
)
from tensaur.ops.numeric import present


@dataclass(frozen=True)
class Shape(Operator):
    """The shape of the input as an int64 vector, from axis `start` up to axis `end`."""

    start: int = 0
    end: int | None = None

    onnx = Onnx(
        "Shape",
        since=1,
        fields=(OnnxField("start", "start", 0, since=15), OnnxField("end", "end", None, since=15)),
    )

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        if x.shape is None:
            return Fact(TensorType(DType.INT64, unknowns(self, inputs, 1)))
        part = x.shape[self.start : self.end]
        fits = len(part) <= KNOWN_LIMIT
        return Fact(TensorType(DType.INT64, (len(part),)), Known.of_dims(part) if fits else None)

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(0, 8 * (output.tensor.size or 0))  # it does not read the elements

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.array(x.shape[self.start : self.end], dtype=np.int64)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output, frozenset({DType.INT64}))
        if len(shape) != 1:
            raise draw.refuse(output, "the result is a vector")
        before, after = (rng.randint(0, 1), rng.randint(0, 1)) if draw.chance(rng) else (0, 0)
        rank = before + shape[0] + after
        source = tuple(rng.randint(1, 3) for _ in range(rank))
        start = before - rank if before and draw.chance(rng) else before
        end = None
        if after:
            end = -after if draw.chance(rng) else before + shape[0]
        dtype = rng.choice([DType.FLOAT32, DType.INT64])
        return Sample(cls(start, end), (TensorType(dtype, source),))


@dataclass(frozen=True)
class Reshape(Operator):
    """The same elements in another shape: -1 is what is left over, 0 copies (unless `allowzero`)."""

    allowzero: bool = False

    arity = 2
    onnx = Onnx("Reshape", since=5, fields=(OnnxField("allowzero", "allowzero", False, since=14),))

    def infer(self, *inputs: Fact) -> Fact:
        x, target = inputs
        dtype = same_dtype([x], ORDINARY)
        items = integers(target, "shape")
        value = symbolic_value(inputs, self.evaluate, dtype) if _is_static(items) else None
        if items is None:
            return Fact(TensorType(dtype, _unread(self, inputs, target)))
        return Fact(TensorType(dtype, self._shape(inputs, items)), value)

    def _shape(self, inputs: Sequence[Fact], items: tuple[Dim, ...]) -> Dims:
        source = inputs[0].shape
        dims = list(items)
        for position, item in enumerate(items):
            if item == 0 and not self.allowzero:
                dims[position] = self._copied(inputs, position)
            elif isinstance(item, int) and item < -1:
                raise ValueError(f"dimension {item} in a shape")
        open_places = [position for position, item in enumerate(items) if item == -1]
        if len(open_places) > 1 or (open_places and self.allowzero and 0 in items):
            raise ValueError(f"shape {[str(item) for item in items]} is ambiguous")
        if source is None:
            for position in open_places:
                dims[position] = unknown(self, inputs, position)
        elif open_places:
            (position,) = open_places
            others = [dim for i, dim in enumerate(dims) if i != position]
            dims[position] = _left_over(source, others, unknown(self, inputs, position))
        else:
            _check_size(source, dims)
        return tuple(dims)

    def _copied(self, inputs: Sequence[Fact], position: int) -> Dim:
        source = inputs[0].shape
        if source is None:
            return unknown(self, inputs, position)
        if position >= len(source):
            raise ValueError(f"0 at position {position}, but the input has rank {len(source)}")
        return source[position]

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(0, 0)  # no element moves

    def evaluate(self, *inputs: Array | None) -> Array:
        x, target = present(inputs)
        items = [int(item) for item in target]
        if not self.allowzero:
            items = [x.shape[i] if item == 0 else item for i, item in enumerate(items)]
        return x.reshape(items)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        if 0 in shape:
            source, op = tuple(rng.sample(shape, len(shape))), cls(True)
            return Sample(op, (TensorType(output.dtype, source), draw.vector(shape)))
        source = draw.factors(rng, int(np.prod(shape)), 4)
        allowzero = draw.chance(rng, 0.2)
        items = list(shape)
        if not allowzero:
            for position, dim in enumerate(source[: len(items)]):
                if dim == items[position] and draw.chance(rng):
                    items[position] = 0
        if items and draw.chance(rng):
            items[rng.randrange(len(items))] = -1
        return Sample(cls(allowzero), (TensorType(output.dtype, source), draw.vector(items)))


@dataclass(frozen=True)
class Expand(Operator):
    """Broadcast x and a shape together."""

    arity = 2
    onnx = plain("Expand", 8)

    def infer(self, *inputs: Fact) -> Fact:
        x, target = inputs
        dtype = same_dtype([x], ORDINARY)
        items = integers(target, "shape")
        value = symbolic_value(inputs, self.evaluate, dtype) if _is_static(items) else None
        if items is None:
            items = _unread(self, inputs, target)
        return Fact(TensorType(dtype, broadcast([x.shape, items])), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        x, target = present(inputs)
        shape = np.broadcast_shapes(x.shape, tuple(int(item) for item in target))
        return np.array(np.broadcast_to(x, shape))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        source, target = draw.operands(rng, draw.static(output), 2)
        return Sample(cls(), (TensorType(output.dtype, source), draw.vector(target)))


@dataclass(frozen=True)
class Tile(Operator):
    """Repeat x `repeats[i]` times along axis i."""

    arity = 2
    onnx = plain("Tile", 6)

    def infer(self, *inputs: Fact) -> Fact:
        x, repeats = inputs
        dtype = same_dtype([x], ORDINARY)
        counts = integers(repeats, "repeats")
        shape = x.shape
        if shape is None and repeats.shape is not None and isinstance(repeats.shape[0], int):
            return Fact(TensorType(dtype, unknowns(self, inputs, repeats.shape[0])))
        if shape is None:
            return Fact(TensorType(dtype, None))
        if counts is None:
            return Fact(TensorType(dtype, unknowns(self, inputs, len(shape))))
        if len(counts) != len(shape):
            raise ValueError(f"{len(counts)} repeats do not fit rank {len(shape)}")
        if any(isinstance(count, int) and count < 0 for count in counts):
            raise ValueError("a repeat is negative")
        dims = tuple(dim * count for dim, count in zip(shape, counts, strict=True))
        return Fact(TensorType(dtype, dims))

    def evaluate(self, *inputs: Array | None) -> Array:
        x, repeats = present(inputs)
        return np.tile(x, tuple(int(item) for item in repeats))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        repeats = [
            rng.choice([n for n in range(1, max(dim, 1) + 1) if dim % n == 0]) for dim in shape
        ]
        source = tuple(dim // count for dim, count in zip(shape, repeats, strict=True))
        return Sample(cls(), (TensorType(output.dtype, source), draw.vector(repeats)))


def _is_static(items: tuple[Dim, ...] | None) -> bool:
    return items is not None and all(isinstance(item, int) for item in items)


def _unread(op: Operator, inputs: Sequence[Fact], target: Fact) -> Dims | None:
    """Return the shape that an unknown shape vector means: only its length may be known."""
    length = None if target.shape is None else target.shape[0]
    return unknowns(op, inputs, length) if isinstance(length, int) else None


def _left_over(source: Dims, others: Sequence[Dim], otherwise: Dim) -> Dim:
    """Return the dimension that makes the sizes equal, by cancelling equal dimensions first."""
    numerator = list(source)
    denominator: list[Dim] = []
    for dim in others:
        if dim in numerator:
            numerator.remove(dim)
        else:
            denominator.append(dim)
    total, divisor = product(numerator), product(denominator)
    if isinstance(divisor, int) and divisor == 0:
        raise ValueError("-1 beside a dimension of size 0")
    if isinstance(total, int) and isinstance(divisor, int) and total % divisor:
        raise ValueError(f"{total} elements do not divide by {divisor}")
    exact = exact_quotient(total, divisor)
    if exact is not None:
        return exact
    if any(is_anonymous(dim) for dim in (*numerator, *denominator)):
        return otherwise
    return floordiv(total, divisor)


def _check_size(source: Dims, target: Sequence[Dim]) -> None:
    have, want = product(source), product(target)
    if isinstance(have, int) and isinstance(want, int) and have != want:
        raise ValueError(f"{have} elements do not fill a shape of {want}")


shape = builder(Shape)
reshape = builder(Reshape)
expand = builder(Expand)
tile = builder(Tile)
