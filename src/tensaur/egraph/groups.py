"""Group rules: from matches of one member to matches of whole groups of members, any number at once.

What pairwise merging reaches after k rounds of doubly exponential growth, a group rule reaches in one
step. A group holds the members that agree in everything but the one value in which members differ. It
is offered whole, and in parts that are alike in kind and in type, because a condition may refuse the
whole for one odd member. Members are in order of birth; what a group rule made is no member, so that
a group never feeds on its own product; of two members of one class the older stays, and members that
depend on each other go into different groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensaur.egraph.cycles import Descendants
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.match import Matches
from tensaur.egraph.pattern import member_name
from tensaur.egraph.relations import BoolArray, IntArray, group_rows

# The most members of a group: the oldest ones.
MOST = 128


@dataclass(frozen=True, slots=True)
class Grouper:
    """Makes groups in one view of an e-graph; `products` are the names of group rules."""

    egraph: EGraph
    facts: IntArray
    descendants: Descendants
    products: frozenset[str]

    def groups(self, matches: Matches) -> Iterator[Matches]:
        """Yield the groups of members given as matches, those of equal size together."""
        matches = matches.take(~self._made_by_groups(matches.rows[0]))
        by_size: dict[int, list[IntArray]] = {}
        for members in self._independent(matches, list(self._partitions(matches))):
            by_size.setdefault(len(members), []).append(members)
        for size, groups in sorted(by_size.items()):
            table = np.array(groups)
            once = np.sort(group_rows(list(table.T), len(table)).first)
            yield _as_matches(matches, table[once], size)

    def _partitions(self, matches: Matches) -> Iterator[IntArray]:
        """Yield sets of at least two members, oldest first, from the coarsest to the finest."""
        name = member_name(matches.source)
        shared = [column for other, column in matches.columns.items() if other != name]
        fact = self.facts[matches.columns[name]]
        order = np.argsort(matches.rows[0], kind="stable")
        for extra in ([], [self._kinds(fact)], [fact]):
            group = group_rows([*shared, *extra], len(matches)).group[order]
            by_group = order[np.argsort(group, kind="stable")]
            sizes = np.bincount(group)
            parts = np.split(by_group, np.cumsum(sizes)[:-1])
            yield from (part for part in parts if len(part) > 1)

    def _independent(self, matches: Matches, groups: Sequence[IntArray]) -> Iterator[IntArray]:
        roots, elements = matches.roots[0], matches.columns[member_name(matches.source)]
        distinct = [_first_of_each(roots, group)[:MOST] for group in groups]
        distinct = [group for group in distinct if len(group) > 1]
        none = np.empty(0, np.int64)
        above = [np.repeat(elements[group], len(group)) for group in distinct]
        below = [np.tile(roots[group], len(group)) for group in distinct]
        depends = self.descendants.depends(
            np.concatenate([none, *above]), np.concatenate([none, *below])
        )
        first = 0
        for group in distinct:
            count = len(group) ** 2
            table = depends[first : first + count].reshape(len(group), len(group))
            first += count
            for kept in _independent_sets(table):
                yield group[kept]

    def _kinds(self, facts: IntArray) -> IntArray:
        """Return a number for what is roughly alike: constancy, element type and rank."""
        numbers: dict[object, int] = {}
        table = np.zeros(int(facts.max(initial=0)) + 1, np.int64)
        for number in np.unique(facts).tolist():
            fact = self.egraph.facts[number]
            kind = (fact.constant, fact.dtype, fact.rank) if fact.is_tensor else None
            table[number] = numbers.setdefault(kind, len(numbers))
        result: IntArray = table[facts]
        return result

    def _made_by_groups(self, rows: IntArray) -> BoolArray:
        origin = self.egraph.nodes.origin.view[rows]
        grouped = [
            np.full(batch.count, batch.rule in self.products)
            for batch in self.egraph.instances.batches()
        ]
        by_instance = np.concatenate([np.zeros(0, np.bool_), *grouped])
        result = np.zeros(len(rows), np.bool_)
        made = origin >= 0
        result[made] = by_instance[origin[made]]
        return result


def _first_of_each(roots: IntArray, group: IntArray) -> IntArray:
    _, first = np.unique(roots[group], return_index=True)
    result: IntArray = group[np.sort(first)]
    return result


def _independent_sets(depends: BoolArray) -> Iterator[list[int]]:
    """Split members into sets in which none depends on another; yield those of at least two."""
    left = [member for member in range(len(depends)) if not depends[member, member]]
    while left:
        kept: list[int] = []
        for member in left:
            if not (depends[member, kept].any() or depends[kept, member].any()):
                kept.append(member)
        if len(kept) > 1:
            yield kept
        left = [member for member in left if member not in kept]


def _as_matches(matches: Matches, table: IntArray, size: int) -> Matches:
    """Turn sets of members (rows of `table`) into matches of the rule for that many members."""
    source = matches.source
    name, sequence = member_name(source), source.group
    assert sequence is not None
    first = table[:, 0]
    columns = {other: column[first] for other, column in matches.columns.items() if other != name}
    for position in range(size):
        columns[f"{sequence}.{position}"] = matches.columns[name][table[:, position]]
    lengths: Mapping[str, int] = {sequence: size}
    return Matches(
        replace(source, lengths=lengths, columns=tuple(columns)),
        tuple(matches.roots[0][table[:, position]] for position in range(size)),
        tuple(matches.rows[0][table[:, position]] for position in range(size)),
        columns,
    )
