"""Operators that move elements without computing: orders of axes, and axes of size one.

Reshaping and shapes as values are in `reshaping`; joining, repeating and padding in `assembly`; taking parts
in `slicing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

import numpy as np

from tensaur.ir.dims import Dim, product
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample
from tensaur.ir.types import Array, Fact, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    ORDINARY,
    builder,
    normal_axes,
    same_dtype,
    symbolic_value,
    unknowns,
)
from tensaur.ops.numeric import present


@dataclass(frozen=True)
class Transpose(Operator):
    """Permute the axes: axis i of the result is axis `perm[i]` of the input; None reverses them."""

    perm: tuple[int, ...] | None = None

    onnx = Onnx("Transpose", since=1, fields=(OnnxField("perm", "perm", None),))

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        rank = inputs[0].rank
        if self.perm is not None or rank is None:
            return self
        return replace(self, perm=tuple(reversed(range(rank))))

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        value = symbolic_value(inputs, self.evaluate, dtype)
        if self.perm is None:
            return Fact(TensorType(dtype, None if x.shape is None else x.shape[::-1]), value)
        if sorted(self.perm) != list(range(len(self.perm))):
            raise ValueError(f"{list(self.perm)} is no permutation")
        shape = unknowns(self, inputs, len(self.perm)) if x.shape is None else x.shape
        if len(shape) != len(self.perm):
            raise ValueError(f"permutation {list(self.perm)} does not fit rank {len(shape)}")
        return Fact(TensorType(dtype, tuple(shape[axis] for axis in self.perm)), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.transpose(x, self.perm)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        perm = list(range(len(shape)))
        rng.shuffle(perm)
        source = tuple(shape[perm.index(axis)] for axis in range(len(shape)))
        return Sample(cls(tuple(perm)), (TensorType(output.dtype, source),))


@dataclass(frozen=True)
class Flatten(Operator):
    """Make a matrix: the axes before `axis` become its rows, the others its columns."""

    axis: int = 1

    onnx = Onnx("Flatten", since=1, fields=(OnnxField("axis", "axis", 1, axis="input"),))

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        if x.shape is None:
            return Fact(TensorType(dtype, unknowns(self, inputs, 2)))
        rank = len(x.shape)
        if not -rank <= self.axis <= rank:
            raise ValueError(f"axis {self.axis} is outside rank {rank}")
        split = self.axis if self.axis >= 0 else self.axis + rank
        return Fact(TensorType(dtype, (product(x.shape[:split]), product(x.shape[split:]))))

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        split = self.axis if self.axis >= 0 else self.axis + x.ndim
        rows = int(np.prod(x.shape[:split], dtype=np.int64))
        columns = int(np.prod(x.shape[split:], dtype=np.int64))
        return x.reshape(rows, columns)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        if len(shape) != 2:
            raise draw.refuse(output, "the result is a matrix")
        rows = draw.factors(rng, shape[0])
        columns = draw.factors(rng, shape[1])
        if not rows and not columns:
            rows = (1,)
        rank = len(rows) + len(columns)
        axis = draw.signed(rng, len(rows), rank) if columns else len(rows)
        return Sample(cls(axis), (TensorType(output.dtype, (*rows, *columns)),))


@dataclass(frozen=True)
class Squeeze(Operator):
    """Remove axes of size 1: those in `axes`, or all of them if that is None."""

    axes: tuple[int, ...] | None = None

    onnx = Onnx(
        "Squeeze",
        since=1,
        fields=(OnnxField("axes", "axes", None, input=1, input_since=13, axis="input"),),
    )

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        shape = inputs[0].tensor.static_shape
        if self.axes is not None or shape is None:
            return self
        return replace(self, axes=tuple(axis for axis, dim in enumerate(shape) if dim == 1))

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        value = symbolic_value(inputs, self.evaluate, dtype)
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        if self.axes is None:
            static = x.tensor.static_shape
            kept = None if static is None else tuple(dim for dim in static if dim != 1)
            return Fact(TensorType(dtype, kept), value)
        axes = normal_axes(self.axes, len(x.shape))
        for axis in axes:
            dim = x.shape[axis]
            if isinstance(dim, int) and dim != 1:
                raise ValueError(f"axis {axis} has size {dim}, not 1")
        shape = tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes)
        return Fact(TensorType(dtype, shape), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.squeeze(x, self.axes)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        wide = draw.with_ones(rng, shape, rng.randint(1, 2))
        # In order: old versions of ONNX's shape inference take that for granted.
        axes: tuple[int, ...] | None = tuple(
            sorted(draw.signed_axes(rng, wide.places, len(wide.shape)))
        )
        if 1 not in shape and draw.chance(rng, 0.2):
            axes = None
        return Sample(cls(axes), (TensorType(output.dtype, wide.shape),))


@dataclass(frozen=True)
class Unsqueeze(Operator):
    """Insert axes of size 1, so that they have the positions `axes` in the result."""

    axes: tuple[int, ...]

    onnx = Onnx(
        "Unsqueeze",
        since=1,
        fields=(OnnxField("axes", "axes", input=1, input_since=13, axis="output"),),
    )

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        value = symbolic_value(inputs, self.evaluate, dtype)
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        rank = len(x.shape) + len(self.axes)
        axes = normal_axes(self.axes, rank)
        dims = iter(x.shape)
        shape: tuple[Dim, ...] = tuple(1 if axis in axes else next(dims) for axis in range(rank))
        return Fact(TensorType(dtype, shape), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.expand_dims(x, self.axes)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        ones = [axis for axis, dim in enumerate(shape) if dim == 1]
        if not ones:
            raise draw.refuse(output, "no axis has size 1")
        places = rng.sample(ones, rng.randint(1, len(ones)))
        source = tuple(dim for axis, dim in enumerate(shape) if axis not in places)
        op = cls(draw.signed_axes(rng, places, len(shape)))
        return Sample(op, (TensorType(output.dtype, source),))


@dataclass(frozen=True)
class DepthToSpace(Operator):
    """Move blocks of channels of x[N,C,H,W] into space; `mode` "DCR" or "CRD" is the channels' order."""

    blocksize: int
    mode: str = "DCR"

    orders: ClassVar[dict[str, tuple[int, ...]]] = {
        "DCR": (0, 3, 4, 1, 5, 2),
        "CRD": (0, 1, 4, 2, 5, 3),
    }
    onnx = Onnx(
        "DepthToSpace",
        since=1,
        fields=(
            OnnxField("blocksize", "blocksize"),
            OnnxField("mode", "mode", "DCR", since=11),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, ORDINARY)
        if self.blocksize < 1 or self.mode not in self.orders:
            raise ValueError(f"blocksize {self.blocksize} or mode {self.mode!r} is not allowed")
        shape = unknowns(self, inputs, 4) if x.shape is None else x.shape
        if len(shape) != 4:
            raise ValueError(f"rank must be 4, got {len(shape)}")
        batch, channels, height, width = shape
        block = self.blocksize
        if isinstance(channels, int) and channels % block**2:
            raise ValueError(f"{channels} channels do not divide by {block**2}")
        return Fact(TensorType(dtype, (batch, channels // block**2, height * block, width * block)))

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        batch, channels, height, width = x.shape
        block = self.blocksize
        inner = channels // block**2
        split = (block, block, inner) if self.mode == "DCR" else (inner, block, block)
        moved = x.reshape(batch, *split, height, width).transpose(self.orders[self.mode])
        return moved.reshape(batch, inner, height * block, width * block)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        if len(shape) != 4:
            raise draw.refuse(output, "the rank is 4")
        batch, channels, height, width = shape
        blocks = [b for b in (1, 2, 3, 4) if height % b == 0 and width % b == 0]
        block = rng.choice(blocks)
        source = (batch, channels * block**2, height // block, width // block)
        op = cls(block, rng.choice(["DCR", "CRD"]))
        return Sample(op, (TensorType(output.dtype, source),))


transpose = builder(Transpose)
flatten = builder(Flatten)
squeeze = builder(Squeeze)
unsqueeze = builder(Unsqueeze)
depth_to_space = builder(DepthToSpace)
