"""Which nodes of an acyclic graph reach which: nodes sorted into levels, and bits carried up them.

Knows nothing of e-graphs: nodes are numbers, edges are columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensaur.egraph.components import Neighbours, neighbours
from tensaur.egraph.relations import BoolArray, IntArray, expand

Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Layer:
    """Nodes of one level with the edges to their children: `starts` begins each node's edges."""

    nodes: IntArray
    starts: IntArray
    children: IntArray


class Levels:
    """The levels of a graph's nodes: a node is above all its descendants.

    `level` is -1 for nodes on or above a cycle, of which nothing is said.
    """

    def __init__(self, nodes: IntArray, parent: IntArray, child: IntArray, size: int) -> None:
        down = neighbours(parent, child, size)
        up = neighbours(child, parent, size)
        self.size = size
        self.edge_count = len(down.ends)
        self.level = np.full(size, -1)
        self._layers = _layers(nodes, down, up, self.level)
        self.widest = max((len(layer.children) for layer in self._layers), default=0)

    def reach(self, targets: IntArray, most: int, check: Callable[[], None] = lambda: None) -> Bits:
        """Return for the nodes up to level `most` which of the targets they are or reach, as bits.

        Target i is bit i % 64 of word i // 64 of a node's row.
        """
        bits = np.zeros((self.size, (len(targets) + 63) // 64), np.uint64)
        number = np.arange(len(targets), dtype=np.uint64)
        bits[targets, number // np.uint64(64)] |= np.uint64(1) << (number % np.uint64(64))
        least = int(self.level[targets].min())
        for layer in self._layers[least + 1 : most + 1]:
            check()
            gathered = np.bitwise_or.reduceat(bits[layer.children], layer.starts, axis=0)
            bits[layer.nodes] |= gathered
        return bits


def bit_at(bits: Bits, row: IntArray, column: IntArray) -> BoolArray:
    """Tell for pairs of row and column whether the bit is set."""
    place = column.astype(np.uint64)
    word = bits[row, (place // np.uint64(64)).astype(np.int64)]
    result: BoolArray = ((word >> (place % np.uint64(64))) & np.uint64(1)).astype(np.bool_)
    return result


def _layers(nodes: IntArray, down: Neighbours, up: Neighbours, level: IntArray) -> list[Layer]:
    stamp = np.empty(len(level), np.int64)
    waiting = np.diff(down.starts)
    layers: list[Layer] = []
    ready = nodes[waiting[nodes] == 0]
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
    return layers
