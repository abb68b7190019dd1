"""Banning rows until no cycle is left: the cycle filter's work after an iteration (TenSat, section 5.2).

Rows are gone through by birth, and one that closes a cycle with older rows is banned. All edges into a
class come from rows that are younger than its oldest row, so that one never closes a cycle; hence every
class stays extractable, and a loaded row is only banned where a cycle consists of loaded rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tensaur.egraph.components import strongly_connected
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.levels import Levels
from tensaur.egraph.relations import BoolArray, IntArray, distinct, distinct_sorted
from tensaur.egraph.unions import LOADED

# So few rows are tried one by one: measured to be as good as 256 and 1024, and better than 64.
FEW = 512


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges from class to child class with the row of each, sorted by row."""

    row: IntArray
    parent: IntArray
    child: IntArray

    def take(self, at: BoolArray) -> _Edges:
        return _Edges(self.row[at], self.parent[at], self.child[at])

    def until(self, row: int) -> _Edges:
        """Return the edges of the rows up to one."""
        end = int(np.searchsorted(self.row, row, "right"))
        return _Edges(self.row[:end], self.parent[:end], self.child[:end])

    def after(self, row: int) -> _Edges:
        """Return the edges of the other rows."""
        begin = int(np.searchsorted(self.row, row, "right"))
        return _Edges(self.row[begin:], self.parent[begin:], self.child[begin:])

    def on_cycles(self, size: int) -> _Edges:
        """Return the edges that are part of some cycle; classes are below `size`."""
        component = strongly_connected(self.parent, self.child, size)
        return self.take(component[self.parent] == component[self.child])

    def renumbered(self, size: int) -> tuple[_Edges, int]:
        """Return the same edges between classes numbered from 0, and how many classes those are."""
        # On cycles, every class is some edge's parent.
        classes = distinct(self.parent, size)
        number = np.zeros(size, np.int64)
        number[classes] = np.arange(len(classes))
        return _Edges(self.row, number[self.parent], number[self.child]), len(classes)


def ban_cycles(egraph: EGraph, is_over: Callable[[], bool] = lambda: False) -> int:
    """Ban rows until no cycle is left among the others; return how many.

    Once `is_over`, rows on cycles are no longer told apart: all but the loaded and oldest ones are banned.
    """
    nodes = egraph.nodes
    rows = np.flatnonzero(nodes.alive.view & ~nodes.banned.view)
    at = nodes.edges_of(rows)
    parent = np.repeat(egraph.unions.find_many(rows), nodes.arity.view[rows])
    child = egraph.unions.find_many(nodes.kids.view[at])
    cyclic = _Edges(nodes.kid_row.view[at], parent, child).on_cycles(nodes.end)
    if not cyclic.row.size:
        return 0
    oldest = cyclic.row[egraph.unions.find_many(cyclic.row) == cyclic.row]
    loaded = cyclic.row[nodes.origin.view[cyclic.row] == LOADED]
    search = _Search(is_over, frozenset(oldest.tolist()), int(loaded.max(initial=-1)))
    banned = np.array(search.closing(cyclic, nodes.end, -1), np.int64)
    egraph.ban(banned)
    return len(banned)


@dataclass(frozen=True, slots=True)
class _Search:
    """Finds by bisection the rows that close a cycle with older rows.

    A set of rows that closes no cycle is told by one look at the strongly connected components; of
    another one the older half is searched, then the younger half together with what the older one
    keeps. Only edges on cycles are handed down, so that the sets get small at once. This gives what
    adding row by row to an incremental topological order gives (which was measured to be 15 to 60 times
    slower on e-graphs of 50,000 to 300,000 nodes).
    """

    is_over: Callable[[], bool]
    oldest: frozenset[int]
    newest_loaded: int

    def closing(self, edges: _Edges, size: int, settled: int) -> list[int]:
        """Return the rows to ban, of edges on cycles; rows up to `settled` close none together."""
        rows = distinct_sorted(edges.after(settled).row)
        if len(rows) == 1:
            return [int(rows[0])]
        if rows[0] > self.newest_loaded and self.is_over():
            return [row for row in rows.tolist() if row not in self.oldest]
        edges, size = edges.renumbered(size)
        if len(rows) <= FEW:
            return _in_turn(edges, size, settled)
        middle = int(rows[(len(rows) - 1) // 2])
        older = edges.until(middle).on_cycles(size)
        banned = self.closing(older, size, settled) if older.row.size else []
        kept = edges.take(~np.isin(edges.row, banned)) if banned else edges
        younger = kept.on_cycles(size) if banned else edges
        return banned + (self.closing(younger, size, middle) if younger.row.size else [])


def _in_turn(edges: _Edges, size: int, settled: int) -> list[int]:
    """Do what `_Search.closing` does for a few rows, one after another.

    What the rows' classes reach over settled edges is found for all of them at once; the paths from row
    to row are then walked over bits, one for every class that is some row's own.
    """
    old, new = edges.until(settled), edges.after(settled)
    rows = distinct_sorted(new.row)
    first = np.searchsorted(new.row, rows)
    own = distinct(new.parent, size)
    number = np.searchsorted(own, new.parent[first]).tolist()
    levels = Levels(np.arange(size), old.parent, old.child, size)
    bits = levels.reach(own, int(levels.level[new.child].max()))
    below = np.bitwise_or.reduceat(bits[new.child], first, axis=0)
    masks = [int.from_bytes(row.tobytes(), "little") for row in below]
    leads_to = [0] * len(own)
    banned: list[int] = []
    for row, cls, mask in zip(rows.tolist(), number, masks, strict=True):
        if _reaches(leads_to, mask, 1 << cls):
            banned.append(row)
        else:
            leads_to[cls] |= mask
    return banned


def _reaches(leads_to: list[int], start: int, goal: int) -> bool:
    """Tell whether the bits that some bits lead to, step by step, include `goal`."""
    seen = todo = start
    while todo and not seen & goal:
        lowest = todo & -todo
        new = leads_to[lowest.bit_length() - 1] & ~seen
        seen |= new
        todo = (todo ^ lowest) | new
    return bool(seen & goal)
