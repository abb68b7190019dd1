"""Derived permutations, axes and target shapes for the rules that move data without computing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensaur.ir.dims import Dim, is_positive
from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Known, Shape
from tensaur.rules.conditions import same_dim, shape_of, spread

# Permutations: axis i of the result is axis perm[i] of the input.


@derived
def is_identity(perm: tuple[int, ...]) -> bool:
    """Whether a permutation leaves every axis where it is."""
    return perm == tuple(range(len(perm)))


@derived
def compose(outer: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that `inner` and then `outer` make together."""
    return tuple(inner[axis] for axis in outer)


@derived
def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    return invert(perm)


def invert(perm: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes `perm`."""
    return tuple(perm.index(axis) for axis in range(len(perm)))


@derived
def swaps_last_two(perm: tuple[int, ...]) -> bool:
    """Whether a permutation exchanges the last two axes and nothing else."""
    rank = len(perm)
    return rank >= 2 and perm == (*range(rank - 2), rank - 1, rank - 2)


@derived
def keeps_matrix(perm: tuple[int, ...]) -> bool:
    """Whether a permutation leaves the last two axes where they are."""
    rank = len(perm)
    return rank >= 2 and perm[-2:] == (rank - 2, rank - 1)


@derived
def matrix_transpose(fact: Fact) -> tuple[int, ...]:
    """The permutation that exchanges the last two axes of a tensor."""
    rank = len(shape_of(fact))
    if rank < 2:
        raise ValueError("not a matrix")
    return (*range(rank - 2), rank - 1, rank - 2)


@derived
def keeps_order(fact: Fact, perm: tuple[int, ...]) -> bool:
    """Whether a permutation moves nothing but axes of size 1, so that it only renames positions."""
    shape = shape_of(fact)
    moved = [axis for axis in perm if shape[axis] != 1]
    return moved == sorted(moved)


@derived
def axis_to_last(fact: Fact, axis: int) -> tuple[int, ...]:
    """The permutation that exchanges an axis with the last; none for the last itself."""
    rank = len(shape_of(fact))
    axis = normal(axis, rank)
    if axis == rank - 1:
        raise ValueError("already last")
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return tuple(perm)


# Axes.


def normal(axis: int, rank: int) -> int:
    """Return an axis counted from the left; ValueError if there is no such axis."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside rank {rank}")
    return axis % rank


def normal_axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return axes counted from the left, sorted; None or none stands for all, as reductions mean it."""
    if not axes:
        return tuple(range(rank))
    return tuple(sorted({normal(axis, rank) for axis in axes}))


@derived
def same_axis(first: int, second: int, fact: Fact) -> bool:
    """Whether two attributes name the same axis of a tensor."""
    rank = len(shape_of(fact))
    return normal(first, rank) == normal(second, rank)


@derived
def is_axis(axis: int, position: int, fact: Fact) -> bool:
    """Whether an attribute names axis number `position`, counted from the left, of a tensor."""
    return normal(axis, len(shape_of(fact))) == position


@derived
def axis_from(perm: tuple[int, ...], axis: int) -> int:
    """The input axis of a transpose that becomes the output axis `axis`."""
    return perm[normal(axis, len(perm))]


@derived
def axis_after(perm: tuple[int, ...], axis: int) -> int:
    """The output axis of a transpose that the input axis `axis` becomes."""
    return perm.index(normal(axis, len(perm)))


@derived
def axes_from(perm: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """The input axes of a transpose that become the output axes `axes`."""
    return tuple(sorted(perm[axis] for axis in normal_axes(axes, len(perm))))


@derived
def pads_from(perm: tuple[int, ...], pads: tuple[int, ...]) -> tuple[int, ...]:
    """The pads of the input of a transpose that become the pads `pads` of its output, none negative."""
    rank = len(perm)
    if len(pads) != 2 * rank or min(pads, default=0) < 0:
        raise ValueError("not a padding of every axis")
    back = invert(perm)
    return (*(pads[axis] for axis in back), *(pads[rank + axis] for axis in back))


@derived
def pads_together(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The pads that two paddings make together; none if one of them cuts off."""
    if min((*first, *second), default=0) < 0:
        raise ValueError("cuts off")
    return tuple(a + b for a, b in zip(first, second, strict=True))


@derived
def permutation_left(
    perm: tuple[int, ...], axes: tuple[int, ...] | None, keepdims: bool
) -> tuple[int, ...]:
    """The permutation of what is left when the output axes `axes` of a transpose are reduced."""
    if keepdims:
        return perm
    reduced = normal_axes(axes, len(perm))
    kept = [axis for position, axis in enumerate(perm) if position not in reduced]
    return tuple(sorted(kept).index(axis) for axis in kept)


@derived
def is_spatial(axes: tuple[int, ...] | None, fact: Fact) -> bool:
    """Whether the axes are all but the first two of a tensor, of which there is at least one."""
    rank = len(shape_of(fact))
    return rank > 2 and normal_axes(axes, rank) == tuple(range(2, rank))


@derived
def spatial_axes(fact: Fact) -> tuple[int, ...]:
    """All axes but the first two of a tensor, of which there is at least one."""
    rank = len(shape_of(fact))
    if rank <= 2:
        raise ValueError("no spatial axis")
    return tuple(range(2, rank))


