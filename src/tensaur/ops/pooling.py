"""Pooling: the greatest or the mean element of sliding windows, or of all spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np

from tensaur.ir.dims import Dim, product
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, DType, Fact, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import FLOATS, builder, plain, same_dtype
from tensaur.ops.numeric import accumulate, lowest, present
from tensaur.ops.window import (
    PADS,
    STRIDES,
    DrawnWindow,
    Sizes,
    Windowed,
    draw_window,
    padded,
    require_space,
    slide,
    window_count,
)

_KERNEL = OnnxField("kernel", "kernel_shape")
_CEIL = OnnxField("ceil_mode", "ceil_mode", False, since=10)


class _Pool(Windowed):
    """The base of pooling with a window: x[N,C,...] to one element for each window."""

    kernel: Sizes
    ceil_mode: bool
    dtypes: ClassVar[frozenset[DType]] = FLOATS

    def kernel_shape(self, inputs: Sequence[Fact]) -> tuple[Dim, ...] | None:
        return self.kernel

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, self.dtypes)
        window = self.written_out(len(self.kernel))
        if any(pad >= size for pad, size in zip(window["pads"], self.kernel * 2, strict=True)):
            raise ValueError(f"pads {list(window['pads'])} are not smaller than the window")
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        rank = len(self.kernel)
        if len(x.shape) != rank + 2:
            raise ValueError(f"a kernel of {rank} axes needs rank {rank + 2}, got {len(x.shape)}")
        sizes = tuple(
            window_count(
                x.shape[2 + i],
                self.kernel[i],
                window["strides"][i],
                window["dilations"][i],
                (window["pads"][i], window["pads"][rank + i]),
                self.ceil_mode,
            )
            for i in range(rank)
        )
        return Fact(TensorType(dtype, (*x.shape[:2], *sizes)))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        flops = product(self.kernel) * (output.tensor.size or 0)
        return Work(flops, sum_nbytes((*inputs, output)))

    def windows(self, x: Array, value: Any) -> Array:
        """Return the view of all windows, with `value` outside the input."""
        rank = len(self.kernel)
        window = self.written_out(rank)
        pads, result = window["pads"], self.infer(_fact_of(x)).tensor.static_shape
        assert result is not None
        ends = []
        for i, count in enumerate(result[2:]):
            reach = (count - 1) * window["strides"][i] + 1
            reach += (self.kernel[i] - 1) * window["dilations"][i]
            ends.append(max(0, reach - x.shape[2 + i] - pads[i]))
        source = padded(x, (*pads[:rank], *ends), value)
        view = slide(source, self.kernel, window["strides"], window["dilations"])
        return view[tuple(slice(count) for count in result)]

    @property
    def window_axes(self) -> tuple[int, ...]:
        """Return the axes of `windows` that lie inside a window."""
        return tuple(range(-len(self.kernel), 0))

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        batch, channels, *result = draw.static_of_rank(output, 3, cls.dtypes)
        window = draw_window(rng, tuple(result), inside=True)
        source = TensorType(output.dtype, (batch, channels, *window.sizes))
        for op in (
            cls.draw_operator(rng, window, draw.chance(rng)),
            cls.draw_operator(rng, window),
        ):
            if op.infer(Fact(source)).type == output:
                break
        return Sample(op, (source,))

    @classmethod
    def draw_operator(cls, rng: Random, window: DrawnWindow, ceil_mode: bool = False) -> Operator:
        """Draw an operator with this window."""
        raise NotImplementedError


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The greatest element of each window; padding never wins."""

    kernel: Sizes
    strides: Sizes = ()
    pads: Sizes = ()
    dilations: Sizes = ()
    ceil_mode: bool = False

    dtypes = FLOATS | {DType.INT8, DType.UINT8}
    onnx = Onnx(
        "MaxPool",
        since=1,
        fields=(
            _KERNEL,
            STRIDES,
            PADS,
            OnnxField("dilations", "dilations", (), since=10, each=1),
            _CEIL,
        ),
    )

    def evaluate(self, *inputs: Array | None) -> Array:
        (x,) = present(inputs)
        return np.asarray(self.windows(x, lowest(x.dtype)).max(axis=self.window_axes))

    @classmethod
    def draw_operator(cls, rng: Random, window: DrawnWindow, ceil_mode: bool = False) -> Operator:
        return cls(window.kernel, window.strides, window.pads, window.dilations, ceil_mode)


