"""The cycle filter before rules are applied: matches that would close a cycle are skipped.

TenSat, section 5.2. Skipped matches may be applied later, when what they closed the cycle with has been
banned. Cycles that the rows of one iteration close together, or that congruence closes, are broken after
it (`banning`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tensaur.egraph.components import Neighbours, neighbours
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.relations import BoolArray, IntArray, distinct, expand


class CycleFilter(Enum):
    """How cycles are kept out: not at all, by bitsets before and components after, or one by one."""

    NONE = "none"
    EFFICIENT = "efficient"
    VANILLA = "vanilla"


# Bytes of one block of descendant bitsets, and bytes to go through in all before it is not worth it.
BLOCK_BYTES = 64 << 20
TOTAL_BYTES = 16 << 30


@dataclass(frozen=True, slots=True)
class Uses:
    """What candidates would make depend on what: variables `below[i]` come under class `roots[i]`.

    Roots and variables are columns of canonical classes; `below` has positions in `variables`.
    """

    roots: tuple[IntArray, ...]
    variables: tuple[IntArray, ...]
    below: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.roots[0])

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return all pairs of a variable and a root."""
        count = len(self.variables) * len(self.roots)
        above, below = (np.empty((count, len(self)), np.int64) for _ in range(2))
        for i, variable in enumerate(self.variables):
            above[i * len(self.roots) : (i + 1) * len(self.roots)] = variable
        for j, root in enumerate(self.roots):
            below[j :: len(self.roots)] = root
        return above.ravel(), below.ravel()


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
        self._layers: list[Layer] | None = None

    def depends(self, above: IntArray, below: IntArray) -> BoolArray:
        """Tell for pairs of canonical classes whether the first is the second or depends on it.

        Best asked for many pairs at once. In a cyclic e-graph, what is on or above a cycle has no level
        and is not answered for; nor are questions that would cost too much.
        """
        if self._layers is None:
            self._layers = self._sort()
        result: BoolArray = above == below
        low = self._level[below]
        asked = np.flatnonzero((self._level[above] > low) & (low >= 0))
        targets = distinct(below[asked], self._size)
        if not len(targets) or self._edge_count * (len(targets) / 8) > TOTAL_BYTES:
            return result
        place = np.zeros(self._size, np.int64)
        place[targets] = np.arange(len(targets))
        column = place[below[asked]]
        order = np.argsort(column, kind="stable")
        words = max(1, BLOCK_BYTES // (8 * max(self._size, self._widest)))
        for begin in range(0, len(targets), 64 * words):
            block = targets[begin : begin + 64 * words]
            first, last = np.searchsorted(column, [begin, begin + len(block)], sorter=order)
            at = order[first:last]
            bits = self._block(block, int(self._level[above[asked[at]]].max()))
            result[asked[at]] = _bit(bits, above[asked[at]], column[at] - begin)
        return result

    def _sort(self) -> list[Layer]:
        self._size = self._egraph.nodes.end
        classes = np.flatnonzero(self._egraph.unions.compress() == np.arange(self._size))
        nodes, find = self._egraph.nodes, self._egraph.unions.find_many
        rows = np.flatnonzero(nodes.alive.view & ~nodes.banned.view)
        parent = np.repeat(find(rows), nodes.arity.view[rows])
        child = find(nodes.kids.view[nodes.edges_of(rows)])
        down = neighbours(parent, child, self._size)
        up = neighbours(child, parent, self._size)
        self._edge_count = len(down.ends)
        layers, self._level = _levels(classes, down, up, self._size)
        self._widest = max((len(layer.children) for layer in layers), default=0)
        return layers

    def _block(self, targets: IntArray, most: int) -> npt.NDArray[np.uint64]:
        """Return for the classes up to a level on which of the targets they depend, as bits."""
        bits = np.zeros((self._size, (len(targets) + 63) // 64), np.uint64)
        number = np.arange(len(targets), dtype=np.uint64)
        bits[targets, number // np.uint64(64)] |= np.uint64(1) << (number % np.uint64(64))
        least = int(self._level[targets].min())
        assert self._layers is not None
        for layer in self._layers[least + 1 : most + 1]:
            self._check()
            gathered = np.bitwise_or.reduceat(bits[layer.children], layer.starts, axis=0)
            bits[layer.classes] |= gathered
        return bits


def closes_cycle(descendants: Descendants, uses: Sequence[Uses]) -> list[BoolArray]:
    """Tell for each of some candidates' matches whether it would close a cycle if it were the only one."""
    pairs = [item.pairs() for item in uses]
    if not pairs:
        return []
    above, below = (np.concatenate(side) for side in zip(*pairs, strict=True))
    depends = descendants.depends(above, below)
    ends = np.cumsum([len(first) for first, _ in pairs])
    return [
        _closes(item, part) for item, part in zip(uses, np.split(depends, ends[:-1]), strict=True)
    ]


def _closes(uses: Uses, depends: BoolArray) -> BoolArray:
    """Root i will depend on root j if a variable below root i is root j or depends on it."""
    count = len(uses.roots)
    by_variable = depends.reshape(len(uses.variables), count, len(uses))
    reach: npt.NDArray[np.bool_] = np.zeros((count, count, len(uses)), np.bool_)
    for i, variables in enumerate(uses.below):
        reach[i] = np.logical_or.reduce(by_variable[list(variables)], axis=0)
    for k in range(count):
        np.logical_or(reach, reach[:, k, None] & reach[None, k], out=reach)
    result: BoolArray = np.logical_or.reduce([reach[i, i] for i in range(count)])
    return result


def _bit(bits: npt.NDArray[np.uint64], row: IntArray, column: IntArray) -> BoolArray:
    place = column.astype(np.uint64)
    word = bits[row, (place // np.uint64(64)).astype(np.int64)]
    result: BoolArray = ((word >> (place % np.uint64(64))) & np.uint64(1)).astype(np.bool_)
    return result


def _levels(
    classes: IntArray, down: Neighbours, up: Neighbours, size: int
) -> tuple[list[Layer], IntArray]:
    """Sort classes into levels; those on or above a cycle get none and are never descended to."""
    level, stamp = np.full(size, -1), np.empty(size, np.int64)
    waiting = np.diff(down.starts)
    layers: list[Layer] = []
    ready = classes[waiting[classes] == 0]
    while ready.size:
        level[ready] = len(layers)
        counts = down.starts[ready + 1] - down.starts[ready]
        children = down.ends[expand(down.starts[ready], counts)]
        layers.append(Layer(ready, np.cumsum(counts) - counts, children))
        reached = up.ends[expand(up.starts[ready], up.starts[ready + 1] - up.starts[ready])]
        np.subtract.at(waiting, reached, 1)
        free = reached[waiting[reached] == 0]
        number = np.arange(len(free))
        stamp[free] = number
        ready = free[stamp[free] == number]
    return layers, level
