"""The cycle filter before rules are applied: matches that would close a cycle are skipped.

TenSat, section 5.2. Skipped matches may be applied later, when what they closed the cycle with has been
banned. Cycles that the rows of one iteration close together, or that congruence closes, are broken after
it (`banning`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.relations import BoolArray, IntArray, expand


class CycleFilter(Enum):
    """How cycles are kept out: not at all, by bitsets before and components after, or one by one."""

    NONE = "none"
    EFFICIENT = "efficient"
    VANILLA = "vanilla"


# Bytes of one block of descendant bitsets, and bytes to go through in all before it is not worth it.
BLOCK_BYTES = 64 << 20
TOTAL_BYTES = 16 << 30


@dataclass(frozen=True, slots=True)
class Questions:
    """Pairs of classes of which is asked whether the one above depends on the one below."""

    above: IntArray
    below: IntArray


@dataclass(frozen=True, slots=True)
class Uses:
    """What candidates would make depend on what: classes `below[i]` come under class `roots[i]`."""

    roots: tuple[IntArray, ...]
    below: tuple[tuple[IntArray, ...], ...]

    def questions(self) -> Questions:
        """Return all pairs of a class below a root and a root."""
        pairs = [(cls, root) for each in self.below for cls in each for root in self.roots]
        empty = np.empty(0, np.int64)
        return Questions(
            np.concatenate([empty, *(cls for cls, _ in pairs)]),
            np.concatenate([empty, *(root for _, root in pairs)]),
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """Classes of one level with the edges to their children: `starts` begins each class's edges."""

    classes: IntArray
    starts: IntArray
    children: IntArray


