"""Derived values about products that only look up rows."""

from __future__ import annotations

import numpy as np

from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Known
from tensaur.rules.conditions import static


@derived
def is_zero_one(fact: Fact) -> bool:
    """Whether a value is known to be the pair 0 and 1."""
    array = None if fact.value is None else fact.value.array
    return array is not None and array.shape == (2,) and array[0] == 0 and array[1] == 1


@derived
def before_first(depth: int) -> int:
    """The greatest number that as an index counted from the end lies before an axis of this length."""
    return -depth - 1


@derived
def one_row(matrix: Fact) -> Known:
    """The shape of one row of a matrix, as an int64 vector."""
    _, columns = static(matrix)
    return Known.of(np.array([1, columns], dtype=np.int64))
