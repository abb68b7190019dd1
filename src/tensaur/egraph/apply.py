"""Inserting what rules make, column by column and within a number of nodes; unions come later.

During the insertions of an iteration no classes are joined, so that equal nodes find each other;
`finish` joins all pairs of found and made classes at once and rebuilds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensaur.egraph.budget import Budget
from tensaur.egraph.candidates import Candidates
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.provenance import Batch
from tensaur.egraph.relations import BoolArray, IntArray

# Matches inserted between two looks at the clock, at most and at least; no more are tried than could
# fit if each made a new node, and more again while they do not.
_MOST, _LEAST = 1 << 15, 8


@dataclass(frozen=True, slots=True)
class Inserted:
    """How far an insertion came: matches done (from the first on), those of them that were ill-typed."""

    done: int
    nodes: int
    ill_typed: int


@dataclass(frozen=True, slots=True)
class _Staged:
    roots: tuple[IntArray, ...]
    first_users: IntArray
    bad: BoolArray


class Inserter:
    """Applies candidates of one iteration to an e-graph."""

    def __init__(self, egraph: EGraph, budget: Budget, rules: tuple[str, ...]) -> None:
        self._egraph = egraph
        self._budget = budget
        self._rules = rules
        self._first: list[IntArray] = []
        self._second: list[IntArray] = []
        self._cause: list[IntArray] = []

    def insert(self, candidates: Candidates, iteration: int, allowance: int) -> Inserted:
        """Insert what the candidates make, in order, until the next would add more than is allowed."""
        done = nodes = ill_typed = 0
        size = _LEAST
        while done < len(candidates):
            self._budget.check()
            left = allowance - nodes
            size = min(_MOST, max(2 * size, left))
            chunk = candidates.take(_range(done, size, len(candidates)))
            fitting, added, bad = self._insert_chunk(chunk, iteration, left)
            done, nodes, ill_typed = done + fitting, nodes + added, ill_typed + bad
            self._budget.reserve(added)
            if fitting < len(chunk):
                break
        return Inserted(done, nodes, ill_typed)

    def finish(self) -> None:
        """Join found and made classes, and rebuild."""
        if self._first:
            first, second, cause = (
                np.concatenate(item) for item in (self._first, self._second, self._cause)
            )
            self._first, self._second, self._cause = [], [], []
            self._egraph.union_many(first, second, cause)
        self._egraph.rebuild()

    def _insert_chunk(
        self, chunk: Candidates, iteration: int, allowance: int
    ) -> tuple[int, int, int]:
        before = self._egraph.nodes.end
        staged = self._stage(chunk)
        fitting = len(chunk)
        added = self._egraph.nodes.end - before
        if added > allowance:
            self._egraph.rollback()
            by_match = np.cumsum(np.bincount(staged.first_users, minlength=len(chunk)))
            fitting = int(np.searchsorted(by_match, allowance, "right"))
            if fitting == 0:
                return 0, 0, 0
            chunk = chunk.take(np.arange(fitting))
            staged = self._stage(chunk)
        if staged.bad.any():
            self._egraph.rollback()
            chunk = chunk.take(~staged.bad)
            bad = int(staged.bad.sum())
            staged = self._stage(chunk)
        else:
            bad = 0
        self._egraph.commit()
        self._note(chunk, staged, iteration)
        return fitting, self._egraph.nodes.end - before, bad

    def _stage(self, chunk: Candidates) -> _Staged:
        egraph, structure = self._egraph, chunk.structure
        first_instance = len(egraph.instances)
        origin = np.arange(first_instance, first_instance + len(chunk))
        classes = {
            name: egraph.unions.find_many(column)
            for name, column in chunk.matches.columns.items()
            if name[0] not in "$?"
        }
        made: list[IntArray] = []
        before = egraph.nodes.end
        bad = np.zeros(len(chunk), np.bool_)
        for number, refs in enumerate(structure.nodes):
            kids = np.empty((len(chunk), len(refs)), np.int64)
            for position, ref in enumerate(refs):
                kids[:, position] = classes[ref] if isinstance(ref, str) else made[ref]
            found = egraph.stage(chunk.symbols[:, number], kids, origin)
            made.append(found)
            bad |= egraph.ill_typed(found)
        roots = tuple(
            classes[ref] if isinstance(ref, str) else made[ref] for ref in structure.roots
        )
        return _Staged(roots, _first_users(made, before, egraph.nodes.end), bad)

    def _note(self, chunk: Candidates, staged: _Staged, iteration: int) -> None:
        matches = chunk.matches
        classes = {name: item for name, item in matches.columns.items() if name[0] not in "$?"}
        batch = Batch(self._rules[chunk.rule], iteration, matches.rows, classes, len(chunk))
        first = self._egraph.new_instances(batch)
        cause = np.arange(first, first + len(chunk))
        for row, root in zip(matches.rows, staged.roots, strict=True):
            self._first.append(row)
            self._second.append(root)
            self._cause.append(cause)


def _first_users(made: list[IntArray], before: int, end: int) -> IntArray:
    """Return for each staged row the first match that needs it, which need not be the one it came with."""
    first = np.full(end - before, np.iinfo(np.int64).max)
    for found in made:
        match = np.flatnonzero(found >= before)
        np.minimum.at(first, found[match] - before, match)
    return first


def _range(begin: int, count: int, total: int) -> IntArray:
    """Return the positions of at most `count` items from `begin` on."""
    return np.arange(begin, min(begin + count, total))
