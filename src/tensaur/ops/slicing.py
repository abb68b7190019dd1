"""Operators that take parts of a tensor: Slice, Split and Gather."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from tensaur.ir.dims import Dim, ceildiv, dim_max, dim_min
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Fact, Known, TensorType, TupleType
from tensaur.ops import draw
from tensaur.ops.inference import (
    ORDINARY,
    builder,
    normal_axes,
    normal_axis,
    same_dtype,
    symbolic_value,
    unknown,
)
from tensaur.ops.numeric import present

# Ends from here on mean "to the end": exporters write the greatest int32 or int64.
FAR = 2**31 - 1


@dataclass(frozen=True)
class Slice(Operator):
    """Every `steps[i]`-th element of axis `axes[i]` from `starts[i]` up to `ends[i]`, as in Python.

    ``()`` for axes means the first ones, for steps ones; `canonical` writes both out.
    """

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    axes: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()

    onnx = Onnx(
        "Slice",
        since=1,
        fields=(
            OnnxField("starts", "starts", input=1, input_since=10),
            OnnxField("ends", "ends", input=2, input_since=10),
            OnnxField("axes", "axes", (), input=3, input_since=10, axis="input"),
            OnnxField("steps", None, (), since=10, input=4, input_since=10, each=1),
        ),
    )

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        count = len(self.starts)
        return replace(
            self, axes=self.axes or tuple(range(count)), steps=self.steps or (1,) * count
        )

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        value = symbolic_value(inputs, self.evaluate, dtype)
        axes, steps = self._written_out()
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        dims = list(x.shape)
        for position, axis in enumerate(normal_axes(axes, len(dims))):
            length = slice_length(
                dims[axis], self.starts[position], self.ends[position], steps[position]
            )
            dims[axis] = unknown(self, inputs, axis) if length is None else length
        return Fact(TensorType(dtype, tuple(dims)), value)

    def _written_out(self) -> tuple[Sequence[int], Sequence[int]]:
        count = len(self.starts)
        axes, steps = self.axes or range(count), self.steps or (1,) * count
        if not len(self.ends) == len(axes) == len(steps) == count:
            raise ValueError("starts, ends, axes and steps differ in length")
        if 0 in steps:
            raise ValueError("a step is 0")
        return axes, steps

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        axes, steps = self._written_out()
        index = [slice(None)] * x.ndim
        for position, axis in enumerate(normal_axes(axes, x.ndim)):
            index[axis] = slice(self.starts[position], self.ends[position], steps[position])
        return np.asarray(x[tuple(index)])

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 1)  # runtimes refuse to slice scalars
        order = [axis for axis in range(len(shape)) if draw.chance(rng, 0.6)]
        axes = draw.signed_axes(rng, order, len(shape))
        cuts = {axis: _draw_cut(rng, shape[axis]) for axis in axes}
        source = list(shape)
        for axis, cut in cuts.items():
            source[axis] = cut.size
        chosen = [cuts[axis] for axis in axes]
        op = cls(
            tuple(cut.start for cut in chosen),
            tuple(cut.end for cut in chosen),
            axes,
            tuple(cut.step for cut in chosen),
        )
        return Sample(op, (TensorType(output.dtype, tuple(source)),))


def slice_length(size: Dim, start: int, end: int, step: int) -> Dim | None:
    """Return how many elements a slice of an axis has, None if that cannot be written down."""
    if isinstance(size, int):
        return len(range(size)[start:end:step])
    if step > 0:
        return ceildiv(_span(size, start, end), step)
    if (start == -1 or start >= FAR) and end <= -FAR:
        return ceildiv(size, -step)
    return None


def _span(size: Dim, start: int, end: int) -> Dim:
    """Return the length of ``[start:end]``, exact for every size."""
    if start == 0:
        return _bounded(size, end)
    if end >= FAR:
        return dim_min(-start, size) if start < 0 else dim_max(size - start, 0)
    if end <= start and (start < 0) == (end < 0):
        return 0
    return dim_max(_bounded(size, end) - _bounded(size, start), 0)


def _bounded(size: Dim, place: int) -> Dim:
    """Return a start or end as a position in 0..size."""
    if place >= FAR:
        return size
    return dim_min(place, size) if place >= 0 else dim_max(size + place, 0)


@dataclass(frozen=True, slots=True)
class _Cut:
    size: int
    start: int
    end: int
    step: int


def _draw_cut(rng: Random, length: int) -> _Cut:
    """Draw a slice with a result of this length, in all the ways that ONNX may write it."""
    step, before, after = rng.choice([1, 1, 1, 2, 3, -1, -2]), rng.randint(0, 2), rng.randint(0, 2)
    stride = abs(step)
    span = (length - 1) * stride + 1 if length else 0
    size = max(before + span + after, 1)
    if not length:
        return _Cut(size, 0, 0, abs(step))
    low, high = before, before + span - 1
    if step > 0:
        start, end = low, min(high + rng.randint(1, stride), size)
        written_end = rng.choice([end, end - size if end < size else FAR])
        return _Cut(size, rng.choice([start, start - size]), written_end, step)
    start, end = high, low - rng.randint(1, stride)
    written_start = rng.choice([start, start - size, FAR if start == size - 1 else start])
    written_end = -FAR - 1 if end < 0 else rng.choice([end, end - size])
    return _Cut(size, written_start, written_end, step)


@dataclass(frozen=True)
class Split(Operator):
    """Cut x along `axis` into parts of the given `sizes`; the value is the tuple of the parts.

    ``()`` for sizes means equal parts, as many as there are outputs; `canonical` writes them out.
    """

    axis: int = 0
    sizes: tuple[int, ...] = ()

    onnx = Onnx(
        "Split",
        since=2,
        fields=(
            OnnxField("axis", "axis", 0, axis="input"),
            OnnxField("sizes", "split", (), input=1, input_since=13),
        ),
        ignored=("num_outputs",),
    )

    @property
    def output_count(self) -> int:
        return len(self.sizes)

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        shape = inputs[0].shape
        if self.sizes or shape is None or outputs < 1:
            return self
        size = shape[normal_axis(self.axis, len(shape))]
        if not isinstance(size, int):
            return self
        # Opset 18 allows a smaller last part.
        part = -(-size // outputs)
        sizes = (part,) * (outputs - 1)
        return replace(self, sizes=(*sizes, size - sum(sizes)))

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        if not self.sizes or min(self.sizes) < 0:
            raise ValueError(f"sizes {list(self.sizes)} of the parts are not known")
        if x.shape is None:
            return Fact(TupleType((TensorType(dtype, None),) * len(self.sizes)))
        axis = normal_axis(self.axis, len(x.shape))
        size = x.shape[axis]
        if isinstance(size, int) and size != sum(self.sizes):
            raise ValueError(f"parts of {list(self.sizes)} do not make up {size}")
        return Fact(
            TupleType(
                tuple(
                    TensorType(dtype, (*x.shape[:axis], part, *x.shape[axis + 1 :]))
                    for part in self.sizes
                )
            )
        )

    def evaluate(self, *inputs: Array | None) -> Any:
        (x,) = present(inputs)
        return tuple(np.split(x, np.cumsum(self.sizes)[:-1], axis=self.axis))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        axis = draw.axis_of(rng, output, shape)
        sizes = [rng.randint(1, 3) for _ in range(index + rng.randint(1, 3))]
        sizes[index] = shape[axis]
        source = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
        op = cls(draw.signed(rng, axis, len(shape)), tuple(sizes))
        return Sample(op, (TensorType(output.dtype, source),))


@dataclass(frozen=True)
class Gather(Operator):
    """Look up the slices of x along `axis` that the integers in the second input name."""

    axis: int = 0

    arity = 2
    onnx = Onnx("Gather", since=1, fields=(OnnxField("axis", "axis", 0, axis="input"),))

    def infer(self, *inputs: Fact) -> Fact:
        x, indices = inputs
        dtype = same_dtype([x], ORDINARY)
        same_dtype([indices], frozenset({DType.INT32, DType.INT64}))
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        axis = normal_axis(self.axis, len(x.shape))
        _check_indices(indices.value, x.shape[axis])
        value = symbolic_value(inputs, self.evaluate, dtype) if _is_concrete(indices) else None
        if indices.shape is None:
            return Fact(TensorType(dtype, None), value)
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        return Fact(TensorType(dtype, shape), value)

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(0, 2 * sum_nbytes([output]) + sum_nbytes([inputs[1]]))

    def evaluate(self, *inputs: Array | None) -> Array:
        x, indices = present(inputs)
        return np.asarray(np.take(x, indices.astype(np.int64), axis=self.axis))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        axis = rng.randint(0, len(shape))
        rank = rng.randint(0, len(shape) - axis)
        if int(np.prod(shape[axis : axis + rank])) > KNOWN_LIMIT:
            rank = 0
        size = rng.randint(1, 4)
        source = (*shape[:axis], size, *shape[axis + rank :])
        drawn = [rng.randrange(-size, size) for _ in range(int(np.prod(shape[axis : axis + rank])))]
        kind = rng.choice([np.int64, np.int32])
        indices = Known.of(np.array(drawn, dtype=kind).reshape(shape[axis : axis + rank]))
        op = cls(draw.signed(rng, axis, len(source)))
        return Sample(op, (TensorType(output.dtype, source), indices))


def _is_concrete(fact: Fact) -> bool:
    return fact.value is not None and fact.value.dims is None


def _check_indices(value: Known | None, size: Dim) -> None:
    items = None if value is None else value.ints
    if items is None or not isinstance(size, int):
        return
    for item in items:
        if isinstance(item, int) and not -size <= item < size:
            raise ValueError(f"index {item} is outside size {size}")


slice_ = builder(Slice)
split = builder(Split)
gather = builder(Gather)
