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

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.levels import Levels, bit_at
from tensaur.egraph.relations import BoolArray, IntArray, distinct


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


class Descendants:
    """Answers whether one class depends on another, in the e-graph as it was when first asked.

    Classes are sorted into levels (a class is above all its descendants), which decides most questions;
    for the others, bitsets of descendants are made, only of classes that are asked for and in blocks
    of bounded size.
    """

    def __init__(self, egraph: EGraph, check: Callable[[], None]) -> None:
        self._egraph = egraph
        self._check = check
        self._levels: Levels | None = None

    def depends(self, above: IntArray, below: IntArray) -> BoolArray:
        """Tell for pairs of canonical classes whether the first is the second or depends on it.

        Best asked for many pairs at once. In a cyclic e-graph, what is on or above a cycle has no level
        and is not answered for; nor are questions that would cost too much.
        """
        if self._levels is None:
            self._levels = self._sort()
        levels = self._levels
        result: BoolArray = above == below
        low = levels.level[below]
        asked = np.flatnonzero((levels.level[above] > low) & (low >= 0))
        targets = distinct(below[asked], levels.size)
        if not len(targets) or levels.edge_count * (len(targets) / 8) > TOTAL_BYTES:
            return result
        place = np.zeros(levels.size, np.int64)
        place[targets] = np.arange(len(targets))
        column = place[below[asked]]
        order = np.argsort(column, kind="stable")
        words = max(1, BLOCK_BYTES // (8 * max(levels.size, levels.widest)))
        for begin in range(0, len(targets), 64 * words):
            block = targets[begin : begin + 64 * words]
            first, last = np.searchsorted(column, [begin, begin + len(block)], sorter=order)
            at = order[first:last]
            bits = levels.reach(block, int(levels.level[above[asked[at]]].max()), self._check)
            result[asked[at]] = bit_at(bits, above[asked[at]], column[at] - begin)
        return result

    def _sort(self) -> Levels:
        nodes, unions = self._egraph.nodes, self._egraph.unions
        classes = np.flatnonzero(unions.compress() == np.arange(nodes.end))
        rows = np.flatnonzero(nodes.alive.view & ~nodes.banned.view)
        parent = np.repeat(unions.find_many(rows), nodes.arity.view[rows])
        child = unions.find_many(nodes.kids.view[nodes.edges_of(rows)])
        return Levels(classes, parent, child, nodes.end)


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
