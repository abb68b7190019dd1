"""Groups of e-nodes that the target runtime computes together, as options with prices of their own.

Groups grow by one operator at a time, twice: a pair, then three. Whether an operator joins a group is
asked of a few representatives of every kind (operators, position, ranks and constants among the inputs);
where they disagree, of all. Longer groups are those that the runtime makes of the original itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tensaur.cost.model import is_view, runs
from tensaur.cost.query import Fuses, Joint, Query
from tensaur.egraph.unions import LOADED
from tensaur.extract.option import ENodes, Option
from tensaur.ir.types import TensorType

Makers = Mapping[int, Sequence[Option]]

# How many fused groups one e-node may start: enough for every producer in ordinary graphs.
GROUPS_PER_ROW = 8
# How often a group grows: Conv, then Add, then Relu.
_GROWTH = 2


class _Pair(NamedTuple):
    """An operator that may join a group: options, the classes it reads beside, and the kind of both."""

    outer: Option
    inner: Option
    rest: tuple[int, ...]
    kind: Hashable

    @property
    def rows(self) -> tuple[int, ...]:
        return (*self.inner.rows, *self.outer.rows)


@dataclass
class Grouping:
    """Makes groups of single operators; `singles` are their options by class.

    `number` gives the number of the query for some rows, `queries` the queries by number.
    """

    nodes: ENodes
    singles: Makers
    fuses: Fuses
    number: Callable[[tuple[int, ...]], int | None]
    queries: Sequence[Query]
    _kinds: dict[int, Hashable] = field(default_factory=dict)

    def grown(self) -> list[Option]:
        """Return the groups of two, then those of three."""
        found: list[Option] = []
        makers = self.singles
        for _ in range(_GROWTH):
            grown: dict[int, list[Option]] = {}
            for group in self._joined(makers):
                grown.setdefault(group.cls, []).append(group)
            found += [group for groups in grown.values() for group in groups]
            makers = grown
        return found

    def whole(self, names: Sequence[str]) -> Option | None:
        """Return the group of the original's operators that make these values, None if there is none.

        Only its last value may be read by other operators of the original.
        """
        rows = tuple(self._loaded[name] for name in names if name in self._loaded)
        classes = [self.nodes.cls(row) for row in rows]
        inner = set(classes[:-1])
        if len(rows) < 2 or len(set(classes)) < len(rows):
            return None
        if any(not self._readers.get(cls, set()) <= set(rows) for cls in inner):
            return None
        read = dict.fromkeys(child for row in rows for child in self.nodes.children[row])
        children = tuple(child for child in read if child not in inner)
        if classes[-1] in children or not inner <= read.keys():
            return None
        query = self.number(rows)
        return None if query is None else Option(classes[-1], rows, children, query, 0, True)

    def _joined(self, makers: Makers) -> Iterator[Option]:
        started: Counter[int] = Counter()
        for pair in self._fused(list(self._pairs(makers))):
            (row,) = pair.outer.rows
            query = self.number(pair.rows) if started[row] < GROUPS_PER_ROW else None
            if query is not None:
                started[row] += 1
                children = tuple(dict.fromkeys((*pair.inner.children, *pair.rest)))
                loaded = pair.inner.loaded and pair.outer.loaded
                yield Option(pair.outer.cls, pair.rows, children, query, 0, loaded)

    def _pairs(self, makers: Makers) -> Iterator[_Pair]:
        groups = {
            cls: [(self._kind_of(inner), inner) for inner in some if inner.query >= 0]
            for cls, some in makers.items()
            if not self.nodes.egraph.fact(cls).constant
        }
        for outer in (option for some in self.singles.values() for option in some):
            # Merging two changes of the shape spares no work.
            if outer.query < 0 or is_view(self.nodes.operator(outer.rows[0])):
                continue
            for position, child in enumerate(outer.children):
                rest = outer.children[:position] + outer.children[position + 1 :]
                if child not in groups or child in rest:
                    continue
                symbol = int(self.nodes.rows.symbol[outer.rows[0]])
                around = (symbol, position, tuple(map(self._class_kind, rest)))
                for kind, inner in groups[child]:
                    if outer.cls not in inner.children and child not in inner.children:
                        yield _Pair(outer, inner, rest, (kind, around))

    def _fused(self, pairs: Sequence[_Pair]) -> list[_Pair]:
        """Return the pairs that the runtime computes together, in their order."""
        by_kind: dict[Hashable, list[_Pair]] = {}
        for pair in pairs:
            by_kind.setdefault(pair.kind, []).append(pair)
        # The first and the last of a kind are likely to differ the most.
        samples = {kind: (some[0], some[-1]) for kind, some in by_kind.items()}
        asked = iter(self._ask([pair for some in samples.values() for pair in some]))
        answers = {kind: {next(asked) for _ in some} for kind, some in samples.items()}
        mixed = [pair for pair in pairs if len(answers[pair.kind]) == 2]
        single = {id(pair): answer for pair, answer in zip(mixed, self._ask(mixed), strict=True)}
        return [pair for pair in pairs if single.get(id(pair), True in answers[pair.kind])]

    def _ask(self, pairs: Sequence[_Pair]) -> Sequence[bool]:
        if not pairs:
            return ()
        return self.fuses(
            [
                Joint(
                    self.queries[pair.inner.query],
                    self.queries[pair.outer.query],
                    self.nodes.query(pair.rows),
                )
                for pair in pairs
            ]
        )

    def _kind_of(self, option: Option) -> Hashable:
        symbols = tuple(int(self.nodes.rows.symbol[row]) for row in option.rows)
        return symbols, tuple(map(self._class_kind, option.children))

    def _class_kind(self, cls: int) -> Hashable:
        """Return what of a value may decide about fusion, beside sizes: which sizes are 1, constants, literals."""
        if cls not in self._kinds:
            fact = self.nodes.egraph.fact(cls)
            kind: Hashable = None
            if isinstance(fact.type, TensorType):
                shape = fact.type.shape
                ones = None if shape is None else tuple(dim == 1 for dim in shape)
                kind = (fact.type.dtype, ones, fact.constant, fact.value is not None)
            self._kinds[cls] = kind
        return self._kinds[cls]

    @cached_property
    def _loaded(self) -> dict[str, int]:
        """Return the original's operators that run and make one tensor, by the value's name."""
        nodes = self.nodes
        return {
            name: row
            for row, name in nodes.egraph.names.items()
            if nodes.rows.origin[row] == LOADED
            and not nodes.rows.banned[row]
            and runs(nodes.operator(row))
            and nodes.egraph.fact(nodes.cls(row)).is_tensor
        }

    @cached_property
    def _readers(self) -> dict[int, set[int]]:
        """Return the original's e-nodes that read each class."""
        readers: dict[int, set[int]] = {}
        for row in np.flatnonzero(self.nodes.rows.origin == LOADED).tolist():
            for child in self.nodes.children[row]:
                readers.setdefault(child, set()).add(row)
        return readers
