"""What provenance costs: exploring as it is against exploring with nothing kept that serves it alone.

What is switched off: the children that rows were born with, the instances of rules, the log of unions,
and the spanning forest that picks what is logged. What stays: the column of origins, by which the cycle
filter tells loaded rows, and the numbers of instances on their way to where they would be kept. Does not
work with group rules, which ask the instances what they made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from benchmarks.exploring import Case, Run, explore
from tensaur.egraph import unions
from tensaur.egraph.classes import Classes
from tensaur.egraph.columns import Column, NodeTable
from tensaur.egraph.provenance import Batch, Instances
from tensaur.egraph.relations import IntArray
from tensaur.egraph.unions import LOADED, Merge, Union, Unions
from tensaur.errors import RuntimeFailure


@dataclass(frozen=True, slots=True)
class Overhead:
    """The least seconds of exploring with and without provenance, of `rounds` of each, interleaved."""

    nodes: int
    kept: float
    dropped: float
    rounds: int

    @property
    def percent(self) -> float:
        """Return how much longer exploring takes with provenance."""
        return 100 * (self.kept / self.dropped - 1)


def overhead(case: Case) -> Overhead:
    """Explore in turns with and without provenance; RuntimeFailure if the e-graphs differ."""
    graph, rules = case.build(), case.rule_set()
    kept: list[float] = []
    dropped: list[float] = []
    for number in range(case.runs + 1):
        run = explore(case, graph, rules)
        with without_provenance():
            bare = explore(case, graph, rules)
        if _outline(run) != _outline(bare):
            raise RuntimeFailure(
                f"without provenance there are other e-nodes, classes and bans: "
                f"{_outline(bare)} instead of {_outline(run)}"
            )
        if number:  # the first round only warms up
            kept.append(run.seconds)
            dropped.append(bare.seconds)
    return Overhead(run.egraph.node_count, min(kept), min(dropped), case.runs)


@contextmanager
def without_provenance() -> Iterator[None]:
    """Let e-graphs that are made and explored meanwhile keep nothing that serves provenance alone."""
    with ExitStack() as stack:
        for owner, name, replacement in (
            (NodeTable, "__init__", _make_table),
            (Instances, "extend", _count),
            (Unions, "merge", _merge),
            (unions, "spanning_forest", _no_forest),
            (Classes, "_example", _no_example),
        ):
            stack.enter_context(patch.object(owner, name, replacement))
        yield


class _Nothing(Column):
    """A column that stays empty."""

    __slots__ = ()

    def extend(self, values: npt.ArrayLike, count: int) -> None:
        """Keep nothing."""

    def append(self, value: int) -> None:
        """Keep nothing."""

    def resize(self, size: int) -> None:
        """Keep nothing."""


_make_table_as_it_is = NodeTable.__init__


def _make_table(table: NodeTable) -> None:
    _make_table_as_it_is(table)
    table.birth_kids = _Nothing()


def _count(instances: Instances, batch: Batch) -> int:
    first = instances._size
    instances._size += batch.count
    return first


def _merge(
    joined: Unions, merge: Merge, first: IntArray, second: IntArray, cause: IntArray
) -> None:
    joined.parent.view[merge.members] = merge.roots[merge.group]
    # The explorer tells by the length of the log whether anything was joined.
    joined.first.size += len(merge.members) - len(merge.roots)


def _no_forest(first: IntArray, second: IntArray, size: int) -> IntArray:
    return np.empty(0, np.int64)


def _no_example(*_: object) -> Union:
    """Stand in for the union that an error message would name."""
    return Union(0, 0, LOADED)


def _outline(run: Run) -> tuple[int, int, int]:
    return run.egraph.node_count, run.egraph.class_count, run.egraph.banned_count
