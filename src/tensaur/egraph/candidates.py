"""From matches to candidates: matches that were not applied yet and whose signature is accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tensaur.egraph.budget import Budget
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.hashing import hash_columns
from tensaur.egraph.match import Matches
from tensaur.egraph.pattern import Source
from tensaur.egraph.record import RuleTally
from tensaur.egraph.relations import BoolArray, IntArray, group_rows, pack_pair
from tensaur.egraph.signature import Plan, Rejection, Signature, Structure, Verdict, judge
from tensaur.ir.rule import Rule
from tensaur.ir.term import Bindings

# Signatures judged between two looks at the clock.
_STRIDE = 32


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
    """Judges matches by signature, remembering verdicts, and remembers which matches were applied.

    A match is remembered by a 60-bit hash of its rule and columns: two of a million matches share one
    with a probability below one in a million, and then one of them is not applied.
    """

    def __init__(self, egraph: EGraph, rules: Sequence[Rule], budget: Budget) -> None:
        self._egraph = egraph
        self._rules = rules
        self._budget = budget
        self._verdicts: dict[tuple[int, ...], Verdict] = {}
        self._applied = [np.empty(0, np.int64) for _ in rules]

    def select(self, matches: Matches, facts: IntArray, tally: RuleTally) -> Iterator[Candidates]:
        """Yield the new and acceptable matches, by structure; count the others in `tally`."""
        rule = matches.source.rule
        if not len(matches):
            return
        tally.matches += len(matches)
        keys = _match_keys(matches)
        new = np.flatnonzero(~_member(keys, self._applied[rule]))
        if not new.size:
            return
        matches, keys = matches.take(new), keys[new]
        verdicts, group = self._judge(matches, facts)
        sizes = np.bincount(group, minlength=len(verdicts)).tolist()
        for verdict, size in zip(verdicts, sizes, strict=True):
            if isinstance(verdict, Rejection):
                tally.rejected[verdict.reason] += size
        accepted = np.array([isinstance(item, Plan) for item in verdicts])[group]
        kept = np.flatnonzero(accepted)
        if matches.source.mirror is not None and kept.size:
            kept = kept[_first_of_mirrored(matches.take(kept))]
        if kept.size:
            yield from _by_structure(matches.take(kept), keys[kept], verdicts, group[kept])

    def applied(self, rule: int, keys: IntArray) -> None:
        """Remember applied matches."""
        both = np.concatenate([self._applied[rule], np.sort(keys)])
        self._applied[rule] = np.sort(both, kind="stable")  # merges two sorted runs

    def _judge(self, matches: Matches, facts: IntArray) -> tuple[list[Verdict], IntArray]:
        names = tuple(matches.columns)
        columns = [
            column if name[0] in "$?" else facts[column] for name, column in matches.columns.items()
        ]
        columns += [facts[root] for root in matches.roots]
        grouping = group_rows(columns, len(matches))
        verdicts: list[Verdict] = []
        source = matches.source
        head = (source.rule, *source.lengths.values())
        for number, at in enumerate(grouping.first.tolist()):
            if number % _STRIDE == 0:
                self._budget.check()
            values = tuple(int(column[at]) for column in columns)
            verdict = self._verdicts.get((*head, *values))
            if verdict is None:
                signature = self._signature(source, names, values)
                verdict = judge(self._rule_of(source), signature, self._egraph.symbols)
                self._verdicts[(*head, *values)] = verdict
            verdicts.append(verdict)
        return verdicts, grouping.group

    def _rule_of(self, source: Source) -> Rule:
        rule = self._rules[source.rule]
        return rule if source.group is None else rule.instance(source.lengths[source.group])

    def _signature(self, source: Source, names: Sequence[str], values: Sequence[int]) -> Signature:
        facts, symbols = self._egraph.facts, self._egraph.symbols
        bound = dict(zip(names, values, strict=False))
        bindings = Bindings(
            facts={name: facts[i] for name, i in bound.items() if name[0] not in "$?"},
            attrs={name[1:]: symbols.values[i] for name, i in bound.items() if name[0] == "$"},
            ops={name[1:]: symbols.operators[i] for name, i in bound.items() if name[0] == "?"},
            lengths=source.lengths,
        )
        return Signature(bindings, tuple(facts[item] for item in values[len(names) :]))


def _match_keys(matches: Matches) -> IntArray:
    head = np.full(len(matches), matches.source.rule)
    return hash_columns(head, [*matches.columns.values(), *matches.roots])


def _member(keys: IntArray, of: IntArray) -> BoolArray:
    if not of.size:
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(of, keys), len(of) - 1)
    result: BoolArray = of[at] == keys
    return result


def _first_of_mirrored(matches: Matches) -> IntArray:
    """Return one of every two matches of a symmetric multi-pattern that differ only in order.

    Done after judging: where a condition holds for one order only, that one stays.
    """
    mirror = matches.source.mirror
    assert mirror is not None
    columns = matches.columns
    keys, mirrored = pack_pair(
        [*columns.values(), *matches.roots],
        [*(columns[mirror[name]] for name in columns), *reversed(matches.roots)],
    )
    return np.flatnonzero((keys <= mirrored) | ~np.isin(mirrored, keys))


def _by_structure(
    matches: Matches, keys: IntArray, verdicts: Sequence[Verdict], group: IntArray
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
