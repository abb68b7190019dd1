"""Hash tables of integers with operations on whole arrays; keys are hashes already. Knows nothing of e-graphs.

Looking up a million keys takes a Python dictionary half a second and a sorted array, in which all keys are
searched for, a third; these tables need a few array operations for as many rounds as the longest probe.
"""

from __future__ import annotations

import numpy as np

from tensaur.egraph.relations import BoolArray, IntArray, distinct_sorted

_EMPTY = -1
_LEAST = 1 << 6


class KeySet:
    """A set of keys >= 0 by open addressing: linear probing, at most half full, nothing is removed.

    The low bits of a key are its place, so keys have to be well mixed.
    """

    def __init__(self) -> None:
        self._keys: IntArray = np.full(_LEAST, _EMPTY)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def contains(self, keys: IntArray) -> BoolArray:
        """Tell which keys are in the set."""
        result: BoolArray = self._find(keys) >= 0
        return result

    def add(self, keys: IntArray) -> None:
        """Add keys, some of which may be there or equal."""
        new = keys[self._find(keys) < 0]
        if new.size:
            self._place(distinct_sorted(np.sort(new)))

    def _find(self, keys: IntArray) -> IntArray:
        """Return the places of keys, -1 for those that are not there."""
        places = np.full(len(keys), _EMPTY)
        mask = len(self._keys) - 1
        todo = np.arange(len(keys))
        place = keys & mask
        while todo.size:
            there = self._keys[place]
            hit = there == keys[todo]
            places[todo[hit]] = place[hit]
            on = ~hit & (there != _EMPTY)
            todo, place = todo[on], (place[on] + 1) & mask
        return places

    def _place(self, keys: IntArray) -> IntArray:
        """Give distinct keys that are not there a place each; return the places."""
        self._grow(self._count + len(keys))
        self._count += len(keys)
        return self._enter(keys)

    def _enter(self, keys: IntArray) -> IntArray:
        places = np.empty(len(keys), np.int64)
        mask = len(self._keys) - 1
        todo = np.arange(len(keys))
        place = keys & mask
        while todo.size:
            free = np.flatnonzero(self._keys[place] == _EMPTY)
            # Of several keys that claim one place, one stays; the others see that and go on.
            self._keys[place[free]] = keys[todo[free]]
            won = self._keys[place] == keys[todo]
            places[todo[won]] = place[won]
            todo, place = todo[~won], (place[~won] + 1) & mask
        return places

    def _grow(self, count: int) -> None:
        if 2 * count <= len(self._keys):
            return
        old = np.flatnonzero(self._keys != _EMPTY)
        keys = self._keys[old]
        self._keys = np.full(max(2 * len(self._keys), 1 << (2 * count).bit_length()), _EMPTY)
        self._moved(old, self._enter(keys))

    def _moved(self, old: IntArray, new: IntArray) -> None:
        """Take note that what was at places `old` is at `new` now."""


class KeyTable(KeySet):
    """A mapping from keys to numbers >= 0."""

    def __init__(self) -> None:
        super().__init__()
        self._values: IntArray = np.zeros(_LEAST, np.int64)

    def get(self, keys: IntArray) -> IntArray:
        """Return the numbers of keys, -1 for those that are not there."""
        places = self._find(keys)
        found: IntArray = self._values[places]
        found[places < 0] = _EMPTY
        return found

    def items(self) -> tuple[IntArray, IntArray]:
        """Return all keys and their numbers."""
        places = np.flatnonzero(self._keys != _EMPTY)
        return self._keys[places], self._values[places]

    def put(self, keys: IntArray, values: IntArray) -> None:
        """Add distinct keys that are not there."""
        if len(keys):
            places = self._place(keys)
            self._values[places] = values

    def setdefault(self, keys: IntArray, values: IntArray) -> IntArray:
        """Return the numbers of keys; one that is not there gets the first of the values given for it."""
        found = self.get(keys)
        missing = np.flatnonzero(found < 0)
        if missing.size:
            new, first, inverse = np.unique(keys[missing], return_index=True, return_inverse=True)
            chosen = values[missing[first]]
            self.put(new, chosen)
            found[missing] = chosen[inverse]
        return found

    def get_one(self, key: int) -> int | None:
        """Return the number of one key."""
        mask = len(self._keys) - 1
        place = key & mask
        while True:
            there = int(self._keys[place])
            if there == key:
                return int(self._values[place])
            if there == _EMPTY:
                return None
            place = (place + 1) & mask

    def set_one(self, key: int, value: int) -> None:
        """Set the number of one key, which may be there."""
        place = int(self._find(np.array([key]))[0])
        if place < 0:
            self.put(np.array([key]), np.array([value]))
        else:
            self._values[place] = value

    def _moved(self, old: IntArray, new: IntArray) -> None:
        values = np.zeros(len(self._keys), np.int64)
        values[new] = self._values[old]
        self._values = values
