"""Fast extraction without proof: the cheapest tree, and the cheapest graph found by greedy choice.

Both settle classes in order of their total, as Dijkstra's algorithm does and as Knuth generalised it to
grammars (1977). A row is priced when all its children are settled, so the choice is acyclic by
construction, and since a total is never below a child's total, the first price that a class is settled
at is its least. What differs is the total: the tree's adds up the children's, and is exact for trees;
the graph's counts each class below once (the idea of extraction-gym's faster-greedy-dag, here in one
pass), which no greedy choice can do exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import exp, inf, log
from time import perf_counter

import numpy as np

from tensaur.extract.bits import BitCosts
from tensaur.extract.problem import Incumbent, IntArray, Problem, closure, fits
from tensaur.extract.structure import index_by

BUDGET_STEPS = 24
"""Halvings of the price of a byte when a budget must be met."""

SHARE_LIMIT = 64
"""More users of a class than this make no difference."""

SHARING = ((2, 0.5), (3, 0.5), (1, 1.0), (2, 1.0), (3, 1.0))
"""Views of sharing: over how many free rows users are counted, and how strongly they count."""

PRICE_LIMIT = 2.0**52
"""Prices that sum to more than this are scaled down."""


class TreeTotals:
    """A total adds the totals of a row's children: shared parts count as often as they are used."""

    def __init__(self, class_count: int) -> None:
        self.of: list[int] = [0] * class_count

    def price(self, cost: int, children: list[int]) -> int:
        """Return the total of a row."""
        return cost + sum([self.of[child] for child in children])

    def settle(self, cls: int, total: int, cost: int, children: list[int]) -> None:
        """Fix the total of a class."""
        self.of[cls] = total


class DagTotals:
    """A total counts every class below a row once.

    The settled classes that cost something are bits of an integer, numbered as they settle; `below[c]` has
    the bits of all classes under c. A class is settled once, so two sets never disagree on a class's cost,
    and the cost of their union is exact.
    """

    def __init__(self, class_count: int) -> None:
        self.of: list[int] = [0] * class_count
        self.below: list[int] = [0] * class_count
        self.costs = BitCosts()

    def price(self, cost: int, children: list[int]) -> int:
        """Return the total of a row."""
        if not children:
            return cost
        if len(children) == 1:
            return cost + self.of[children[0]]
        first = max(children, key=self.of.__getitem__)
        total, seen = self.of[first], self.below[first]
        for child in children:
            new = self.below[child] & ~seen
            if new:
                # Nothing shared: the common case in trees, and the cheapest to price.
                total += self.of[child] if new == self.below[child] else self.costs.sum(new)
                seen |= new
        return cost + total

    def settle(self, cls: int, total: int, cost: int, children: list[int]) -> None:
        """Fix the total of a class and what lies below it."""
        self.of[cls] = total
        below = 0
        for child in children:
            below |= self.below[child]
        if cost:
            below |= 1 << self.costs.count
            self.costs.append(cost)
        self.below[cls] = below


class PathTotals:
    """A total is the cost of the dearest path below a row: less than any solution costs."""

    def __init__(self, class_count: int) -> None:
        self.of: list[int] = [0] * class_count

    def price(self, cost: int, children: list[int]) -> int:
        """Return the total of a row."""
        return cost + max([self.of[child] for child in children], default=0)

    def settle(self, cls: int, total: int, cost: int, children: list[int]) -> None:
        """Fix the total of a class."""
        self.of[cls] = total


Totals = TreeTotals | DagTotals | PathTotals


