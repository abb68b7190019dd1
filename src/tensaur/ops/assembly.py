"""Operators that build a larger tensor: Concat and Pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from tensaur.ir.dims import Dim
from tensaur.ir.operator import Onnx, OnnxField, OnnxInput, Operator, Sample
from tensaur.ir.types import Array, Fact, Shape, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    ORDINARY,
    builder,
    given,
    normal_axes,
    normal_axis,
    required_rank,
    same_dtype,
    symbolic_value,
    unify_shapes,
    unknown,
    unknowns,
)
from tensaur.ops.numeric import optional, present

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


@dataclass(frozen=True)
class Concat(Operator):
    """Join tensors along `axis`, along which alone their shapes may differ."""

    axis: int

    arity = None
    arity_min = 1
    onnx = Onnx("Concat", since=4, fields=(OnnxField("axis", "axis", axis="input"),))

    def infer(self, *inputs: Fact) -> Fact:
        dtype = same_dtype(inputs, ORDINARY)
        value = symbolic_value(inputs, self.evaluate, dtype)
        shapes = [fact.shape for fact in inputs]
        known = [shape for shape in shapes if shape is not None]
        if not known:
            return Fact(TensorType(dtype, None))
        ranks = {len(shape) for shape in known}
        if len(ranks) != 1:
            raise ValueError(f"ranks differ: {sorted(ranks)}")
        axis = normal_axis(self.axis, ranks.pop())
        others = unify_shapes([_without(shape, axis) for shape in known], "joined dimensions")
        assert others is not None
        total: Dim = 0
        for shape in known:
            total = total + shape[axis]
        if len(known) < len(shapes):
            total = unknown(self, inputs, axis)
        return Fact(TensorType(dtype, (*others[:axis], total, *others[axis:])), value)

    def evaluate(self, *inputs: Array | None) -> Array:
        return np.concatenate(present(inputs), axis=self.axis)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static(output)
        axis = draw.axis_of(rng, output, shape)
        count = rng.randint(1, max(1, min(4, shape[axis])))
        sizes = [1 + extra for extra in draw.split_total(rng, shape[axis] - count, count)]
        if shape[axis] == 0:
            sizes = [0]
        parts = tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in sizes)
        op = cls(draw.signed(rng, axis, len(shape)))
        return Sample(op, tuple(TensorType(output.dtype, part) for part in parts))


@dataclass(frozen=True)
class Pad(Operator):
    """Put elements around x: `pads` before each axis, then after each; negative pads cut off.

    `mode` is "constant" (the second input, 0 if absent), "reflect", "edge" or "wrap". With `axes`,
    `pads` speaks of those axes only; `canonical` writes that out.
    """

    pads: tuple[int, ...]
    mode: str = "constant"
    axes: tuple[int, ...] | None = None

    arity = 2
    arity_min = 1
    onnx = Onnx(
        "Pad",
        since=2,
        fields=(
            OnnxField("pads", "pads", input=1, input_since=11),
            OnnxField("mode", "mode", "constant"),
            OnnxField("axes", None, None, since=18, input=3, input_since=18, axis="input"),
        ),
        inputs=(OnnxInput(1, "value", since=11, default=0.0),),
    )

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        rank = inputs[0].rank
        if self.axes is None or rank is None:
            return self
        return replace(self, pads=self.written_out(rank), axes=None)

    def written_out(self, rank: int) -> tuple[int, ...]:
        """Return the pads of every axis of a tensor of this rank."""
        axes = range(rank) if self.axes is None else normal_axes(self.axes, rank)
        if len(self.pads) != 2 * len(axes):
            raise ValueError(f"{len(self.pads)} pads do not fit {len(axes)} axes")
        result = [0] * (2 * rank)
        for position, axis in enumerate(axes):
            result[axis] = self.pads[position]
            result[rank + axis] = self.pads[len(axes) + position]
        return tuple(result)

    def infer(self, *inputs: Fact) -> Fact:
        x, *rest = inputs
        dtype = same_dtype([x, *given(rest)], ORDINARY)
        self._check(rest)
        if x.shape is None and self.axes is not None:
            return Fact(TensorType(dtype, None))
        rank = len(self.pads) // 2 if x.shape is None else len(x.shape)
        pads = self.written_out(rank)
        if x.shape is None:
            return Fact(TensorType(dtype, unknowns(self, inputs, rank)))
        dims = tuple(dim + pads[i] + pads[rank + i] for i, dim in enumerate(x.shape))
        self._check_reach(x.shape, pads)
        if any(isinstance(dim, int) and dim < 0 for dim in dims):
            raise ValueError("pads cut off more than there is")
        return Fact(TensorType(dtype, dims))

    def _check(self, rest: Sequence[Fact]) -> None:
        if self.mode not in _MODES:
            raise ValueError(f"mode {self.mode!r} is unknown")
        if self.mode != "constant" and min(self.pads, default=0) < 0:
            raise ValueError(f"negative pads with mode {self.mode} are not modelled")
        for value in given(rest):
            if value.shape not in (None, (), (1,)):
                required_rank(value, 0, "padding value")

    def _check_reach(self, shape: Shape, pads: Sequence[int]) -> None:
        if self.mode == "constant":
            return
        spare = 1 if self.mode == "reflect" else 0
        for axis, dim in enumerate(shape):
            reach = max(pads[axis], pads[len(shape) + axis])
            if (
                isinstance(dim, int)
                and reach
                and (dim == 0 or (self.mode != "edge" and reach > dim - spare))
            ):
                raise ValueError(f"pads of {reach} are too long for size {dim}")

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs[:1])
        value = optional(inputs, 1)
        pads = self.written_out(x.ndim)
        for axis in range(x.ndim):
            first, last = -min(pads[axis], 0), x.shape[axis] + min(pads[x.ndim + axis], 0)
            x = x[(*(slice(None),) * axis, slice(first, max(first, last)))]
        widths = [(max(pads[i], 0), max(pads[x.ndim + i], 0)) for i in range(x.ndim)]
        if not widths:
            return x
        if self.mode != "constant":
            return np.asarray(np.pad(x, widths, mode=self.mode))  # type: ignore[call-overload]
        fill = 0 if value is None else value.reshape(())[()]
        return np.pad(x, widths, constant_values=fill)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        shape = draw.static_of_rank(output, 1)  # runtimes refuse to pad scalars
        mode = rng.choice(["constant", "constant", *_MODES])
        pairs = [_draw_pads(rng, dim, mode) for dim in shape]
        source = tuple(dim - sum(pair) for dim, pair in zip(shape, pairs, strict=True))
        inputs = [TensorType(output.dtype, source)]
        if mode == "constant" and draw.chance(rng):
            inputs.append(TensorType(output.dtype, ()))
        axes = None
        if draw.chance(rng, 0.3):
            order = [i for i, pair in enumerate(pairs) if any(pair) or draw.chance(rng)]
            axes = draw.signed_axes(rng, order, len(shape)) if order else None
        chosen = range(len(shape)) if axes is None else normal_axes(axes, len(shape))
        pads = (*(pairs[i][0] for i in chosen), *(pairs[i][1] for i in chosen))
        return Sample(cls(pads, mode, axes), tuple(inputs))


def _draw_pads(rng: Random, dim: int, mode: str) -> tuple[int, int]:
    least = -1 if mode == "constant" else 0
    while True:
        before, after = rng.randint(least, 2), rng.randint(least, 2)
        size = dim - before - after
        reach = max(before, after)
        if dim == 0 or draw.chance(rng, 0.05):
            return 0, 0
        if size < 1 or (mode == "reflect" and reach >= size) or (mode == "wrap" and reach > size):
            continue
        return before, after


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


concat = builder(Concat)
pad = builder(Pad)
