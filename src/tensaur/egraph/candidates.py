"""From matches to candidates: matches that were not applied yet and that are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensaur.egraph.budget import Budget
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.hashing import hash_columns
from tensaur.egraph.judging import Answer, Judge
from tensaur.egraph.match import Matches
from tensaur.egraph.record import RuleTally
from tensaur.egraph.relations import BoolArray, IntArray, pack_pair
from tensaur.egraph.signature import Plan, Structure
from tensaur.egraph.table import KeySet
from tensaur.ir.rule import Rule


@dataclass(frozen=True, slots=True)
class Candidates:
    """Accepted matches of one rule whose made trees have one structure; operators by match and node."""

    rule: int
    structure: Structure
    matches: Matches
    symbols: IntArray
    keys: IntArray

    def __len__(self) -> int:
        return len(self.matches)

    @property
    def demand(self) -> int:
        """Return the most nodes that applying all of them can add."""
        return len(self) * len(self.structure.nodes)

    def take(self, at: IntArray | BoolArray) -> Candidates:
        """Return a selection."""
        return Candidates(
            self.rule, self.structure, self.matches.take(at), self.symbols[at], self.keys[at]
        )

    def oldest_first(self) -> Candidates:
        """Return the candidates in the order of their newest row."""
        newest = np.maximum.reduce(self.matches.rows)
        return self.take(np.argsort(newest, kind="stable"))


class Selector:
    """Takes the matches that were not applied yet and that are accepted.

    A match is remembered by a 60-bit hash of its rule and columns: two of a million matches share one
    with a probability below one in a million, and then one of them is not applied.
    """

    def __init__(self, egraph: EGraph, rules: Sequence[Rule], budget: Budget) -> None:
        self._judge = Judge(egraph, rules, budget)
        self._applied = [KeySet() for _ in rules]

    def select(
        self, matches: Matches, facts: IntArray, tally: RuleTally, enough: int
    ) -> Iterator[Candidates]:
        """Yield the new and acceptable matches, by structure; count the others in `tally`.

        When those yielded can add `enough` nodes, the rest is left for another iteration.
        """
        if not len(matches):
            return
        tally.matches += len(matches)
        keys = _match_keys(matches)
        new = np.flatnonzero(~self._applied[matches.source.rule].contains(keys))
        if not new.size:
            return
        judged = self._judge.judge(matches.take(new), facts, tally, enough)
        kept, group = new[judged.kept], judged.group
        if matches.source.mirror is not None and kept.size:
            first = _first_of_mirrored(matches.take(kept))
            kept, group = kept[first], group[first]
        if kept.size:
            yield from _by_structure(matches.take(kept), keys[kept], judged.plans, group)

    def applied(self, candidates: Candidates) -> None:
        """Remember applied matches; those of a symmetric multi-pattern are done in both orders."""
        keys, matches = candidates.keys, candidates.matches
        if matches.source.mirror is not None:
            keys = np.concatenate([keys, _hash(matches, _mirrored(matches))])
        self._applied[candidates.rule].add(keys)


def _match_keys(matches: Matches) -> IntArray:
    return _hash(matches, _identity(matches))


def _hash(matches: Matches, identity: list[IntArray]) -> IntArray:
    return hash_columns(np.full(len(matches), matches.source.rule), identity)


def _identity(matches: Matches) -> list[IntArray]:
    return [*matches.columns.values(), *matches.roots]


def _mirrored(matches: Matches) -> list[IntArray]:
    """Return the columns of the same matches with their two terms in the other order."""
    mirror, columns = matches.source.mirror, matches.columns
    assert mirror is not None
    return [*(columns[mirror[name]] for name in columns), *reversed(matches.roots)]


def _first_of_mirrored(matches: Matches) -> IntArray:
    """Return one of every two matches of a symmetric multi-pattern that differ only in order.

    Done after judging: where a condition holds for one order only, that one stays.
    """
    keys, mirrored = pack_pair(_identity(matches), _mirrored(matches))
    # No two matches are the same, nor are any two mirrored ones.
    return np.flatnonzero((keys <= mirrored) | ~np.isin(mirrored, keys, assume_unique=True))


def _by_structure(
    matches: Matches, keys: IntArray, verdicts: Sequence[Answer], group: IntArray
) -> Iterator[Candidates]:
    structures: dict[Structure, list[int]] = {}
    for number, verdict in enumerate(verdicts):
        if isinstance(verdict, Plan):
            structures.setdefault(verdict.structure, []).append(number)
    for structure, members in structures.items():
        symbols = np.zeros((len(verdicts), len(structure.nodes)), np.int64)
        for number in members:
            verdict = verdicts[number]
            assert isinstance(verdict, Plan)
            symbols[number] = verdict.symbols
        at = np.flatnonzero(np.isin(group, members))
        if at.size:
            yield Candidates(
                matches.source.rule, structure, matches.take(at), symbols[group[at]], keys[at]
            )