@dataclass(frozen=True)
class AveragePool(_Pool):
    """The mean of each window, over the elements of the input or (`count_include_pad`) of all."""

    kernel: Sizes
    strides: Sizes = ()
    pads: Sizes = ()
    dilations: Sizes = ()
    ceil_mode: bool = False
    count_include_pad: bool = False

    onnx = Onnx(
        "AveragePool",
        since=7,
        fields=(
            _KERNEL,
            STRIDES,
            PADS,
            OnnxField("dilations", "dilations", (), since=19, each=1),
            _CEIL,
            OnnxField("count_include_pad", "count_include_pad", False),
        ),
    )

    def infer(self, *inputs: Fact) -> Fact:
        if self.ceil_mode and self.count_include_pad:
            raise ValueError("runtimes disagree on ceil_mode together with count_include_pad")
        return super().infer(*inputs)

    def evaluate(self, *inputs: Array | None) -> Array:
        return accumulate(self._average, *present(inputs))

    def _average(self, x: Array) -> Array:
        total = self.windows(x, 0).sum(axis=self.window_axes, dtype=x.dtype)
        inside = self.windows(
            np.ones((1, 1, *x.shape[2:]), dtype=x.dtype), int(self.count_include_pad)
        )
        return np.asarray(total / inside.sum(axis=self.window_axes))

    @classmethod
    def draw_operator(cls, rng: Random, window: DrawnWindow, ceil_mode: bool = False) -> Operator:
        include = draw.chance(rng) and not ceil_mode
        return cls(window.kernel, window.strides, window.pads, window.dilations, ceil_mode, include)


class _GlobalPool(Operator):
    """The base of pooling over all spatial axes, which stay as axes of size 1."""

    function: ClassVar[Callable[..., Any]]

    def infer(self, *inputs: Fact) -> Fact:
        (x,) = inputs
        dtype = same_dtype(inputs, FLOATS)
        if x.shape is None:
            return Fact(TensorType(dtype, None))
        if len(x.shape) < 3:
            raise ValueError(f"rank must be 3 or more, got {len(x.shape)}")
        if 0 in x.shape[2:]:
            raise ValueError("there is no space to pool")
        return Fact(TensorType(dtype, (*x.shape[:2], *(1,) * (len(x.shape) - 2))))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        return Work(inputs[0].tensor.size or 0, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        function = type(self).function
        (x,) = present(inputs)
        require_space(x)
        return accumulate(lambda x: function(x, axis=tuple(range(2, x.ndim)), keepdims=True), x)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        batch, channels, *ones = draw.static_of_rank(output, 3, FLOATS)
        if set(ones) != {1}:
            raise draw.refuse(output, "spatial axes of the result have size 1")
        sizes = (rng.randint(1, 4) for _ in ones)
        return Sample(cls(), (TensorType(output.dtype, (batch, channels, *sizes)),))


@dataclass(frozen=True)
class GlobalAveragePool(_GlobalPool):
    """The mean over all spatial axes."""

    function = np.mean
    onnx = plain("GlobalAveragePool", 1)


@dataclass(frozen=True)
class GlobalMaxPool(_GlobalPool):
    """The greatest element over all spatial axes."""

    function = np.max
    onnx = plain("GlobalMaxPool", 1)


def _fact_of(x: Array) -> Fact:
    # Only the shape matters; arrays of exact numbers have no ONNX type.
    return Fact(TensorType(DType.FLOAT32, x.shape))


max_pool = builder(MaxPool)
average_pool = builder(AveragePool)
global_average_pool = builder(GlobalAveragePool)
global_max_pool = builder(GlobalMaxPool)
