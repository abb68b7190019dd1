"""A topological order kept while edges are added. Knows nothing of e-graphs."""

from __future__ import annotations

from collections.abc import Iterable


class GrowingOrder:
    """Keeps a directed graph acyclic: edges that would close a cycle are refused.

    The algorithm of Pearce and Kelly (2007): only nodes between the two ends of an edge that runs
    against the present order are looked at and renumbered. Children stand before parents. The first
    order is the order of the node numbers.
    """

    def __init__(self) -> None:
        self._rank: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        self._parents: dict[int, list[int]] = {}

    def add(self, parent: int, children: Iterable[int]) -> bool:
        """Add edges from a parent to all children, or none of them; tell whether they were added."""
        new = list(dict.fromkeys(children))
        for child in new:
            if self._depends(child, parent):
                return False
        for child in new:
            self._children.setdefault(parent, []).append(child)
            self._parents.setdefault(child, []).append(parent)
        return True

    def _depends(self, low: int, high: int) -> bool:
        """Tell whether `low` depends on `high`; if not, bring `low` before `high`."""
        if low == high:
            return True
        rank = self._rank
        top, bottom = rank.setdefault(low, low), rank.setdefault(high, high)
        if top < bottom:
            return False
        down = self._below(low, bottom)
        if high in down:
            return True
        up = self._above(high, top)
        nodes = sorted(down, key=rank.__getitem__) + sorted(up, key=rank.__getitem__)
        for node, place in zip(nodes, sorted(rank[node] for node in nodes), strict=True):
            rank[node] = place
        return False

    def _below(self, start: int, least: int) -> set[int]:
        seen, stack = {start}, [start]
        while stack:
            for child in self._children.get(stack.pop(), ()):
                if child not in seen and self._rank[child] >= least:
                    seen.add(child)
                    stack.append(child)
        return seen

    def _above(self, start: int, most: int) -> set[int]:
        seen, stack = {start}, [start]
        while stack:
            for parent in self._parents.get(stack.pop(), ()):
                if parent not in seen and self._rank[parent] <= most:
                    seen.add(parent)
                    stack.append(parent)
        return seen