@derived
def same_axes(first: tuple[int, ...] | None, second: tuple[int, ...] | None, fact: Fact) -> bool:
    """Whether two attributes name the same axes of a tensor."""
    rank = len(shape_of(fact))
    return normal_axes(first, rank) == normal_axes(second, rank)


@derived
def axes_together(
    inner: tuple[int, ...] | None, outer: tuple[int, ...] | None, keepdims: bool, fact: Fact
) -> tuple[int, ...]:
    """The axes of a tensor that two reductions, the first over `inner`, remove together."""
    rank = len(shape_of(fact))
    first = normal_axes(inner, rank)
    left = [axis for axis in range(rank) if keepdims or axis not in first]
    second = {left[axis] for axis in normal_axes(outer, len(left))}
    return tuple(sorted({*first, *second}))


@derived
def first_trailing_axis(axes: tuple[int, ...] | None, fact: Fact) -> int:
    """The negative axis from which on `axes` names every axis to the last; none if there is a gap."""
    rank = len(shape_of(fact))
    named = normal_axes(axes, rank)
    if not named or named != tuple(range(named[0], rank)):
        raise ValueError("not the last axes")
    return named[0] - rank


@derived
def only_axis(axes: tuple[int, ...] | None, fact: Fact) -> int:
    """The one axis that `axes` names, counted from the left."""
    (axis,) = normal_axes(axes, len(shape_of(fact)))
    return axis


@derived
def is_last_axis(axis: int, fact: Fact) -> bool:
    """Whether an attribute names the last axis of a tensor."""
    rank = len(shape_of(fact))
    return normal(axis, rank) == rank - 1


@derived
def is_not_last_axis(axis: int, fact: Fact) -> bool:
    """Whether an attribute names another axis of a tensor than the last."""
    rank = len(shape_of(fact))
    return normal(axis, rank) != rank - 1


# Target shapes.


@derived
def keeps_last(fact: Fact, reshaped: Fact, part: Fact) -> bool:
    """Whether a reshape leaves the last axis alone, or `part` does not vary along it."""
    a, b, c = shape_of(fact)[-1:], shape_of(reshaped)[-1:], shape_of(part)
    return all(dim == 1 for dim in c) or (bool(a and b) and same_dim(a[0], b[0]))


@derived
def target_shape(source: Fact, target: Fact) -> Known:
    """A constant second input of Reshape that turns `source` into the shape of `target`.

    A symbolic dimension is copied (0) where both shapes have it at the same place, and at most one
    other is computed (-1): by division, so only where no other dimension can be 0.
    """
    shape = shape_of(target)
    before = source.shape or ()
    items: list[int] = []
    for position, dim in enumerate(shape):
        if isinstance(dim, int):
            items.append(dim)
        else:
            copied = position < len(before) and same_dim(before[position], dim)
            items.append(0 if copied else -1)
    others = [dim for dim, item in zip(shape, items, strict=True) if item != -1]
    divides = len(others) < len(shape)
    if divides and not all(is_positive(dim) for dim in others):
        raise ValueError(f"shape {list(shape)} may be that of no element")
    if items.count(-1) > 1 or 0 in [dim for dim in shape if isinstance(dim, int)]:
        raise ValueError(f"shape {list(shape)} is not writable")
    return Known.of(np.array(items, dtype=np.int64))


@derived
def names_no_copy(shape: Fact, allowzero: bool) -> bool:
    """Whether the second input of Reshape is known and copies no dimension of the first."""
    ints = None if shape.value is None else shape.value.ints
    return ints is not None and (allowzero or all(_nonzero(item) for item in ints))


def _nonzero(dim: Dim) -> bool:
    return isinstance(dim, int) and dim != 0


@derived
def channel_shape(out: Fact) -> Known:
    """The shape (1, C, 1, ...) that broadcasts a value per channel to a tensor with C channels."""
    shape = shape_of(out)
    channels = shape[1]
    if not isinstance(channels, int):
        raise ValueError("channels unknown")
    return Known.of(np.array([1, channels] + [1] * (len(shape) - 2), dtype=np.int64))


@derived
def per_channel(value: Fact, out: Fact) -> bool:
    """Whether a value broadcasts to a tensor without varying along any axis but the channels."""
    shape = shape_of(out)
    if len(shape) < 2 or not isinstance(shape[1], int):
        return False
    along: Shape = (1, shape[1], *([1] * (len(shape) - 2)))
    return spread(shape_of(value), along)


@derived
def padded_to(value: Fact, rank: int) -> Known:
    """The shape of a value with ones before it, up to `rank` axes, as an int64 vector."""
    shape = value.tensor.static_shape
    if shape is None or len(shape) > rank:
        raise ValueError("cannot be padded")
    return Known.of(np.array([1] * (rank - len(shape)) + list(shape), dtype=np.int64))


@derived
def length(items: tuple[int, ...]) -> int:
    """The number of items of an attribute."""
    return len(items)


@derived
def has_length(items: tuple[int, ...], count: int) -> bool:
    """Whether an attribute has `count` items."""
    return len(items) == count


@derived
def only(axis: int) -> tuple[int]:
    """The list of one axis."""
    return (axis,)
