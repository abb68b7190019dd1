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

from tensaur.cost.model import runs
from tensaur.cost.query import Fuses, Query
from tensaur.egraph.egraph import EGraph, Rows
from tensaur.egraph.unions import LOADED
from tensaur.errors import TypeMismatch
from tensaur.extract.fold import Folder
from tensaur.extract.groups import Grouping
from tensaur.extract.option import ENodes, Option
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.unavoidable import avoidable
from tensaur.ir.graph import ConstantData, Graph
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


@dataclass
class Space:
    """All options for the classes below `root`.

    `fuses` tells of operators whether the target runtime computes each together with the group that makes
    its input, and `together` which values of the original it computes at once; `writes(operator, inputs,
    output)` tells whether the result's format has the operator. `unfoldable` are classes found not to be
    computable before run time.
    `byte_price` is what a byte of constants in the file costs, beside what the operators do.
    """

    egraph: EGraph
    root: int
    constants: Mapping[str, ConstantData]
    fuses: Fuses
    writes: Callable[[Operator, Sequence[Fact], Fact], bool] = lambda op, inputs, output: True
    unfoldable: frozenset[int] = frozenset()
    together: Sequence[Sequence[str]] = ()
    byte_price: float = 0
    options: list[Option] = field(default_factory=list)
    signatures: list[Query] = field(default_factory=list)
    _known: dict[Query, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = self.egraph.rows()
        self.children = child_tuples(self.rows)
        self.nodes = ENodes(self.egraph, self.rows, self.children)
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
        self.options = avoidable(self.options, self.root)

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
        return [signature.graph() for signature in self.signatures]

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
        # In floating point: `Problem` is to see, and refuse, what is not a number or not finite.
        cost = np.ceil(paid * self.scale(prices)) + node
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

    def _add_groups(self, by_class: Mapping[int, Sequence[Option]]) -> None:
        grouping = Grouping(self.nodes, by_class, self.fuses, self._query, self.signatures)
        self.options += grouping.grown()
        known = {frozenset(option.rows) for option in self.options}
        for names in self.together:
            group = grouping.whole(names)
            if group is not None and frozenset(group.rows) not in known:
                self.options.append(group)

    def _query(self, rows: tuple[int, ...]) -> int | None:
        """Return the number of the query for these rows; None for a group that cannot be priced."""
        signature = self.nodes.query(rows)
        if signature not in self._known:
            self._known[signature] = self._number(signature)
        return self._known[signature]

    def _number(self, signature: Query) -> int | None:
        if len(signature.ops) > 1:
            try:
                _ = signature.graph().facts
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


def used_queries(options: Iterable[Option]) -> list[int]:
    """Return the distinct query numbers of some options, in order."""
    return sorted({option.query for option in options if option.query >= 0})
