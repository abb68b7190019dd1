"""Derived values about convolution and pooling windows, and about how many elements take part."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensaur.ir.dims import is_positive, product
from tensaur.ir.operator import Operator
from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Known
from tensaur.rules.axes import normal_axes
from tensaur.rules.conditions import number_of, shape_of, static

Ints = tuple[int, ...]


@derived
def is_count(fact: Fact, axes: Ints | None, reduced: Fact) -> bool:
    """Whether a known number is how many elements a reduction over `axes` adds up."""
    return number_of(fact) == _count(axes, reduced)


@derived
def is_inverse_count(fact: Fact, axes: Ints | None, reduced: Fact) -> bool:
    """Whether a known number is one divided by that count, up to single-precision rounding."""
    tolerance = 1e-12 if fact.dtype.bits == 64 else 1e-6
    return math.isclose(number_of(fact) * _count(axes, reduced), 1.0, rel_tol=tolerance)


def _count(axes: Ints | None, fact: Fact) -> int:
    shape = static(fact)
    return math.prod(shape[axis] for axis in normal_axes(axes, len(shape)))


# Windows. ``()`` means the default: strides and dilations of 1, no padding.


@derived
def covers_space(kernel: Ints, pads: Ints, dilations: Ints, fact: Fact) -> bool:
    """Whether one window holds exactly all spatial positions of a tensor."""
    dense = all(item == 1 for item in dilations) or all(item == 1 for item in kernel)
    return dense and not any(pads) and kernel == shape_of(fact)[2:]


@derived
def is_pointwise(conv: Operator, weight: Fact) -> bool:
    """Whether a convolution looks at one position only, and at every one: kernel 1, stride 1, no pads."""
    return _is_point(weight) and _all(conv, "strides", 1) and _all(conv, "pads", 0)


@derived
def is_ungrouped(conv: Operator) -> bool:
    """Whether every output channel of a convolution sees every input channel."""
    return getattr(conv, "group", 1) == 1


@derived
def is_depthwise(conv: Operator, weight: Fact) -> bool:
    """Whether every channel of a convolution is alone in its group."""
    shape = shape_of(weight)
    return shape[1] == 1 and shape[0] == getattr(conv, "group", 1)


@derived
def is_unpadded(window: Operator) -> bool:
    """Whether a window never reaches beyond the input."""
    return _all(window, "pads", 0)


@derived
def sees_input(pool: Operator) -> bool:
    """Whether each window holds some element of the input; a dilated one may straddle it."""
    return _all(pool, "dilations", 1) or _all(pool, "pads", 0)


@derived
def leaves_out_padding(pool: Operator) -> bool:
    """Whether a mean over windows counts no padding, so that the mean of a constant is that constant."""
    return not getattr(pool, "count_include_pad", False) or _all(pool, "pads", 0)


@derived
def padded_more(pads: Ints, extra: Ints, fact: Fact) -> Ints:
    """The pads of a window together with the spatial pads of a Pad; none if that pads anything else."""
    rank = len(shape_of(fact))
    before, after = extra[:rank], extra[rank:]
    if len(extra) != 2 * rank or any(item < 0 for item in extra):
        raise ValueError("not a padding of space")
    if any((*before[:2], *after[:2])):
        raise ValueError("not a padding of space")
    more = (*before[2:], *after[2:])
    own = pads or (0,) * len(more)
    return tuple(a + b for a, b in zip(own, more, strict=True))


@derived
def pads_fit(pads: Ints, kernel: Ints) -> bool:
    """Whether every pad is smaller than the window, as runtimes require of pooling."""
    return all(pad < size for pad, size in zip(pads, kernel * 2, strict=True))


@derived
def no_pads(pads: Ints) -> bool:
    """Whether an attribute pads nothing."""
    return not any(pads)


@derived
def plane_sizes(sizes: Ints, before: int) -> Ints:
    """Strides or dilations of one spatial axis, with another axis before it."""
    (size,) = sizes or (1,)
    return (before, size)


@derived
def plane_pads(pads: Ints) -> Ints:
    """The pads of one spatial axis, with another axis without pads before it."""
    start, end = pads or (0, 0)
    return (0, start, 0, end)


# Vectors beside weights.


@derived
def vector_shape(fact: Fact) -> Known:
    """The shape (C,) for a tensor with C channels, as an int64 vector."""
    return _full_shape([_channels(fact, 1)])


@derived
def filter_shape(fact: Fact, weight: Fact, axis: int) -> Known:
    """The shape of a vector per channel of `fact` that runs along `axis` of a weight."""
    items = [1] * len(shape_of(weight))
    items[axis] = _channels(fact, 1)
    return _full_shape(items)


@derived
def matrix_shape(weight: Fact) -> Known:
    """The shape (O, everything else) of a weight with O filters, as an int64 vector."""
    shape = static(weight)
    return _full_shape([shape[0], math.prod(shape[1:])])


@derived
def flat_space(fact: Fact) -> Known:
    """A second input of Reshape that makes one axis of all spatial ones.

    Where their sizes are not known it is computed, by division, so then no other axis may be empty.
    """
    batch, channels, *space = shape_of(fact)
    size = product(space)
    if isinstance(size, int):
        return _vector([0, 0, size])
    if len(space) == 1:
        return _vector([0, 0, 0])
    if not (is_positive(batch) and is_positive(channels)):
        raise ValueError("there may be no element")
    return _vector([0, 0, -1])


@derived
def composed_shape(outer: Fact, inner: Fact) -> Known:
    """The shape of a weight with the filters of `outer` and all else of `inner`."""
    return _full_shape([static(outer)[0], *static(inner)[1:]])


@derived
def block_filters(weight: Fact) -> Known:
    """The shape (M * k * k, C, 1, 1) for the weight [C,M,k,k] of a transposed convolution."""
    channels, filters, *kernel = static(weight)
    return _full_shape([filters * math.prod(kernel), channels, 1, 1])


@derived
def block_bias(weight: Fact) -> Known:
    """The shape (M, k * k) for the weight [C,M,k,k] of a transposed convolution."""
    _, filters, *kernel = static(weight)
    return _full_shape([filters, math.prod(kernel)])


@derived
def block_size(weight: Fact) -> int:
    """The size k of the kernel of a weight [C,M,k,k]."""
    return static(weight)[-1]


@derived
def are_blocks(
    weight: Fact, strides: Ints, pads: Ints, dilations: Ints, group: int, output_padding: Ints
) -> bool:
    """Whether the windows of a transposed convolution lie side by side and are square."""
    kernel = static(weight)[2:]
    strides = strides or (1,) * len(kernel)
    plain = group == 1 and not any((*pads, *output_padding)) and all(d == 1 for d in dilations)
    return plain and kernel == strides and len(set(kernel)) == 1


@derived
def axes_but_first(weight: Fact) -> Ints:
    """All axes of a tensor but the first."""
    return tuple(range(1, len(shape_of(weight))))


@derived
def column_of(fact: Fact) -> Known:
    """The shape (-1, 1, ...) that lets a vector per channel broadcast to a tensor."""
    return _vector([-1] + [1] * (len(shape_of(fact)) - 2))


def _full_shape(items: Sequence[int]) -> Known:
    if 0 in items:
        raise ValueError("no second input of Reshape says 0: it copies a dimension")
    return _vector(items)


def _vector(items: Sequence[int]) -> Known:
    return Known.of(np.array(items, dtype=np.int64))


def _channels(fact: Fact, axis: int) -> int:
    size = shape_of(fact)[axis]
    if not isinstance(size, int):
        raise ValueError("channels unknown")
    return size


def _is_point(weight: Fact) -> bool:
    return all(dim == 1 for dim in shape_of(weight)[2:])


def _all(window: Operator, name: str, value: int) -> bool:
    return all(item == value for item in getattr(window, name, ()))
