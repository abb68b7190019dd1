"""Derived conditions and values that axioms need and no rule of the library does."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensaur.ir.dims import is_positive
from tensaur.ir.operator import Operator
from tensaur.ir.term import derived
from tensaur.ir.types import Array, Fact, Known
from tensaur.ops import AveragePool
from tensaur.rules.axes import normal, normal_axes
from tensaur.rules.conditions import number_of, same_dim, same_shape, shape_of, static

Ints = tuple[int, ...]

# Kernels and vectors of counts with more elements than this are not written down.
_MOST = 64


# Axes and shapes.


@derived
def same_rank(first: Fact, second: Fact) -> bool:
    """Whether two tensors have as many axes."""
    return len(shape_of(first)) == len(shape_of(second))


@derived
def from_right(axis: int, fact: Fact) -> int:
    """An axis counted from the right."""
    rank = len(shape_of(fact))
    return normal(axis, rank) - rank


@derived
def turned_from_right(axis: int, fact: Fact) -> int:
    """An axis counted from the right; none if it is so already."""
    if axis < 0:
        raise ValueError("nothing changes")
    return axis - len(shape_of(fact))


@derived
def is_axis_from_right(axis: int, place: int, fact: Fact) -> bool:
    """Whether an attribute names the axis `place`, counted from the right, of a tensor."""
    rank = len(shape_of(fact))
    return rank >= -place and normal(axis, rank) - rank == place


@derived
def different_axes(first: int, second: int, fact: Fact) -> bool:
    """Whether two attributes name different axes of a tensor."""
    rank = len(shape_of(fact))
    return normal(first, rank) != normal(second, rank)


@derived
def axes_from_on(axis: int, fact: Fact) -> Ints:
    """All axes of a tensor from one on, counted from the left."""
    rank = len(shape_of(fact))
    return tuple(range(normal(axis, rank), rank))


@derived
def axis_among(axes: Ints, axis: int, fact: Fact) -> int:
    """The place of an axis of a tensor after axes of size 1 have been inserted."""
    rank = len(shape_of(fact))
    inserted = normal_axes(axes, rank + len(axes)) if axes else ()
    left = [place for place in range(rank + len(axes)) if place not in inserted]
    return left[normal(axis, rank)]


@derived
def aligned(axis: int, *facts: Fact) -> bool:
    """Whether tensors come in pairs of certainly one size along an axis; of one rank, or counted from right."""
    shapes = [shape_of(fact) for fact in facts]
    ranks = {len(shape) for shape in shapes}
    if not -min(ranks) <= axis < min(ranks) or (axis >= 0 and len(ranks) > 1):
        return False
    pairs = zip(shapes[::2], shapes[1::2], strict=True)
    return all(same_dim(a[axis], b[axis]) for a, b in pairs)


@derived
def still_along(fact: Fact, axis: int, other: Fact) -> bool:
    """Whether a value does not vary along an axis of another with which it is combined."""
    rank = len(shape_of(other))
    place = normal(axis, rank) - rank
    shape = shape_of(fact)
    return len(shape) <= rank and (-place > len(shape) or shape[place] == 1)


@derived
def is_right_of(fact: Fact, axis: int, other: Fact) -> bool:
    """Whether a value reaches only axes of another that lie after one of its axes."""
    rank = len(shape_of(other))
    return len(shape_of(fact)) < rank - normal(axis, rank)


# Matrices and windows.


@derived
def linear_operands(first: Fact, second: Fact) -> bool:
    """Whether a product distributes over a sum of these: matrices, or vectors of one length."""
    a, b = shape_of(first), shape_of(second)
    return (len(a) >= 2 and len(b) >= 2) or same_shape(a, b)


@derived
def is_identity_matrix(fact: Fact) -> bool:
    """Whether a value is a known matrix of ones on the diagonal and zeros beside it."""
    array = _elements(fact)
    if array is None or array.ndim != 2 or array.shape[0] != array.shape[1]:
        return False
    return bool(np.array_equal(array, np.eye(len(array), dtype=array.dtype)))


@derived
def is_identity_kernel(conv: Operator, weight: Fact) -> bool:
    """Whether a known kernel passes every channel on as it is, at every position."""
    array = _elements(weight)
    if array is None or array.ndim < 3:
        return False
    channels, inner, *kernel = array.shape
    window = _written_out(conv, len(kernel))
    before, after = window["pads"][: len(kernel)], window["pads"][len(kernel) :]
    expected = np.zeros_like(array)
    place = []
    for axis, size in enumerate(kernel):
        step = window["dilations"][axis]
        offset, rest = divmod(before[axis], step)
        if rest or offset >= size or before[axis] + after[axis] != step * (size - 1):
            return False
        place.append(offset)
    for channel in range(channels):
        expected[(channel, channel % inner, *place)] = 1
    whole = getattr(conv, "group", 1) * inner == channels
    return whole and set(window["strides"]) == {1} and bool(np.array_equal(array, expected))


@derived
def after_channels(fact: Fact) -> Ints:
    """The axes of size 1 that make a vector broadcast along the channels of a tensor."""
    return tuple(range(1, len(shape_of(fact)) - 1))


@derived
def halved(group: int) -> int:
    """Half of an even number; none for an odd one."""
    if group % 2:
        raise ValueError("odd")
    return group // 2


@derived
def kernel_border(border: Ints, weight: Fact) -> bool:
    """Whether pads surround the spatial axes of a weight only, with nothing cut off."""
    rank = len(shape_of(weight))
    around = len(border) == 2 * rank and min(border, default=0) >= 0
    return around and not any((*border[:2], *border[rank : rank + 2]))


@derived
def pads_without(pads: Ints, border: Ints, dilations: Ints) -> Ints:
    """The pads of a window whose kernel has lost a border of zeros; none if they do not suffice."""
    rank = len(border) // 2 - 2
    around = (*border[2 : 2 + rank], *border[4 + rank :])
    steps = (dilations or (1,) * rank) * 2
    own = pads or (0,) * (2 * rank)
    left = tuple(p - b * d for p, b, d in zip(own, around, steps, strict=True))
    if min(left) < 0:
        raise ValueError("the border reaches beyond the pads")
    return left


@derived
def is_plain_mean(pool: Operator) -> bool:
    """Whether a mean over windows divides by the size of the window everywhere."""
    if not isinstance(pool, AveragePool):
        return True
    return not pool.ceil_mode and (pool.count_include_pad or not any(pool.pads))


@derived
def flat_kernel(pool: Operator, fact: Fact) -> Known:
    """A kernel of equal weights for each channel, with which a convolution takes the mean."""
    channels, *kernel = static(fact)[1:]
    if isinstance(pool, AveragePool):
        kernel = list(pool.kernel)
    if channels * math.prod(kernel) > _MOST:
        raise ValueError("too large")
    weight = np.full((channels, 1, *kernel), 1 / math.prod(kernel))
    return Known.of(weight, fact.dtype)


@derived
def window_group(pool: Operator, fact: Fact, name: str) -> Ints | int:
    """An attribute of that convolution."""
    if name == "group":
        return static(fact)[1]
    rank = len(static(fact)) - 2
    defaults: dict[str, Ints] = {"strides": (1,), "pads": (0, 0), "dilations": (1,)}
    own: Ints = getattr(pool, name, ())
    return own or defaults[name] * rank


# Reductions.


@derived
def kept_axes(axes: Ints | None, fact: Fact) -> Ints:
    """The reduced axes of a tensor, counted from the left."""
    return normal_axes(axes, len(shape_of(fact)))


@derived
def kept_axes_unless_same(axes: Ints | None, fact: Fact) -> Ints:
    """The reduced axes of a tensor, counted from the left; none if they are written so."""
    result = normal_axes(axes, len(shape_of(fact)))
    if result == axes:
        raise ValueError("nothing changes")
    return result


@derived
def still_left(fact: Fact, axes: Ints | None, keepdims: bool, other: Fact) -> bool:
    """Whether a factor of a reduced value does not vary along reduced axes, and fits afterwards."""
    shape, rank = shape_of(fact), len(shape_of(other))
    places = [axis - rank for axis in normal_axes(axes, rank)]
    if len(shape) > rank or any(-p <= len(shape) and shape[p] != 1 for p in places):
        return False
    return keepdims or all(-place > len(shape) for place in places)


@derived
def inverse_count(axes: Ints | None, fact: Fact) -> Known:
    """One divided by how many elements a reduction adds up."""
    shape = static(fact)
    count = math.prod(shape[axis] for axis in normal_axes(axes, len(shape)))
    if not count:
        raise ValueError("nothing to add up")
    return Known.of(np.array(1 / count), fact.dtype)


@derived
def one_each(op: Operator, fact: Fact) -> bool:
    """Whether every element of a reduction is made of one."""
    shape = shape_of(fact)
    return all(shape[axis] == 1 for axis in normal_axes(getattr(op, "axes", None), len(shape)))


@derived
def is_never_empty(axes: Ints | None, fact: Fact) -> bool:
    """Whether a reduction certainly has elements to reduce."""
    shape = shape_of(fact)
    return all(is_positive(shape[axis]) for axis in normal_axes(axes, len(shape)))


# Numbers.


@derived
def one_number(fact: Fact) -> Known:
    """The number, as a scalar, that all elements of a known tensor of one axis or more are."""
    array = _elements(fact)
    if array is None or not array.ndim or not array.size:
        raise ValueError("not a known tensor")
    number = array.ravel()[:1]
    if array.tobytes() != np.repeat(number, array.size).tobytes():
        raise ValueError("several numbers")
    return Known.of(number.reshape(()), fact.dtype)


@derived
def is_power_of_two(fact: Fact) -> bool:
    """Whether a known number is a power of two that is far from overflow."""
    number = number_of(fact)
    return abs(math.frexp(number)[0]) == 0.5 and 1e-3 < abs(number) < 1e3


@derived
def is_in_order(low: Fact, high: Fact) -> bool:
    """Whether no known element of one value is above a known element of the other."""
    a, b = _elements(low), _elements(high)
    return a is not None and b is not None and a.size > 0 < b.size and bool(a.max() <= b.min())


@derived
def rounded(fact: Fact) -> Known:
    """Known float elements rounded to five digits; none if they are."""
    array = _elements(fact)
    if array is None or not fact.dtype.is_float:
        raise ValueError("not known numbers")
    items = [float(f"{float(item):.5g}") for item in array.ravel()]
    return _other(fact, Known.of(np.array(items).reshape(array.shape), fact.dtype))


@derived
def ratio(number: float, divisor: float) -> float:
    """The quotient of two numbers."""
    return number / divisor


@derived
def less_by_one(fact: Fact) -> Known:
    """A known whole exponent from 2 to 16, less one."""
    return _exponent(fact, 2 <= number_of(fact) <= 16 and _whole(number_of(fact)), -1.0)


@derived
def less_a_half(fact: Fact) -> Known:
    """A known exponent between a half and 16 that is no whole number, less a half."""
    number = number_of(fact)
    return _exponent(fact, 0.5 < number < 16 and not _whole(number), -0.5)


@derived
def halved_exponent(fact: Fact) -> Known:
    """The double of a known exponent of a quarter."""
    return _exponent(fact, number_of(fact) == 0.25, 0.25)


@derived
def opposite_number(fact: Fact) -> Known:
    """A known negative number with the other sign."""
    number = number_of(fact)
    return _exponent(fact, number < 0, -2 * number)


def _exponent(fact: Fact, wanted: bool, more: float) -> Known:
    if not wanted:
        raise ValueError("another exponent")
    return Known.of(np.full(static(fact), number_of(fact) + more), fact.dtype)


def _whole(number: float) -> bool:
    return number == int(number)


def _other(fact: Fact, value: Known) -> Known:
    if value == fact.value:
        raise ValueError("nothing changes")
    return value


def _elements(fact: Fact) -> Array | None:
    return None if fact.value is None else fact.value.array


def _written_out(window: Operator, rank: int) -> dict[str, Sequence[int]]:
    defaults: dict[str, Ints] = {"strides": (1,), "pads": (0, 0), "dilations": (1,)}
    return {name: getattr(window, name) or one * rank for name, one in defaults.items()}
