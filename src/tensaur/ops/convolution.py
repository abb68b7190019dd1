"""Convolution and its transpose, over any number of spatial axes, grouped and dilated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.errors import EmptySpace
from tensaur.ir.dims import Dim, product
from tensaur.ir.operator import Onnx, OnnxField, Operator, Sample, Work, sum_nbytes
from tensaur.ir.types import Array, Fact, Shape, TensorType
from tensaur.ops import draw
from tensaur.ops.inference import (
    FLOATS,
    builder,
    given,
    is_absent,
    required_rank,
    same_dtype,
    unify,
    unknown,
)
from tensaur.ops.numeric import accumulate, optional, present
from tensaur.ops.window import (
    DILATIONS,
    PADS,
    STRIDES,
    Sizes,
    Windowed,
    draw_window,
    filled,
    padded,
    require_space,
    slide,
    window_count,
)


class _Convolution(Windowed):
    """The base of the two: x[N,C,...], weight and bias."""

    group: int

    arity = 3
    arity_min = 2

    def kernel_shape(self, inputs: Sequence[Fact]) -> tuple[Dim, ...] | None:
        x, weight = inputs[0].shape, inputs[1].shape
        if weight is not None:
            return weight[2:]
        return None if x is None else tuple(unknown(self, inputs, i) for i in range(2, len(x)))


@dataclass(frozen=True)
class Conv(_Convolution):
    """Cross-correlation of x[N,C,...] with w[M,C/group,...] plus an optional bias[M]."""

    strides: Sizes = ()
    pads: Sizes = ()
    dilations: Sizes = ()
    group: int = 1

    onnx = Onnx(
        "Conv",
        since=1,
        fields=(STRIDES, PADS, DILATIONS, OnnxField("group", "group", 1)),
        ignored=("kernel_shape",),
    )

    def infer(self, *inputs: Fact) -> Fact:
        x, weight, *rest = inputs
        dtype = same_dtype(given(inputs), FLOATS)
        if x.shape is None and weight.shape is None:
            return Fact(TensorType(dtype, None))
        rank = _spatial_rank(x, weight)
        shape = _shape_of_data(self, inputs, rank)
        kernel = self.kernel_shape(inputs)
        assert kernel is not None
        channels = _channels(shape[1], weight, self.group)
        for bias in given(rest):
            bias_shape = required_rank(bias, 1, "bias")
            if bias_shape is not None and channels is not None:
                channels = unify(channels, bias_shape[0], "channels of the bias")
        window = self.written_out(rank)
        sizes = tuple(
            window_count(
                shape[2 + i],
                kernel[i],
                window["strides"][i],
                window["dilations"][i],
                (window["pads"][i], window["pads"][rank + i]),
            )
            for i in range(rank)
        )
        if channels is None:
            channels = unknown(self, inputs, 1)
        return Fact(TensorType(dtype, (shape[0], channels, *sizes)))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        size = output.tensor.size or 0
        weight = inputs[1].shape
        each = 2 * product(weight[1:]) if weight is not None else 0
        extra = 1 if len(inputs) > 2 and not is_absent(inputs[2]) else 0
        return Work((each + extra) * size, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        bias = optional(inputs, 2)
        operands = present(inputs[:2]) if bias is None else present(inputs[:3])
        return accumulate(self._convolve, *operands)

    def _convolve(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        rank = x.ndim - 2
        window = self.written_out(rank)
        kernel = weight.shape[2:]
        source = padded(x, window["pads"], 0)
        view = slide(source, kernel, window["strides"], window["dilations"])
        axes = ((1, *range(2 + rank, 2 + 2 * rank)), (1, *range(2, 2 + rank)))
        parts = [
            np.moveaxis(np.tensordot(part, filters, axes), -1, 1)
            for part, filters in zip(
                np.split(view, self.group, axis=1), np.split(weight, self.group), strict=True
            )
        ]
        return _biased(np.concatenate(parts, axis=1), bias)

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        batch, out_channels, *result = draw.static_of_rank(output, 3, FLOATS)
        window = draw_window(rng, tuple(result))
        group = _draw_group(rng, out_channels)
        inner = rng.randint(1, 3)
        op = cls(window.strides, window.pads, window.dilations, group)
        shapes = [
            (batch, group * inner, *window.sizes),
            (out_channels, inner, *window.kernel),
            (out_channels,),
        ][: rng.choice([2, 3])]
        return Sample(op, tuple(TensorType(output.dtype, shape) for shape in shapes))


@dataclass(frozen=True)
class ConvTranspose(_Convolution):
    """The transpose of Conv: x[N,C,...] with w[C,M/group,...] spread over the result, plus a bias[M]."""

    strides: Sizes = ()
    pads: Sizes = ()
    dilations: Sizes = ()
    group: int = 1
    output_padding: Sizes = ()

    onnx = Onnx(
        "ConvTranspose",
        since=1,
        fields=(
            STRIDES,
            PADS,
            DILATIONS,
            OnnxField("group", "group", 1),
            OnnxField("output_padding", "output_padding", (), each=0),
        ),
        ignored=("kernel_shape",),
    )

    def written_out(self, rank: int) -> dict[str, Sizes]:
        padding = filled(self.output_padding, rank, 0, "output_padding")
        return {**super().written_out(rank), "output_padding": padding}

    def auto_padded(self, mode: str, inputs: Sequence[Fact]) -> Operator | None:
        # SAME pads of a transposed convolution differ between runtimes.
        return super().auto_padded(mode, inputs) if mode in ("NOTSET", "VALID") else None

    def infer(self, *inputs: Fact) -> Fact:
        x, weight, *rest = inputs
        dtype = same_dtype(given(inputs), FLOATS)
        if x.shape is None and weight.shape is None:
            return Fact(TensorType(dtype, None))
        rank = _spatial_rank(x, weight)
        shape = _shape_of_data(self, inputs, rank)
        kernel = self.kernel_shape(inputs)
        assert kernel is not None
        channels: Dim = unknown(self, inputs, 1)
        if weight.shape is not None:
            unify(shape[1], weight.shape[0], "input channels")
            _check_group(weight.shape[0], self.group)
            channels = weight.shape[1] * self.group
        for bias in given(rest):
            bias_shape = required_rank(bias, 1, "bias")
            if bias_shape is not None:
                channels = unify(channels, bias_shape[0], "channels of the bias")
        sizes = self._sizes(shape[2:], kernel)
        return Fact(TensorType(dtype, (shape[0], channels, *sizes)))

    def _sizes(self, sizes: Shape, kernel: Sequence[Dim]) -> Shape:
        rank = len(sizes)
        window = self.written_out(rank)
        result = []
        for i in range(rank):
            extent = window["dilations"][i] * (kernel[i] - 1) + 1 + window["output_padding"][i]
            pads = window["pads"][i] + window["pads"][rank + i]
            if sizes[i] == 0:
                raise EmptySpace("there is no space for windows")
            size = window["strides"][i] * (sizes[i] - 1) + extent - pads
            if isinstance(size, int) and size < 1:
                raise ValueError(f"spatial axis {i} of the result has size {size}")
            result.append(size)
        return tuple(result)

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        weight, source = inputs[1].shape, inputs[0].tensor.size or 0
        each = 2 * product(weight[1:]) if weight is not None else 0
        return Work(each * source, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Array:
        bias = optional(inputs, 2)
        operands = present(inputs[:2]) if bias is None else present(inputs[:3])
        return accumulate(self._spread, *operands)

    def _spread(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        require_space(x)
        rank = x.ndim - 2
        parts = [
            self._spread_group(part, filters)
            for part, filters in zip(
                np.split(x, self.group, axis=1), np.split(weight, self.group), strict=True
            )
        ]
        full = np.concatenate(parts, axis=1)
        pads = self.written_out(rank)["pads"]
        ends = [size - after for size, after in zip(full.shape[2:], pads[rank:], strict=True)]
        inner = tuple(slice(*pair) for pair in zip(pads[:rank], ends, strict=True))
        return _biased(full[(slice(None), slice(None), *inner)], bias)

    def _spread_group(self, x: Array, weight: Array) -> Array:
        rank = x.ndim - 2
        window = self.written_out(rank)
        kernel, strides, dilations = weight.shape[2:], window["strides"], window["dilations"]
        sizes = [
            strides[i] * (x.shape[2 + i] - 1)
            + dilations[i] * (kernel[i] - 1)
            + 1
            + window["output_padding"][i]
            for i in range(rank)
        ]
        result = np.zeros((x.shape[0], weight.shape[1], *sizes), dtype=x.dtype)
        for offset in np.ndindex(*kernel):
            part = np.moveaxis(np.tensordot(x, weight[(..., *offset)], ((1,), (0,))), -1, 1)
            places = tuple(
                slice(
                    offset[i] * dilations[i],
                    offset[i] * dilations[i] + strides[i] * (x.shape[2 + i] - 1) + 1,
                    strides[i],
                )
                for i in range(rank)
            )
            result[(slice(None), slice(None), *places)] += part
        return result

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        batch, out_channels, *result = draw.static_of_rank(output, 3, FLOATS)
        group = _draw_group(rng, out_channels)
        axes = [_draw_spread(rng, size) for size in result]
        inner = rng.randint(1, 2) * group
        op = cls(
            tuple(axis.stride for axis in axes),
            (*(axis.before for axis in axes), *(axis.after for axis in axes)),
            tuple(axis.dilation for axis in axes),
            group,
            tuple(axis.extra for axis in axes),
        )
        shapes = [
            (batch, inner, *(axis.size for axis in axes)),
            (inner, out_channels // group, *(axis.kernel for axis in axes)),
            (out_channels,),
        ][: rng.choice([2, 3])]
        return Sample(op, tuple(TensorType(output.dtype, shape) for shape in shapes))


@dataclass(frozen=True, slots=True)
class _SpreadAxis:
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    extra: int
    size: int


def _draw_spread(rng: Random, result: int) -> _SpreadAxis:
    while True:
        kernel, stride, dilation = rng.randint(1, 3), rng.choice([1, 2, 3]), rng.choice([1, 1, 2])
        before, after = rng.randint(0, 1), rng.randint(0, 1)
        extra = rng.randrange(stride) if draw.chance(rng) else 0
        span = result + before + after - extra - dilation * (kernel - 1) - 1
        if span >= 0 and span % stride == 0:
            return _SpreadAxis(kernel, stride, dilation, before, after, extra, span // stride + 1)


def _draw_group(rng: Random, channels: int) -> int:
    divisors = [item for item in range(1, channels + 1) if channels % item == 0]
    return 1 if draw.chance(rng, 0.4) or not divisors else rng.choice(divisors)


def _shape_of_data(op: Operator, inputs: Sequence[Fact], rank: int) -> Shape:
    """Return the shape of the first input, of unknown dimensions if not even its rank is known."""
    shape = inputs[0].shape
    return tuple(unknown(op, inputs, i) for i in range(rank + 2)) if shape is None else shape


def _spatial_rank(x: Fact, weight: Fact) -> int:
    ranks = {len(item.shape) for item in (x, weight) if item.shape is not None}
    if len(ranks) != 1:
        raise ValueError(f"ranks of input and weight differ: {sorted(ranks)}")
    (rank,) = ranks
    if rank < 3:
        raise ValueError(f"a convolution needs rank 3 or more, got {rank}")
    return rank - 2


def _channels(source: Dim, weight: Fact, group: int) -> Dim | None:
    if weight.shape is None:
        return None
    unify(source, weight.shape[1] * group, "input channels")
    _check_group(weight.shape[0], group)
    return weight.shape[0]


def _check_group(channels: Dim, group: int) -> None:
    if group < 1:
        raise ValueError(f"group is {group}")
    if isinstance(channels, int) and channels % group:
        raise ValueError(f"{channels} channels do not divide into {group} groups")


def _biased(result: Array, bias: Array | None) -> Array:
    if bias is None:
        return result
    return np.asarray(result + bias.reshape(-1, *(1,) * (result.ndim - 2)))


conv = builder(Conv)
conv_transpose = builder(ConvTranspose)
