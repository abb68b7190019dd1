"""Derived values about vectors beside matrices, and about the sizes of joined parts."""

from __future__ import annotations

import numpy as np

from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Known
from tensaur.rules.conditions import shape_of, static


@derived
def is_row(fact: Fact) -> bool:
    """Whether a value does not vary along the last axis but one."""
    shape = shape_of(fact)
    return len(shape) < 2 or shape[-2] == 1


@derived
def is_column(fact: Fact) -> bool:
    """Whether a value does not vary along the last axis."""
    shape = shape_of(fact)
    return not shape or shape[-1] == 1


@derived
def row_shape(fact: Fact) -> Known:
    """The shape (1, n) for a tensor of n elements, as an int64 vector."""
    return Known.of(np.array([1, np.prod(static(fact), dtype=np.int64)], dtype=np.int64))


@derived
def column_shape(fact: Fact) -> Known:
    """The shape (n, 1) for a tensor of n elements, as an int64 vector."""
    return Known.of(np.array([np.prod(static(fact), dtype=np.int64), 1], dtype=np.int64))


@derived
def sizes_along(axis: int, *facts: Fact) -> tuple[int, ...]:
    """The sizes of an axis of several tensors, if all are integers."""
    return tuple(_size(fact, axis) for fact in facts)


@derived
def sizes_of(axis: int, facts: tuple[Fact, ...]) -> tuple[int, ...]:
    """The sizes of an axis of every tensor of a sequence, if all are integers."""
    return tuple(_size(fact, axis) for fact in facts)


@derived
def offset_along(axis: int, *facts: Fact) -> tuple[int]:
    """The total size of several tensors along an axis, as a list of one item."""
    return (sum(_size(fact, axis) for fact in facts),)


def _size(fact: Fact, axis: int) -> int:
    size = shape_of(fact)[axis]
    if not isinstance(size, int):
        raise ValueError(f"dimension {size} is not an integer")
    return size