class Network:
    """A problem unpacked into lists, which the settling loop reads much faster than arrays."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.node_class: list[int] = problem.node_class.tolist()
        self.children = problem.child_lists()
        self.waiting = [len(row) for row in self.children]
        self.parents = index_by(problem.child, problem.class_count, problem.child_rows()).lists()

    def settle(self, cost: list[int], totals: Totals) -> IntArray:
        """Return the row that each class is settled with, -1 for classes that nothing derives."""
        chosen = [-1] * self.problem.class_count
        waiting = list(self.waiting)
        priced = [False] * len(waiting)
        node_class, children, parents = self.node_class, self.children, self.parents
        # An entry is a lower bound until its row is priced: many classes are settled before that.
        heap = [(cost[row], row) for row, count in enumerate(waiting) if not count]
        heapify(heap)
        while heap:
            total, row = heappop(heap)
            cls = node_class[row]
            if chosen[cls] >= 0:
                continue
            if not priced[row]:
                priced[row] = True
                exact = totals.price(cost[row], children[row])
                if exact > total:
                    heappush(heap, (exact, row))
                    continue
            chosen[cls] = row
            totals.settle(cls, total, cost[row], children[row])
            for parent in parents[cls]:
                waiting[parent] -= 1
                # Classes settle in order of their totals, so this child has the largest.
                if not waiting[parent] and chosen[node_class[parent]] < 0:
                    heappush(heap, (total + cost[parent], parent))
        return np.array(chosen, dtype=np.int64)

    def tree(self, cost: IntArray) -> IntArray:
        """Choose the cheapest tree under the given costs."""
        chosen = self.settle(cost.tolist(), TreeTotals(self.problem.class_count))
        return closure(self.problem, chosen)

    def dag(self, cost: IntArray) -> IntArray:
        """Choose greedily under the given costs, counting shared parts once."""
        chosen = self.settle(cost.tolist(), DagTotals(self.problem.class_count))
        return closure(self.problem, chosen)

    def path_bound(self) -> int:
        """Return what the dearest path of the cheapest solution costs at least."""
        paths = PathTotals(self.problem.class_count)
        self.settle(self.problem.cost.tolist(), paths)
        return paths.of[self.problem.root]

    def shared(self, steps: int) -> IntArray:
        """Count for each class the classes that may use it, at most `steps` free rows away.

        A merged operator pays only if several classes use it, which a greedy choice, made class by class,
        cannot see; dividing costs by this count lets it.
        """
        problem = self.problem
        rows = problem.child_rows()
        free = problem.cost[rows] == 0
        pairs = problem.node_class[rows] * problem.class_count + problem.child
        pairs, place = np.unique(pairs, return_inverse=True)
        passes = np.bincount(place, weights=free) > 0
        user, used = np.divmod(pairs, problem.class_count)
        count = np.ones(problem.class_count, dtype=np.int64)
        for _ in range(steps):
            carried = np.where(passes, count[user], 1)
            count = np.bincount(used, weights=carried, minlength=problem.class_count).astype(
                np.int64
            )
            count = np.clip(count, 1, SHARE_LIMIT)
        return count


Choice = Callable[[IntArray], IntArray]
"""A greedy method: costs in, chosen rows out."""


def consider_within_budget(incumbent: Incumbent, choose: Choice, cost: IntArray) -> None:
    """Consider a greedy choice; if it is too large, choose again with a price on every byte.

    The price is found by halving its logarithm; greedy choices are not monotone in it, so the result is
    good, not best, and a budget that can be met may be missed.
    """
    problem = incumbent.problem
    chosen = choose(cost)
    incumbent.consider(chosen)
    if fits(problem, chosen):
        return
    # From "a byte costs next to nothing" to "only bytes count".
    unit = float(cost.sum()) / float(problem.size.sum())
    low, high = log(max(unit, 1e-9)) - 25.0, log(max(unit, 1e-9)) + 25.0
    for step in range(BUDGET_STEPS):
        price = exp(high if step == 0 else (low + high) / 2)
        chosen = choose(_with_bytes(problem, cost, price))
        incumbent.consider(chosen)
        if not fits(problem, chosen):
            if step == 0:
                return
            low = log(price)
        else:
            high = log(price)


def _with_bytes(problem: Problem, cost: IntArray, price: float) -> IntArray:
    total = cost + price * problem.size
    scale = min(1.0, PRICE_LIMIT / float(total.sum()))
    scaled: IntArray = np.ceil(total * scale).astype(np.int64)
    return scaled


def consider_tree(incumbent: Incumbent, network: Network) -> None:
    """Consider the cheapest tree."""
    consider_within_budget(incumbent, network.tree, network.problem.cost)


def consider_dags(incumbent: Incumbent, network: Network, deadline: float = inf) -> None:
    """Consider greedy choices that count shared parts once, under several views of sharing."""
    cost = network.problem.cost
    consider_within_budget(incumbent, network.dag, cost)
    for steps, power in SHARING:
        if perf_counter() > deadline:
            return
        users = network.shared(steps)[network.problem.node_class]
        part = cost * (SHARE_LIMIT / users**power)
        consider_within_budget(incumbent, network.dag, part.astype(np.int64))
