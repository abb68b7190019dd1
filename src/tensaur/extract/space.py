"""The choices that extraction has: one option per e-node, per folded constant and per fused group.

Turns an explored e-graph into a `Problem` (arrays) under given prices, and a `Solution` back into
options. Prices are asked for once per distinct query; a query is a small graph, so that one operator
and a group that the runtime fuses are priced the same way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tensaur.cost.canonical import stand_in
from tensaur.cost.model import runs
from tensaur.egraph.egraph import EGraph, Rows
from tensaur.egraph.unions import LOADED
from tensaur.errors import TypeMismatch
from tensaur.extract.fold import Folder
from tensaur.extract.problem import Problem, Solution
from tensaur.ir.graph import ConstantData, Graph, GraphBuilder, Output
from tensaur.ir.operator import (
    Literal,
    Operator,
    Weight,
    type_nbytes,
)
from tensaur.ir.types import Fact

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# What writing a node costs beside its price, in units too small to outweigh any price: of equally cheap
# forms the shorter one wins, and of equally short ones the original's.
LOADED_NODE, NEW_NODE = 2, 3
TIE_SCALE = 1 << 10
# Fractional prices are scaled up until all together come to this.
FINE_TOTAL = 1 << 24
# Above this the prices themselves are large enough for single units not to matter.
SCALED_LIMIT = 1 << 40

# How many fused groups one e-node may start: enough for every producer in ordinary graphs.
GROUPS_PER_ROW = 8


@dataclass(frozen=True, slots=True)
class Option:
    """One way to obtain the value of class `cls`.

    `rows` are the e-nodes computed, the one whose value it is last; empty means: folded into a constant.
    `children` are the classes read. `query` indexes the price list, -1 for what costs nothing; `nbytes`
    is what the option adds to the file. `loaded` tells that every row is of the original graph.
    """

    cls: int
    rows: tuple[int, ...]
    children: tuple[int, ...]
    query: int
    nbytes: int
    loaded: bool


@dataclass(frozen=True, slots=True)
class _Signature:
    """What makes two options cost the same: operators, wiring, and the facts of what is read.

    `wiring` holds, for each row, its inputs: a position >= 0 in `facts`, or -k for the k-th row.
    """

    ops: tuple[Operator, ...]
    wiring: tuple[tuple[int, ...], ...]
    facts: tuple[Fact, ...]


@dataclass
class Space:
    """All options for the classes below `root`.

    `fuses(inner operators, outer operator)` tells whether the target runtime computes an operator
    together with the group that makes its input, `writes(operator, inputs, output)` whether the result's
    format has the operator. `unfoldable` are classes found not to be computable before run time.
    `byte_price` is what a byte of constants in the file costs, beside what the operators do.
    """

    egraph: EGraph
    root: int
    constants: Mapping[str, ConstantData]
    fuses: Callable[[tuple[Operator, ...], Operator], bool]
    writes: Callable[[Operator, Sequence[Fact], Fact], bool] = lambda op, inputs, output: True
    unfoldable: frozenset[int] = frozenset()
    byte_price: float = 0
    options: list[Option] = field(default_factory=list)
    signatures: list[_Signature] = field(default_factory=list)
    _known: dict[_Signature, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = self.egraph.rows()
        self.children = child_tuples(self.rows)
        self.folder = Folder(self.egraph, self.rows, self.children, self.constants, self.unfoldable)
        self.root = int(self.egraph.find(self.root))
        live = np.flatnonzero(~self.rows.banned)
        by_class: dict[int, list[Option]] = {}
        for row in live.tolist():
            option = self._single(row)
            if option.loaded or not (self._must_fold(option) or self._unwritable(option)):
                by_class.setdefault(option.cls, []).append(option)
        self.options = [option for options in by_class.values() for option in options]
        self.options += self._folded()
        self._add_groups(by_class)

    @cached_property
    def names(self) -> dict[int, str]:
        """Return the name that the original graph has for a class's value, by class."""
        names: dict[int, str] = {}
        for row in sorted(self.egraph.names):
            names.setdefault(self.egraph.find(row), self.egraph.names[row])
        return names

    @property
    def loaded_nbytes(self) -> int:
        """Return the bytes of constants in the original graph."""
        return sum(option.nbytes for option in self.options if option.loaded)

    @cached_property
    def queries(self) -> list[Graph]:
        """Return the small graph that each query number stands for."""
        return [_query_graph(signature) for signature in self.signatures]

    def problem(
        self,
        prices: FloatArray,
        refused: BoolArray,
        budget: int | None,
        *,
        loaded_only: bool = False,
        bias: float = 0.0,
    ) -> Problem:
        """Return the extraction problem under the given price per query.

        New options whose query is refused are left out. `budget` bounds the bytes of constants in the
        file. `bias` makes every option that the original graph does not have dearer by that fraction.
        Costs are in `scale` parts of the prices' unit, and a little more for every node.
        """
        query = self._query_of
        loaded = np.array([option.loaded for option in self.options], dtype=bool)
        folded = np.array([not option.rows for option in self.options], dtype=bool)
        # What has no query, and so the number -1, is never refused and costs nothing.
        usable = loaded | (folded if loaded_only else ~np.append(refused, False)[query])
        tag = np.flatnonzero(usable)
        paid = self._paid(prices) * np.where(loaded, 1.0, 1.0 + bias)
        node = np.where(loaded, LOADED_NODE, NEW_NODE) * (query >= 0)
        cost = np.ceil(paid * self.scale(prices)).astype(np.int64) + node
        children = [self.options[at].children for at in tag.tolist()]
        lengths = np.array([len(item) for item in children], dtype=np.int64)
        return Problem(
            node_class=np.array([option.cls for option in self.options], dtype=np.int64)[tag],
            child_start=np.concatenate([[0], np.cumsum(lengths)]),
            child=np.array([cls for item in children for cls in item], dtype=np.int64),
            cost=cost[tag],
            size=self._nbytes[tag],
            root=self.root,
            class_count=len(self.egraph.fact_of),
            size_budget=budget,
            tag=tag,
        )

    def knowing(self, problem: Problem, part: Problem, solution: Solution) -> Problem:
        """Return the problem with a solution of a part of it as the solution that is known."""
        known = np.full(problem.class_count, -1, dtype=np.int64)
        needed = solution.chosen >= 0
        known[needed] = np.searchsorted(problem.tag, part.tag[solution.chosen[needed]])
        return replace(problem, known=known)

    def scale(self, prices: FloatArray) -> int:
        """Return by what prices are multiplied in the problems made under them."""
        paid = self._paid(prices)
        total = float(paid.sum())
        if not total or total * TIE_SCALE >= SCALED_LIMIT:
            return 1
        if np.any(paid % 1) and total * TIE_SCALE < FINE_TOTAL:
            return 1 << math.ceil(math.log2(FINE_TOTAL / total))
        return TIE_SCALE

    def price(self, picked: dict[int, Option], prices: FloatArray) -> float:
        """Return the sum of the prices of chosen options, an integer if it is whole."""
        paid = [prices[option.query] for option in picked.values() if option.query >= 0]
        paid += [self.byte_price * option.nbytes for option in picked.values()]
        # Sums that differ by rounding alone are equal.
        total = float(f"{math.fsum(paid):.12g}")
        return int(total) if total.is_integer() else total

    def picked(self, problem: Problem, solution: Solution) -> dict[int, Option]:
        """Return the chosen option of every class that the solution needs."""
        return {
            cls: self.options[int(problem.tag[row])]
            for cls, row in enumerate(solution.chosen.tolist())
            if row >= 0
        }

    def operator(self, row: int) -> Operator:
        """Return the operator of an e-node."""
        return self.egraph.operators[int(self.rows.symbol[row])]

    def _paid(self, prices: FloatArray) -> FloatArray:
        """Return what every option costs: its operators, and the bytes that it adds to the file."""
        paid: FloatArray = np.append(prices, 0.0)[self._query_of] + self.byte_price * self._nbytes
        return paid

    @cached_property
    def _nbytes(self) -> NDArray[np.int64]:
        return np.array([option.nbytes for option in self.options], dtype=np.int64)

    @cached_property
    def _query_of(self) -> NDArray[np.int64]:
        return np.array([option.query for option in self.options], dtype=np.int64)

    def _single(self, row: int) -> Option:
        op = self.operator(row)
        children = self.children[row]
        cls = int(self.rows.cls[row])
        loaded = bool(self.rows.origin[row] == LOADED)
        nbytes = _stored_nbytes(op)
        if not runs(op):
            return Option(cls, (row,), children, -1, nbytes, loaded)
        query = self._query((row,))
        assert query is not None, "single operators are always priced"
        return Option(cls, (row,), children, query, nbytes, loaded)

    def _must_fold(self, option: Option) -> bool:
        # A new expression over constants would be computed at every load, in memory that no budget
        # counts; so where it can be folded it is offered as a folded constant only.
        cls = option.cls
        return option.query >= 0 and cls in self.folder.choice and not self.folder.is_leaf(cls)

    def _unwritable(self, option: Option) -> bool:
        if option.query < 0:
            return False
        op, signature = self.operator(option.rows[0]), self.signatures[option.query]
        inputs = [signature.facts[place] for place in signature.wiring[0]]
        return not self.writes(op, inputs, self.egraph.fact(option.cls))

    def _folded(self) -> Iterator[Option]:
        for cls in self.folder.choice:
            if self.egraph.fact(cls).is_tensor and not self.folder.is_leaf(cls):
                yield Option(cls, (), (), -1, self.folder.nbytes(cls), False)

    def _add_groups(self, by_class: dict[int, list[Option]]) -> None:
        makers = by_class
        for _ in range(2):  # a pair, then a group of three, such as Conv + Add + Relu
            grown: dict[int, list[Option]] = {}
            for options in by_class.values():
                for option in options:
                    for group in self._groups(option, makers):
                        grown.setdefault(group.cls, []).append(group)
            self.options += [group for groups in grown.values() for group in groups]
            makers = grown

    def _groups(self, outer: Option, makers: dict[int, list[Option]]) -> Iterator[Option]:
        if outer.query < 0:
            return
        op, started = self.operator(outer.rows[0]), 0
        for position, child in enumerate(outer.children):
            for inner in makers.get(child, ()):
                if inner.query < 0 or not self._fusable(inner, op):
                    continue
                rest = outer.children[:position] + outer.children[position + 1 :]
                if outer.cls in inner.children or child in rest or child in inner.children:
                    continue
                rows = (*inner.rows, *outer.rows)
                query = self._query(rows)
                if query is None:
                    continue
                children = tuple(dict.fromkeys((*inner.children, *rest)))
                loaded = inner.loaded and outer.loaded
                yield Option(outer.cls, rows, children, query, 0, loaded)
                started += 1
                if started == GROUPS_PER_ROW:
                    return

    def _fusable(self, inner: Option, outer: Operator) -> bool:
        if self.egraph.fact(inner.cls).constant:
            return False
        return self.fuses(tuple(self.operator(row) for row in inner.rows), outer)

    def _query(self, rows: tuple[int, ...]) -> int | None:
        """Return the number of the query for these rows; None for a group that cannot be priced."""
        positions: dict[int, int] = {}
        inner: dict[int, int] = {}
        facts: list[Fact] = []
        wiring = []
        for number, row in enumerate(rows, start=1):
            places = []
            for child in self.children[row]:
                if child in inner:
                    places.append(-inner[child])
                    continue
                if child not in positions:
                    positions[child] = len(facts)
                    facts.append(self.egraph.fact(child))
                places.append(positions[child])
            wiring.append(tuple(places))
            inner[int(self.rows.cls[row])] = number
        ops = tuple(self.operator(row) for row in rows)
        signature = _Signature(ops, tuple(wiring), tuple(facts))
        if signature not in self._known:
            self._known[signature] = self._number(signature)
        return self._known[signature]

    def _number(self, signature: _Signature) -> int | None:
        if len(signature.ops) > 1:
            try:
                _ = _query_graph(signature).facts
            except TypeMismatch:  # the e-graph knows more of the inner value than inference does
                return None
        self.signatures.append(signature)
        return len(self.signatures) - 1


