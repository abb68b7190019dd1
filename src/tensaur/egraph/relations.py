"""Relations as integer columns: joins, grouping and packing. Knows nothing of e-graphs or patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_PACK_LIMIT = 1 << 62


def expand(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return the concatenation of the ranges `starts[i] .. starts[i] + lengths[i]`."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + lengths, lengths)


def distinct(values: IntArray, bound: int) -> IntArray:
    """Return the distinct values, all of which are in 0 .. bound - 1, in order."""
    # Marking is up to a hundred times faster than sorting or hashing, but takes a byte per possible value.
    marked = np.zeros(bound, np.bool_)
    marked[values] = True
    return np.flatnonzero(marked)


def distinct_sorted(values: IntArray) -> IntArray:
    """Return the distinct ones of sorted non-negative values."""
    return values[np.flatnonzero(np.diff(values, prepend=-1))]


def pack(columns: Sequence[IntArray], length: int) -> IntArray:
    """Return one integer per row, equal exactly where all columns (of non-negative integers) are."""
    key = np.zeros(length, np.int64)
    bound = 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if bound * size > _PACK_LIMIT:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            bound = int(key.max(initial=0)) + 1
        key = key * size + column
        bound *= size
    return key


def pack_pair(left: Sequence[IntArray], right: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Pack two relations with the same columns so that their keys compare with each other."""
    if len(left) == 1:
        return left[0], right[0]
    split = len(left[0])
    both = [np.concatenate(pair) for pair in zip(left, right, strict=True)]
    keys = pack(both, len(both[0]))
    return keys[:split], keys[split:]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Rows with equal columns, grouped: the group of every row and the first row of every group."""

    group: IntArray
    first: IntArray


def group_rows(columns: Sequence[IntArray], length: int) -> Grouping:
    """Group the rows by equality of all columns; groups are numbered in the order of the columns' values."""
    keys = pack([_compact(column) for column in columns], length)
    bound = int(keys.max(initial=-1)) + 1
    if bound > _dense(length):
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return Grouping(group.astype(np.int64, copy=False), first.astype(np.int64, copy=False))
    first_of = np.empty(bound, np.int64)
    # Of several values for one place the last one stays.
    first_of[keys[::-1]] = np.arange(length - 1, -1, -1)
    values = distinct(keys, bound)
    return Grouping(_numbers(values, bound)[keys], first_of[values])


def _compact(column: IntArray) -> IntArray:
    """Return the places of non-negative integers among the distinct ones, if that is cheap to find."""
    bound = int(column.max(initial=-1)) + 1
    if bound > _dense(len(column)):
        return column
    compact: IntArray = _numbers(distinct(column, bound), bound)[column]
    return compact


def _numbers(values: IntArray, bound: int) -> IntArray:
    """Return a table of the place of each of some values below `bound`."""
    table = np.zeros(bound, np.int64)
    table[values] = np.arange(len(values))
    return table


def _dense(length: int) -> int:
    """Return up to which number a table by value is cheaper than sorting so many values."""
    return 4 * length + 1024


class Join:
    """The sort-merge join of two key columns, whose pairs are numbered and made range by range.

    Nothing of the size of the result is allocated before `pairs` is called, so a caller can look at
    `total` first, and at the clock between two ranges.
    """

    def __init__(self, left: IntArray, right: IntArray) -> None:
        self._order = np.argsort(right, kind="stable")
        bound = max(int(left.max(initial=-1)), int(right.max(initial=-1))) + 1
        if bound <= _dense(len(left) + len(right)):
            counts = np.bincount(right, minlength=bound)
            self._counts: IntArray = counts[left]
            self._low: IntArray = (np.cumsum(counts) - counts)[left]
        else:
            ordered = right[self._order]
            self._low = np.searchsorted(ordered, left, "left")
            self._counts = np.searchsorted(ordered, left, "right") - self._low
        self._ends = np.cumsum(self._counts)
        self.total = int(self._ends[-1]) if len(left) else 0

    def pairs(self, begin: int, end: int) -> tuple[IntArray, IntArray]:
        """Return the left and right row numbers of the pairs numbered `begin .. end`."""
        first = int(np.searchsorted(self._ends, begin, "right"))
        last = int(np.searchsorted(self._ends, end, "left")) + 1
        counts = self._counts[first:last].copy()
        low = self._low[first:last].copy()
        skipped = begin - int(self._ends[first] - self._counts[first])
        low[0] += skipped
        counts[0] -= skipped
        counts[-1] -= int(self._ends[last - 1]) - end
        left = np.repeat(np.arange(first, last), counts)
        return left, self._order[expand(low, counts)]
