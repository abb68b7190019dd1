"""60-bit hashes of integer rows, the same one by one in Python and all at once in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tensaur.egraph.relations import IntArray

_MASK64 = (1 << 64) - 1
# Hashes are cut to 60 bits, which are two digits of a Python integer: cheaper as a key than three.
MASK60 = (1 << 60) - 1
_HEAD, _LENGTH, _ITEM, _MIX = (
    0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93,
)  # fmt: skip


def hash_nodes(symbol: IntArray, kids: IntArray) -> IntArray:
    """Return the hash of every (symbol, children); the children of a node are a row of `kids`."""
    return hash_columns(symbol, [kids[:, position] for position in range(kids.shape[1])])


def hash_columns(head: IntArray, columns: Sequence[IntArray]) -> IntArray:
    """Return the hash of every row of some columns, of which `head` is the first."""
    total = head.astype(np.uint64) * np.uint64(_HEAD)
    total += np.uint64((len(columns) * _LENGTH) & _MASK64)
    for position, column in enumerate(columns):
        total += _mix_many(column.astype(np.uint64) + np.uint64(_salt(position)))
    return (_mix_many(total) & np.uint64(MASK60)).astype(np.int64)


def hash_node(symbol: int, kids: Sequence[int]) -> int:
    """Return what `hash_nodes` returns for one node."""
    total = symbol * _HEAD + len(kids) * _LENGTH
    for position, kid in enumerate(kids):
        total += _mix_one(kid + _salt(position))
    return _mix_one(total & _MASK64) & MASK60


def _mix_many(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    mixed = values * np.uint64(_MIX)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(_MIX)
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _mix_one(value: int) -> int:
    mixed = (value * _MIX) & _MASK64
    mixed ^= mixed >> 32
    mixed = (mixed * _MIX) & _MASK64
    return mixed ^ (mixed >> 29)


def _salt(position: int) -> int:
    return (_ITEM * (2 * position + 1)) & _MASK64
