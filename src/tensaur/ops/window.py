"""Sliding windows: what convolution and pooling share about strides, pads and dilations.

Holds the base class with the inference of spatial sizes, the NumPy view of all windows, and the drawing
of random windows. Holds no operator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tensaur.errors import EmptySpace
from tensaur.ir.dims import Dim, ceildiv, dim_min, floordiv
from tensaur.ir.operator import OnnxField, Operator
from tensaur.ir.types import Array, Fact

Sizes = tuple[int, ...]

STRIDES = OnnxField("strides", "strides", default=(), each=1)
PADS = OnnxField("pads", "pads", default=(), each=0)
DILATIONS = OnnxField("dilations", "dilations", default=(), each=1)


class Windowed(Operator):
    """The base of operators that slide a window over the axes after the first two.

    ``()`` for strides, pads (all begins, then all ends) or dilations means ONNX's default.
    """

    strides: Sizes
    pads: Sizes
    dilations: Sizes

    def kernel_shape(self, inputs: Sequence[Fact]) -> tuple[Dim, ...] | None:
        """Return the window's size along each spatial axis, None if unknown."""
        raise NotImplementedError

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        kernel = self.kernel_shape(inputs)
        if kernel is None:
            return self
        return dataclasses.replace(self, **self.written_out(len(kernel)))

    def written_out(self, rank: int) -> dict[str, Sizes]:
        """Return the window's attributes with the defaults of `rank` spatial axes filled in."""
        return {
            "strides": filled(self.strides, rank, 1, "strides"),
            "pads": filled(self.pads, 2 * rank, 0, "pads"),
            "dilations": filled(self.dilations, rank, 1, "dilations"),
        }

    def auto_padded(self, mode: str, inputs: Sequence[Fact]) -> Operator | None:
        """Return the operator with the pads that ONNX's `auto_pad` means, None if they are not known."""
        kernel = self.kernel_shape(inputs)
        shape = inputs[0].shape
        if mode == "NOTSET":
            return self.canonical(inputs)
        if kernel is None or mode not in ("VALID", "SAME_UPPER", "SAME_LOWER"):
            return None
        attributes = self.written_out(len(kernel))
        attributes["pads"] = (0,) * (2 * len(kernel))
        if mode != "VALID":
            pads = same_pads(mode, None if shape is None else shape[2:], kernel, attributes)
            if pads is None:
                return None
            attributes["pads"] = pads
        return dataclasses.replace(self, **attributes)


def filled(values: Sizes, count: int, default: int, what: str) -> Sizes:
    """Return an attribute list, `count` times the default if it is empty; ValueError if ill-sized."""
    result = tuple(values) or (default,) * count
    if len(result) != count:
        raise ValueError(f"{what} must have {count} items, got {len(result)}")
    if any(item < default for item in result):
        raise ValueError(f"{what} {list(result)} are too small")
    return result


def same_pads(
    mode: str,
    sizes: Sequence[Dim] | None,
    kernel: Sequence[Dim],
    attributes: dict[str, Sizes],
) -> Sizes | None:
    """Return the pads that make the result ceil(size / stride) long, None if they are not known."""
    before: list[int] = []
    after: list[int] = []
    for axis, extent in enumerate(kernel):
        stride, dilation = attributes["strides"][axis], attributes["dilations"][axis]
        size: Dim | None = None if sizes is None else sizes[axis]
        if stride == 1:
            size = 1  # then the pads do not depend on the size
        if not isinstance(size, int) or not isinstance(extent, int):
            return None
        count = -(-size // stride)
        total = max((count - 1) * stride + (extent - 1) * dilation + 1 - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return (*before, *after)


def window_count(
    size: Dim, kernel: Dim, stride: int, dilation: int, pads: tuple[int, int], ceil: bool = False
) -> Dim:
    """Return how many windows fit along one axis; ValueError if none does, EmptySpace without space."""
    if size == 0:
        raise EmptySpace("there is no space for windows")
    free = size + sum(pads) - dilation * (kernel - 1) - 1
    count = floordiv(free, stride) + 1
    if ceil:
        # A window that would begin in the padding after the input is left out.
        count = dim_min(ceildiv(free, stride) + 1, ceildiv(size + pads[0], stride))
    if isinstance(count, int) and count < 1:
        raise ValueError(f"a window of {kernel} does not fit into {size} with pads {list(pads)}")
    return count


def require_space(x: Array) -> None:
    """Raise EmptySpace unless an array has some position in space, as runtimes ask."""
    if 0 in x.shape[2:]:
        raise EmptySpace(f"shape {list(x.shape)} has no space for windows")


def padded(x: Array, pads: Sizes, value: Any) -> Array:
    """Pad the spatial axes of an array with one value; EmptySpace if there is none to pad."""
    require_space(x)
    if not any(pads):
        return x
    rank = x.ndim - 2
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    return np.pad(x, widths, constant_values=value)


def slide(x: Array, kernel: Sizes, strides: Sizes, dilations: Sizes) -> Array:
    """Return a view of all windows: first two axes, window positions, then positions in the window."""
    rank = len(kernel)
    axes = tuple(range(2, 2 + rank))
    extent = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    view = sliding_window_view(x, extent, axis=axes)
    steps = (*strides, *dilations)
    return view[(slice(None), slice(None), *(slice(None, None, step) for step in steps))]


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """A random window and the spatial sizes of an input to which it gives the wanted result."""

    kernel: Sizes
    strides: Sizes
    pads: Sizes
    dilations: Sizes
    sizes: Sizes


def draw_window(rng: Random, result: Sizes, inside: bool = False) -> DrawnWindow:
    """Draw a window that gives the sizes `result`; with `inside`, each window touches the input."""
    axes = [_draw_axis(rng, count, inside) for count in result]
    return DrawnWindow(
        tuple(axis.kernel for axis in axes),
        tuple(axis.stride for axis in axes),
        (*(axis.before for axis in axes), *(axis.after for axis in axes)),
        tuple(axis.dilation for axis in axes),
        tuple(axis.size for axis in axes),
    )


@dataclass(frozen=True, slots=True)
class _Axis:
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int
    size: int


def _draw_axis(rng: Random, count: int, inside: bool) -> _Axis:
    while True:
        kernel, stride = rng.randint(1, 3), rng.choice([1, 1, 2, 3])
        dilation = rng.choice([1, 1, 2])
        if inside and dilation > 1:
            before = after = 0
        else:
            before, after = rng.randint(0, kernel - 1), rng.randint(0, kernel - 1)
        spare = rng.randrange(stride)
        size = (count - 1) * stride + (kernel - 1) * dilation + 1 + spare - before - after
        if size >= 1 and (not inside or size >= after):
            return _Axis(kernel, stride, dilation, before, after, size)
