"""EGraph: e-nodes, their classes and facts, in integer columns. Matching and rules are elsewhere.

The design follows egg (Willsey et al., POPL 2021: deferred rebuilding, class data) with columns for
objects, so that a whole iteration's insertions, unions and congruences are a few array operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from tensaur.egraph import explain
from tensaur.egraph.classes import Classes, Contradiction
from tensaur.egraph.columns import NodeTable
from tensaur.egraph.provenance import Batch, Instances
from tensaur.egraph.relations import BoolArray, IntArray
from tensaur.egraph.symbols import Symbols
from tensaur.egraph.unions import CONGRUENCE, FOLDED, LOADED, Union
from tensaur.errors import TypeMismatch, UnsoundRule
from tensaur.ir.graph import Graph, Node
from tensaur.ir.operator import Operator, Root
from tensaur.ir.term import Tree, Var
from tensaur.ir.types import Fact


@dataclass(frozen=True, slots=True)
class Rows:
    """The live e-nodes by column, in order of birth; class numbers are canonical and not contiguous.

    The children of node i are `child[child_start[i] : child_start[i + 1]]`. `row` is the node's number
    in the e-graph, which is also its `birth`, and a class has the number of its oldest row. `origin` is
    the rule instance that made the row, or `LOADED` or `FOLDED`.
    """

    symbol: IntArray
    cls: IntArray
    child_start: IntArray
    child: IntArray
    birth: IntArray
    banned: BoolArray
    origin: IntArray
    row: IntArray

    def __len__(self) -> int:
        return len(self.row)


class EGraph:
    """A set of e-nodes partitioned into classes of equal value, closed under congruence by `rebuild`.

    After `rebuild`: no two live rows have the same operator and the same child classes; every class
    holds the meet of what its rows say of its value; a class whose value is known has a literal row.
    Between rebuilds, `find` is right but equal nodes may stand apart. The oldest row of a class is never
    banned, and the children of an oldest row have older oldest rows: hence every class can always be
    extracted. Rows are never removed: a congruent duplicate is only no longer live.
    """

    def __init__(self) -> None:
        self.symbols = Symbols()
        self.nodes = NodeTable()
        self.classes = Classes(self.symbols)
        self.unions = self.classes.unions
        self.instances = Instances()
        self.names: dict[int, str] = {}
        self.node_limit: int | None = None

    # --- looking -----------------------------------------------------------------------------------

    @property
    def operators(self) -> list[Operator]:
        """Return the operators by symbol."""
        return self.symbols.operators

    @property
    def facts(self) -> list[Fact]:
        """Return the facts by fact number."""
        return self.classes.facts.facts

    @property
    def fact_of(self) -> IntArray:
        """Return the number of the fact by class (of its canonical class for every other)."""
        result: IntArray = self.classes.fact.view[self.unions.compress()]
        return result

    @property
    def node_count(self) -> int:
        """Return the number of live rows, banned ones included."""
        return self.nodes.live

    @property
    def class_count(self) -> int:
        """Return the number of classes."""
        parent = self.unions.parent.view
        return int(np.count_nonzero(parent == np.arange(len(parent))))

    @property
    def banned_count(self) -> int:
        """Return the number of live rows that the cycle filter has banned."""
        return int(np.count_nonzero(self.nodes.alive.view & self.nodes.banned.view))

    def find(self, cls: int) -> int:
        """Return the canonical class of a class or row."""
        return self.unions.find(cls)

    def fact(self, cls: int) -> Fact:
        """Return what is known of the value of a class."""
        return self.facts[int(self.classes.fact.view[self.find(cls)])]

    def rows(self) -> Rows:
        """Return the live rows as columns."""
        nodes = self.nodes
        row = np.flatnonzero(nodes.alive.view)
        starts = np.zeros(len(row) + 1, np.int64)
        np.cumsum(nodes.arity.view[row], out=starts[1:])
        return Rows(
            symbol=nodes.symbol.view[row],
            cls=self.unions.find_many(row),
            child_start=starts,
            child=self.unions.find_many(nodes.kids.view[nodes.edges_of(row)]),
            birth=row,
            banned=nodes.banned.view[row].astype(np.bool_),
            origin=nodes.origin.view[row],
            row=row,
        )

    def lookup(self, term: Tree | Graph) -> int | None:
        """Return the class of a ground term (of the root of a graph), None if it is not represented."""
        if isinstance(term, Graph):
            classes: list[int] = []
            for node in (*term.nodes, _root(term)):
                found = self._lookup_node(node.op, [classes[item] for item in node.inputs])
                if found is None:
                    return None
                classes.append(found)
            return classes[-1]
        inputs: list[int] = []
        for item in term.inputs:
            below = self._variable(item) if isinstance(item, Var) else self.lookup(item)
            if below is None:
                return None
            inputs.append(below)
        return self._lookup_node(term.op, inputs)

    def represents(self, term: Tree | Graph, cls: int | None = None) -> bool:
        """Tell whether a ground term is in the e-graph (and in class `cls`); bans do not matter."""
        found = self.lookup(term)
        return found is not None and (cls is None or found == self.find(cls))

    def causes(self, first: int, second: int) -> tuple[int, ...]:
        """Return the rule instances because of which two rows are in one class, each once."""
        return explain.causes(self.nodes, self.classes, first, second)

    def check_invariants(self) -> None:
        """Assert what the class promises after a rebuild (for tests; slow)."""
        explain.check_invariants(self.nodes, self.classes)

    def describe(self, row: int) -> str:
        """Return a row's operator and where the row comes from, for messages."""
        op = self.operators[int(self.nodes.symbol.view[row])]
        return f"{op} from {self.describe_cause(int(self.nodes.origin.view[row]), row)}"

    def describe_cause(self, cause: int, row: int | None = None) -> str:
        """Return the text of an origin or a cause."""
        if cause >= 0:
            return f"rule {self.instances[cause]}"
        if cause == LOADED and row is not None:
            return f"node {self.names.get(row) or row!r} of the graph"
        return {LOADED: "the caller", CONGRUENCE: "congruence", FOLDED: "a known value"}[cause]

    # --- adding ------------------------------------------------------------------------------------

    def add(
        self, op: Operator, children: Sequence[int] = (), name: str = "", origin: int = LOADED
    ) -> int:
        """Return the class of an e-node, adding it if it is new; TypeMismatch if it is ill-typed."""
        kids = tuple(self.find(child) for child in children)
        symbol = self.symbols.intern(op)
        row = self.nodes.find_one(symbol, kids)
        if row is None:
            fact = self.classes.facts.infer(
                symbol, tuple(int(self.classes.fact.view[kid]) for kid in kids)
            )
            row = self.nodes.add_one(symbol, kids, origin)
            self.classes.append(row, fact)
        if name:
            self.names.setdefault(row, name)
        return self.find(row)

    def load(self, graph: Graph) -> int:
        """Add a graph, remembering its names; return the class of a `Root` over its outputs."""
        classes: list[int] = []
        for node in (*graph.nodes, _root(graph)):
            classes.append(self.add(node.op, [classes[item] for item in node.inputs], node.name))
        self.rebuild()
        return self.find(classes[-1])

    def stage(self, symbol: IntArray, kids: IntArray, origin: IntArray) -> IntArray:
        """Find or stage nodes with canonical children given by column; return their classes.

        The class of a staged row has the row's own number. A new row that is ill-typed, or has an
        ill-typed child, gets the fact number -1.
        """
        rows, new = self.nodes.stage(symbol, kids, origin)
        if new.size:
            inputs = self.classes.fact.view[kids[new]]
            self.classes.extend(self.nodes.end, self.classes.infer_many(symbol[new], inputs))
        return self.unions.find_many(rows)

    def ill_typed(self, classes: IntArray) -> BoolArray:
        """Tell which classes that `stage` returned are of ill-typed rows."""
        result: BoolArray = self.classes.fact.view[classes] < 0
        return result

    def commit(self) -> None:
        """Keep what was staged."""
        self.classes.expect_literals(np.arange(self.nodes.count, self.nodes.end))
        self.nodes.commit()

    def rollback(self) -> None:
        """Forget what was staged."""
        self.nodes.rollback()
        self.classes.truncate(self.nodes.end)

    def new_instances(self, batch: Batch) -> int:
        """Number new rule instances; return the first number."""
        return self.instances.extend(batch)

    # --- joining -----------------------------------------------------------------------------------

    def union(self, first: int, second: int, cause: int = LOADED) -> bool:
        """Join two classes; tell whether they were apart. UnsoundRule if their facts contradict."""
        with self._naming():
            return self.classes.union(first, second, cause)

    def union_many(self, first: IntArray, second: IntArray, cause: IntArray) -> bool:
        """Join pairs of classes; tell whether any were apart."""
        with self._naming():
            return self.classes.union_many(first, second, cause)

    def ban(self, rows: IntArray) -> None:
        """Hide rows from matching and extraction."""
        self.nodes.banned.view[rows] = True

    def rebuild(self) -> None:
        """Close the e-graph under congruence, propagate improved facts, add literals for known values."""
        while True:
            self._close_congruence()
            self._propagate()
            if not self._fold():
                return

    # --- inside ------------------------------------------------------------------------------------

    def _lookup_node(self, op: Operator, children: Sequence[int]) -> int | None:
        symbol = self.symbols.known(op)
        if symbol is None:
            return None
        row = self.nodes.find_one(symbol, tuple(self.find(child) for child in children))
        return None if row is None else self.find(row)

    def _variable(self, item: Var) -> int:
        raise ValueError(f"the term has a variable, {item}: only ground terms are represented")

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Turn a contradiction into an error that names the rule instances or nodes involved."""
        try:
            yield
        except Contradiction as error:
            union = error.union
            raise UnsoundRule(
                f"{self.describe_cause(union.cause)} equates {self.describe(union.first)} "
                f"with {self.describe(union.second)}, but {error}"
            ) from error

    def _close_congruence(self) -> None:
        nodes = self.nodes
        while True:
            canonical = self.unions.compress()[nodes.kids.view]
            moved = canonical != nodes.kids.view
            if not moved.any():
                return
            nodes.kids.view[:] = canonical
            rows = nodes.rows_with_children(moved)
            arities = nodes.arity.view[rows]
            indexed = rows.copy()
            for arity in np.unique(arities).tolist():
                of_arity = arities == arity
                indexed[of_arity] = nodes.rehash(rows[of_arity], arity)
            self._merge_congruent(rows, indexed)

    def _merge_congruent(self, rows: IntArray, indexed: IntArray) -> None:
        heads = indexed[rows != indexed]
        if not heads.size:
            return
        involved = np.isin(indexed, heads)
        rows, indexed = rows[involved], indexed[involved]
        self.nodes.merge_duplicates(rows, indexed)
        self.union_many(indexed, rows, np.full(len(rows), CONGRUENCE))

    def _propagate(self) -> None:
        nodes = self.nodes
        while (improved := self.classes.take_improved()) is not None:
            marked = np.zeros(nodes.end, np.bool_)
            marked[improved] = True
            for row in nodes.rows_with_children(marked[nodes.kids.view]).tolist():
                self._improve(row)

    def _improve(self, row: int) -> None:
        start, arity = int(self.nodes.start.view[row]), int(self.nodes.arity.view[row])
        facts = self.classes.fact.view[self.nodes.kids.view[start : start + arity]]
        try:
            fact = self.classes.facts.infer(int(self.nodes.symbol.view[row]), tuple(facts.tolist()))
        except TypeMismatch as error:
            raise UnsoundRule(f"{self.describe(row)} became ill-typed: {error}") from error
        cls = self.find(row)
        with self._naming():
            self.classes.refine(cls, fact, Union(cls, row, CONGRUENCE))

    def _fold(self) -> bool:
        """Give classes of known value their literal; tell whether that joined any classes."""
        classes = self.classes.take_valued()
        if classes is None:
            return False
        facts = self.classes.fact.view[classes].tolist()
        literals = np.array([self.classes.facts.literal(fact) for fact in facts])
        known = np.flatnonzero(literals >= 0)
        if self.node_limit is not None:
            missing = [
                self.nodes.find_one(symbol, ()) is None for symbol in literals[known].tolist()
            ]
            fits = np.cumsum(missing) <= max(0, self.node_limit - self.node_count)
            # What does not fit is remembered: literals are only a convenience of matching.
            self.classes.expect_literals(classes[known[~fits]])
            known = known[fits]
        if not known.size:
            return False
        origin = np.full(len(known), FOLDED)
        rows = self.stage(literals[known], np.empty((len(known), 0), np.int64), origin)
        self.nodes.commit()
        return self.union_many(classes[known], rows, origin)


def _root(graph: Graph) -> Node:
    return Node(Root(), tuple(output.node for output in graph.outputs))