class Descendants:
    """Answers whether one class depends on another, in the e-graph as it was when first asked.

    Classes are sorted into levels (a class is above all its descendants), which decides most questions;
    for the others, bitsets of descendants are made, only of classes that are asked for and in blocks
    of bounded size.
    """

    def __init__(self, egraph: EGraph, check: Callable[[], None]) -> None:
        self._egraph = egraph
        self._check = check
        self._size = 0
        self._truths = np.empty(0, np.int64)
        self._layers: list[Layer] | None = None

    def prepare(self, uses: Iterable[Uses]) -> None:
        """Work out what `depends` will be asked about these uses, all at once."""
        self.ask([use.questions() for use in uses])

    def ask(self, pairs: Sequence[Questions]) -> None:
        """Work out for pairs of canonical classes whether the one above depends on the one below."""
        if not pairs:
            return
        if self._layers is None:
            self._layers = self._sort()
        key = np.unique(np.concatenate([self._open(pair) for pair in pairs]))
        above, below = key // self._size, key % self._size
        targets, column = np.unique(below, return_inverse=True)
        if not len(targets) or self._edge_count * (len(targets) / 8) > TOTAL_BYTES:
            return
        truths = np.zeros(len(key), np.bool_)
        widest = max(len(layer.children) for layer in self._layers)
        words = max(1, BLOCK_BYTES // (8 * max(self._size, widest)))
        for begin in range(0, len(targets), 64 * words):
            block = targets[begin : begin + 64 * words]
            bits = self._block(block)
            at = np.flatnonzero((column >= begin) & (column < begin + len(block)))
            truths[at] = _bit(bits, above[at], column[at] - begin)
        self._truths = np.sort(np.concatenate([self._truths, key[truths]]), kind="stable")

    def depends(self, above: IntArray, below: IntArray) -> BoolArray:
        """Tell for prepared pairs whether the first is the second or depends on it."""
        result: BoolArray = above == below
        if self._truths.size:
            key = above * self._size + below
            at = np.minimum(np.searchsorted(self._truths, key), len(self._truths) - 1)
            result |= self._truths[at] == key
        return result

    def _open(self, pair: Questions) -> IntArray:
        """Return the distinct questions, packed, that levels do not answer."""
        self._check()
        # In a cyclic e-graph, what is on or above a cycle has no level and is not answered for.
        low = self._level[pair.below]
        open_ = np.flatnonzero((self._level[pair.above] > low) & (low >= 0))
        return np.unique(pair.above[open_] * self._size + pair.below[open_])

    def _sort(self) -> list[Layer]:
        self._size = self._egraph.nodes.end
        classes = np.flatnonzero(self._egraph.unions.compress() == np.arange(self._size))
        parent, child = _edges(self._egraph)
        self._edge_count = len(parent)
        layers, self._level = _levels(classes, parent, child, self._size)
        return layers

    def _block(self, targets: IntArray) -> npt.NDArray[np.uint64]:
        bits = np.zeros((self._size, (len(targets) + 63) // 64), np.uint64)
        number = np.arange(len(targets), dtype=np.uint64)
        bits[targets, number // np.uint64(64)] |= np.uint64(1) << (number % np.uint64(64))
        least = int(self._level[targets].min())
        assert self._layers is not None
        for layer in self._layers[least + 1 :]:
            self._check()
            gathered = np.bitwise_or.reduceat(bits[layer.children], layer.starts, axis=0)
            bits[layer.classes] |= gathered
        return bits


def closes_cycle(descendants: Descendants, uses: Uses) -> BoolArray:
    """Tell which matches would close a cycle if each were the only one.

    Root i then depends on root j if a class below root i is root j or depends on it.
    """
    count = len(uses.roots)
    reach: npt.NDArray[np.bool_] = np.zeros((count, count, len(uses.roots[0])), np.bool_)
    for i, classes in enumerate(uses.below):
        for j, root in enumerate(uses.roots):
            for cls in classes:
                reach[i, j] |= descendants.depends(cls, root)
    for k in range(count):
        np.logical_or(reach, reach[:, k, None] & reach[None, k], out=reach)
    result: BoolArray = np.logical_or.reduce([reach[i, i] for i in range(count)])
    return result


def _bit(bits: npt.NDArray[np.uint64], row: IntArray, column: IntArray) -> BoolArray:
    place = column.astype(np.uint64)
    word = bits[row, (place // np.uint64(64)).astype(np.int64)]
    result: BoolArray = ((word >> (place % np.uint64(64))) & np.uint64(1)).astype(np.bool_)
    return result


def _edges(egraph: EGraph) -> tuple[IntArray, IntArray]:
    """Return the distinct edges from class to child class over unbanned rows."""
    nodes, size = egraph.nodes, egraph.nodes.end
    rows = np.flatnonzero(nodes.alive.view & ~nodes.banned.view)
    parent = np.repeat(egraph.unions.find_many(rows), nodes.arity.view[rows])
    child = egraph.unions.find_many(nodes.kids.view[nodes.edges_of(rows)])
    key = np.unique(parent * size + child)
    return key // size, key % size


def _levels(
    classes: IntArray, parent: IntArray, child: IntArray, size: int
) -> tuple[list[Layer], IntArray]:
    """Sort classes into levels; those on or above a cycle get none and are never descended to."""
    level, stamp = np.full(size, -1), np.empty(size, np.int64)
    waiting = np.bincount(parent, minlength=size)
    first = np.searchsorted(parent, np.arange(size + 1))
    upward = np.argsort(child, kind="stable")
    above, first_above = parent[upward], np.searchsorted(child[upward], np.arange(size + 1))
    layers: list[Layer] = []
    ready = classes[waiting[classes] == 0]
    while ready.size:
        level[ready] = len(layers)
        counts = first[ready + 1] - first[ready]
        layers.append(Layer(ready, np.cumsum(counts) - counts, child[expand(first[ready], counts)]))
        reached = above[expand(first_above[ready], first_above[ready + 1] - first_above[ready])]
        np.subtract.at(waiting, reached, 1)
        free = reached[waiting[reached] == 0]
        number = np.arange(len(free))
        stamp[free] = number
        ready = free[stamp[free] == number]
    return layers, level