def child_tuples(rows: Rows) -> list[tuple[int, ...]]:
    """Return the child classes of every row."""
    starts, child = rows.child_start.tolist(), rows.child.tolist()
    return [tuple(child[a:b]) for a, b in itertools.pairwise(starts)]


def _stored_nbytes(op: Operator) -> int:
    if isinstance(op, Weight):
        nbytes = type_nbytes(op.type)
    elif isinstance(op, Literal):
        nbytes = type_nbytes(op.value.type)
    else:
        return 0
    assert isinstance(nbytes, int), "constants have integer shapes"
    return nbytes


def _query_graph(signature: _Signature) -> Graph:
    builder = GraphBuilder()
    leaves = [
        builder.add(stand_in(fact, f"x{i}"), (), f"x{i}") for i, fact in enumerate(signature.facts)
    ]
    made: list[int] = []
    for op, wiring in zip(signature.ops, signature.wiring, strict=True):
        inputs = [leaves[place] if place >= 0 else made[-place - 1] for place in wiring]
        made.append(builder.add(op, inputs, f"y{len(made)}"))
    return builder.build([Output("y", made[-1])])


def used_queries(options: Iterable[Option]) -> list[int]:
    """Return the distinct query numbers of some options, in order."""
    return sorted({option.query for option in options if option.query >= 0})
