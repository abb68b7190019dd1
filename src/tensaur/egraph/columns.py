"""Growable integer columns, and the table of e-nodes made of them. Holds no classes and no facts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensaur.egraph.hashing import MASK60, hash_node, hash_nodes
from tensaur.egraph.relations import BoolArray, IntArray, distinct_sorted, expand
from tensaur.egraph.table import KeyTable


class Column:
    """A one-dimensional array that grows at its end; `view` is what is filled."""

    __slots__ = ("_data", "size", "view")

    def __init__(self, dtype: npt.DTypeLike = np.int64) -> None:
        self._data: npt.NDArray[np.int64] = np.zeros(64, dtype)
        self.size = 0
        self.view = self._data[:0]

    def extend(self, values: npt.ArrayLike, count: int) -> None:
        """Append `count` values (or one value `count` times)."""
        end = self.size + count
        self._reserve(end)
        self._data[self.size : end] = values
        self.resize(end)

    def append(self, value: int) -> None:
        """Append one value."""
        self._reserve(self.size + 1)
        self._data[self.size] = value
        self.resize(self.size + 1)

    def resize(self, size: int) -> None:
        """Set the filled length, within what was filled before."""
        self.size = size
        self.view = self._data[:size]

    def _reserve(self, size: int) -> None:
        if size > len(self._data):
            grown = np.zeros(max(size, 2 * len(self._data)), self._data.dtype)
            grown[: self.size] = self._data[: self.size]
            self._data = grown


class NodeTable:
    """E-nodes as rows of columns, hash-consed; a row's number is also its birth.

    `birth_kids` holds the children as they were when the row was made and is never overwritten;
    `kids` holds the same children made canonical by the last rebuild. Rows are first *staged* behind
    the committed ones, and either all committed or all rolled back. The index maps a 60-bit hash of
    (symbol, children) to a row; every hit is compared with the row itself, and a false one goes on to
    the next key, so the index is exact.
    """

    def __init__(self) -> None:
        self.symbol, self.arity, self.start, self.origin = Column(), Column(), Column(), Column()
        self.birth_kids, self.kids, self.kid_row = Column(), Column(), Column()
        self.alive, self.banned = Column(np.bool_), Column(np.bool_)
        self.count = 0
        self.live = 0
        self._index = KeyTable()
        self._staged = KeyTable()

    @property
    def end(self) -> int:
        """Return the number of rows, staged ones included."""
        return self.symbol.size

    def find_one(self, symbol: int, kids: tuple[int, ...]) -> int | None:
        """Return the row with this symbol and these canonical children."""
        key = hash_node(symbol, kids)
        while True:
            row = self._index.get_one(key)
            if row is None or self._is(row, symbol, kids):
                return row
            key = (key + 1) & MASK60

    def add_one(self, symbol: int, kids: tuple[int, ...], origin: int) -> int:
        """Append and commit a row that `find_one` did not find."""
        key = hash_node(symbol, kids)
        while self._index.get_one(key) is not None:
            key = (key + 1) & MASK60
        row = self.end
        self._index.set_one(key, row)
        for column, value in (
            (self.symbol, symbol), (self.arity, len(kids)), (self.start, self.kids.size),
            (self.origin, origin), (self.alive, True), (self.banned, False),
        ):  # fmt: skip
            column.append(value)
        for kid in kids:
            self.birth_kids.append(kid)
            self.kids.append(kid)
            self.kid_row.append(row)
        self.count += 1
        self.live += 1
        return row

    def stage(
        self, symbol: IntArray, kids: IntArray, origin: IntArray
    ) -> tuple[IntArray, IntArray]:
        """Return the rows of nodes (children by column), staging new ones, and which nodes are new.

        The second result holds for every newly staged row, in order, the position of its node.
        """
        rows = np.empty(len(symbol), np.int64)
        fresh: list[IntArray] = []
        keys = hash_nodes(symbol, kids)
        todo = np.arange(len(symbol))
        while todo.size:
            found, new = self._reserve_rows(keys[todo])
            at = todo[new]
            self._append(symbol[at], kids[at], origin[at])
            fresh.append(at)
            same = self.same(found, symbol[todo], kids[todo])
            rows[todo[same]] = found[same]
            todo = todo[~same]
            keys[todo] = (keys[todo] + 1) & MASK60
        return rows, np.concatenate(fresh) if fresh else np.empty(0, np.int64)

    def commit(self) -> None:
        """Keep the staged rows."""
        self.live += self.end - self.count
        self.count = self.end
        self._index.put(*self._staged.items())
        self._staged = KeyTable()

    def rollback(self) -> None:
        """Forget the staged rows."""
        if self.end > self.count:
            children = int(self.start.view[self.count])
            for column in (
                self.symbol,
                self.arity,
                self.start,
                self.origin,
                self.alive,
                self.banned,
            ):
                column.resize(self.count)
            for column in (self.birth_kids, self.kids, self.kid_row):
                column.resize(children)
        self._staged = KeyTable()

    def children(self, rows: IntArray, arity: int) -> IntArray:
        """Return the canonical children of rows that all have `arity`, one row each."""
        result: IntArray = self.kids.view[self.start.view[rows][:, None] + np.arange(arity)]
        return result

    def same(self, rows: IntArray, symbol: IntArray, kids: IntArray) -> BoolArray:
        """Tell where a row has the given symbol and children."""
        arity = kids.shape[1]
        equal: BoolArray = (self.symbol.view[rows] == symbol) & (self.arity.view[rows] == arity)
        checked = np.flatnonzero(equal)
        if arity and checked.size:
            equal[checked] = (self.children(rows[checked], arity) == kids[checked]).all(axis=1)
        return equal

    def rehash(self, rows: IntArray, arity: int) -> IntArray:
        """Index rows of one arity under their present children; return for each the indexed row."""
        symbol, kids = self.symbol.view[rows], self.children(rows, arity)
        keys = hash_nodes(symbol, kids)
        result = rows.copy()
        todo = np.arange(len(rows))
        while todo.size:
            found = self._index.setdefault(keys[todo], rows[todo])
            same = self.same(found, symbol[todo], kids[todo])
            result[todo[same]] = found[same]
            todo = todo[~same]
            keys[todo] = (keys[todo] + 1) & MASK60
        return result

    def merge_duplicates(self, rows: IntArray, indexed: IntArray) -> None:
        """Let the oldest of equal rows stand for all; `indexed` is what `rehash` gave for `rows`."""
        members = np.concatenate([rows, indexed])
        heads, group = np.unique(np.concatenate([indexed, indexed]), return_inverse=True)
        oldest = heads.copy()
        np.minimum.at(oldest, group, members)
        banned = self.banned.view[heads]
        np.logical_and.at(banned, group, self.banned.view[members])
        self.alive.view[members] = False
        self.alive.view[oldest] = True
        self.banned.view[oldest] = banned
        self.live = int(np.count_nonzero(self.alive.view))
        moved = np.flatnonzero(oldest != heads)
        for old, new in zip(heads[moved].tolist(), oldest[moved].tolist(), strict=True):
            self._point(old, new)

    def rows_with_children(self, edges: BoolArray) -> IntArray:
        """Return the live rows that own one of the marked entries of `kids`."""
        rows = distinct_sorted(self.kid_row.view[edges])
        return rows[self.alive.view[rows]]

    def edges_of(self, rows: IntArray) -> IntArray:
        """Return the positions in `kids` of all children of `rows`, in order."""
        return expand(self.start.view[rows], self.arity.view[rows])

    def _is(self, row: int, symbol: int, kids: tuple[int, ...]) -> bool:
        start = int(self.start.view[row])
        return (
            int(self.symbol.view[row]) == symbol
            and int(self.arity.view[row]) == len(kids)
            and tuple(self.kids.view[start : start + len(kids)].tolist()) == kids
        )

    def _point(self, old: int, new: int) -> None:
        start = int(self.start.view[old])
        kids = self.kids.view[start : start + int(self.arity.view[old])].tolist()
        key = hash_node(int(self.symbol.view[old]), tuple(kids))
        while self._index.get_one(key) != old:
            key = (key + 1) & MASK60
        self._index.set_one(key, new)

    def _reserve_rows(self, keys: IntArray) -> tuple[IntArray, IntArray]:
        """Return a row for every key, and where keys that have none yet come first.

        In the order of these places they get the next rows.
        """
        found = self._index.get(keys)
        missing = np.flatnonzero(found < 0)
        if not missing.size:
            return found, missing
        rows = self._staged.get(keys[missing])
        new = np.flatnonzero(rows < 0)
        if new.size:
            distinct, first, inverse = np.unique(
                keys[missing[new]], return_index=True, return_inverse=True
            )
            order = np.argsort(first)
            row = np.empty(len(distinct), np.int64)
            row[order] = np.arange(self.end, self.end + len(distinct))
            self._staged.put(distinct, row)
            rows[new] = row[inverse]
            new = new[first[order]]
        found[missing] = rows
        return found, missing[new]

    def _append(self, symbol: IntArray, kids: IntArray, origin: IntArray) -> None:
        count, arity = kids.shape
        first = self.kids.size
        self.kid_row.extend(np.repeat(np.arange(self.end, self.end + count), arity), count * arity)
        self.start.extend(np.arange(first, first + count * arity, arity) if arity else first, count)
        self.symbol.extend(symbol, count)
        self.arity.extend(arity, count)
        self.origin.extend(origin, count)
        self.alive.extend(True, count)
        self.banned.extend(False, count)
        self.birth_kids.extend(kids.ravel(), count * arity)
        self.kids.extend(kids.ravel(), count * arity)
