"""E-matching by sort-merge joins: all matches of a pattern at once, as columns.

A pattern node is a selection of rows by operator; a nested pattern is a join of child column with root
column; a variable that occurs twice is one more key column of the join, so non-linear patterns never
blow up first and get filtered later. A multi-pattern is one more join, on the shared variables, where
TenSat (section 4.1, algorithm 1) takes a Cartesian product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensaur.egraph.budget import Budget
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.pattern import Canonical, Source, attribute_terms, canonical
from tensaur.egraph.relations import BoolArray, IntArray, Join, group_rows, pack_pair
from tensaur.egraph.symbols import Symbols
from tensaur.ir.operator import Operator
from tensaur.ir.term import Apply, AttrVar, OpVar, Var

# Pairs made between two looks at the clock.
CHUNK = 1 << 18

Columns = dict[str, IntArray]


@dataclass(frozen=True, slots=True)
class Matches:
    """All matches of a source: `roots` and `rows` have one column per found term.

    `columns` are classes for values, attribute value numbers for `$p`, symbols for `?f`. Columns and
    roots together determine what applying a rule does, and no two matches have the same. (Columns alone
    do not: `add(a, b)` and `add(b, a)` may be in different classes.)
    """

    source: Source
    roots: tuple[IntArray, ...]
    rows: tuple[IntArray, ...]
    columns: Columns

    def __len__(self) -> int:
        return len(self.roots[0])

    def take(self, at: IntArray | BoolArray) -> Matches:
        """Return a selection of the matches."""
        columns = {name: column[at] for name, column in self.columns.items()}
        return Matches(
            self.source, tuple(i[at] for i in self.roots), tuple(i[at] for i in self.rows), columns
        )


class View:
    """The live, unbanned rows at the start of an iteration, sorted by symbol."""

    def __init__(self, egraph: EGraph) -> None:
        nodes = egraph.nodes
        rows = np.flatnonzero(nodes.alive.view & ~nodes.banned.view)
        self.row = rows[np.argsort(nodes.symbol.view[rows], kind="stable")]
        self.symbol = nodes.symbol.view[self.row]
        self.cls = egraph.unions.find_many(self.row)
        self.arity = nodes.arity.view[self.row]
        self._start = nodes.start.view[self.row]
        self._kids: IntArray = nodes.kids.view
        bounds = np.arange(len(egraph.operators) + 1)
        self._first: list[int] = np.searchsorted(self.symbol, bounds).tolist()

    def select(self, symbols: Sequence[int], arity: int) -> IntArray:
        """Return the positions of the rows with one of the symbols and `arity` children."""
        parts = [np.arange(*found) for i in symbols if (found := self._range(i))]
        at: IntArray = np.concatenate(parts) if parts else np.empty(0, np.int64)
        selected: IntArray = at[self.arity[at] == arity]
        return selected

    def child(self, at: IntArray, position: int) -> IntArray:
        """Return the child classes at one position of the rows at positions `at`."""
        result: IntArray = self._kids[self._start[at] + position]
        return result

    def arities(self, symbols: Sequence[int]) -> list[int]:
        """Return the numbers of children that occur with the symbols."""
        parts = [self.arity[slice(*found)] for i in symbols if (found := self._range(i))]
        return np.unique(np.concatenate(parts)).tolist() if parts else []

    def _range(self, symbol: int) -> tuple[int, int] | None:
        # Symbols that were interned after this view was made have no rows in it.
        if symbol + 1 >= len(self._first) or self._first[symbol] == self._first[symbol + 1]:
            return None
        return self._first[symbol], self._first[symbol + 1]


@dataclass(slots=True, eq=False)
class _Compiled:
    """A canonical term made ready: what its inputs are, and its matches in the view of number `turn`.

    `inputs` has for every input the compiled term below and the renaming of its columns, or None for a
    variable. `names` are the columns of its matches.
    """

    term: Apply
    inputs: tuple[tuple[_Compiled, Mapping[str, str]] | None, ...]
    names: tuple[str, ...]
    turn: int = -1
    table: Columns = field(default_factory=dict)


class Matcher:
    """Finds sources in one view after another; the matches of a term are shared within a view."""

    def __init__(self, egraph: EGraph, budget: Budget) -> None:
        self._egraph = egraph
        self._budget = budget
        self._terms: dict[Apply, _Compiled] = {}
        self._sources: dict[Source, list[list[_Compiled]]] = {}
        self._selection = _Selection(egraph.symbols)
        self._turn = 0
        self.view = View(egraph)

    def refresh(self) -> None:
        """Look at the e-graph as it is now."""
        self._turn += 1
        for term in self._terms.values():
            term.table = {}
        self.view = View(self._egraph)

    def lengths(self, nodes: Sequence[Sequence[type[Operator]]]) -> list[int]:
        """Return how many inputs a sequence can stand for, given the classes each node with it can be."""
        of_class = self._egraph.symbols.of_class
        found = [
            {arity for op in choices for arity in self.view.arities(of_class.get(op, []))}
            for choices in nodes
        ]
        return sorted(set.intersection(*found)) if found else []

    def find(self, source: Source) -> Matches:
        """Return all matches of a source, each once."""
        compiled = self._sources.get(source)
        if compiled is None:
            compiled = [[self._compile(item.term) for item in terms] for terms in source.variants]
            self._sources[source] = compiled
        count = len(source.variants[0])
        found = (
            self._find_terms(terms, ready)
            for terms, ready in zip(source.variants, compiled, strict=True)
        )
        parts = [part for part in found if part is not None]
        names = (*source.columns, *_heads(count))
        if not parts:
            merged = _empty(names)
        elif len(parts) == 1:
            merged = parts[0]
        else:
            merged = {name: np.concatenate([part[name] for part in parts]) for name in names}
            keys = [merged[name] for name in (*source.columns, *_roots(count))]
            once = np.sort(group_rows(keys, len(merged["@root0"])).first)
            merged = {name: column[once] for name, column in merged.items()}
        self._budget.hold(len(merged["@root0"]), len(names))
        return Matches(
            source,
            tuple(merged[f"@root{i}"] for i in range(count)),
            tuple(merged[f"@row{i}"] for i in range(count)),
            {name: merged[name] for name in source.columns},
        )

    def _find_terms(
        self, terms: Sequence[Canonical], compiled: Sequence[_Compiled]
    ) -> Columns | None:
        """Return the matches of one or more terms together, None if one of them has none alone."""
        tables = [self._table(item) for item in compiled]
        if not all(len(table["@root"]) for table in tables):
            return None
        left = _renamed(tables[0], terms[0].names, 0)
        for number in range(1, len(terms)):
            right = _renamed(tables[number], terms[number].names, number)
            shared = [(name, name) for name in right if name in left]
            left = self._join(left, right, shared, keep=_distinct(number))
        return left

    def _compile(self, term: Apply) -> _Compiled:
        """Return the one compiled form of a canonical term."""
        known = self._terms.get(term)
        if known is None:
            inputs = []
            for item in term.inputs:
                below = canonical(item) if isinstance(item, Apply) else None
                inputs.append(None if below is None else (self._compile(below.term), below.names))
            names = (*canonical(term).names, "@root", "@row")
            known = self._terms[term] = _Compiled(term, tuple(inputs), names)
        return known

    def _table(self, compiled: _Compiled) -> Columns:
        """Return the matches of a canonical term: `@root`, `@row` and a column for each variable."""
        if compiled.turn != self._turn:
            self._budget.check()
            compiled.table = self._build(compiled)
            compiled.turn = self._turn
            self._budget.hold(len(compiled.table["@root"]), len(compiled.table))
        return compiled.table

    def _build(self, compiled: _Compiled) -> Columns:
        term = compiled.term
        at = self.view.select(self._selection.symbols(term), len(term.inputs))
        if not len(at):
            return _empty(compiled.names)
        below: list[tuple[int, Columns]] = []
        for position, item in enumerate(compiled.inputs):
            if item is not None:
                child, names = item
                found = self._table(child)
                if not len(found["@root"]):
                    return _empty(compiled.names)
                right = {names.get(name, name): column for name, column in found.items()}
                del right["@row"]
                right["@below"] = right.pop("@root")
                below.append((position, right))
        table = self._base(term, at)
        for position, right in below:
            child_column = f"@child{position}"
            shared = [(name, name) for name in right if name in table]
            table = self._join(table, right, [(child_column, "@below"), *shared], drop=child_column)
        return table

    def _base(self, term: Apply, at: IntArray) -> Columns:
        """Return the rows at some positions as matches of a term, its inputs not looked into."""
        view = self.view
        table: Columns = {}
        equal: list[tuple[IntArray, IntArray]] = []

        def bind(name: str, column: IntArray) -> None:
            if name in table:
                equal.append((table[name], column))
            else:
                table[name] = column

        for position, item in enumerate(term.inputs):
            name = str(item) if isinstance(item, Var) else f"@child{position}"
            bind(name, view.child(at, position))
        if isinstance(term.op, OpVar):
            table[str(term.op)] = view.symbol[at]
        for field_name, value in term.attrs:
            if isinstance(value, AttrVar):
                bind(str(value), self._egraph.symbols.attribute(field_name)[view.symbol[at]])
        table |= {"@root": view.cls[at], "@row": view.row[at]}
        if equal:
            keep = np.logical_and.reduce([first == second for first, second in equal])
            table = {name: column[keep] for name, column in table.items()}
        return table

    def _join(
        self,
        left: Columns,
        right: Columns,
        on: Sequence[tuple[str, str]],
        drop: str = "",
        keep: Callable[[Columns], BoolArray] | None = None,
    ) -> Columns:
        """Join two tables on pairs of columns, a chunk at a time; the left names of `on` survive."""
        keys = {name for _, name in on}
        sides = [(name, column, 0) for name, column in left.items() if name != drop]
        sides += [(name, column, 1) for name, column in right.items() if name not in keys]
        join = Join(*self._join_keys(left, right, on))
        begin, end = self._budget.window(join.total, len(sides))
        chunks: list[Columns] = []
        for low in range(begin, end, CHUNK):
            self._budget.check()
            at = join.pairs(low, min(low + CHUNK, end))
            chunk = {name: column[at[side]] for name, column, side in sides}
            if keep is not None:
                kept = keep(chunk)
                chunk = {name: column[kept] for name, column in chunk.items()}
            chunks.append(chunk)
        if len(chunks) == 1:
            return chunks[0]
        if not chunks:
            return {name: column[:0] for name, column, _ in sides}
        return {name: np.concatenate([chunk[name] for chunk in chunks]) for name, _, _ in sides}

    def _join_keys(
        self, left: Columns, right: Columns, on: Sequence[tuple[str, str]]
    ) -> tuple[IntArray, IntArray]:
        if not on:
            return (
                np.zeros(len(left["@root0"]), np.int64),
                np.zeros(len(next(iter(right.values()))), np.int64),
            )
        return pack_pair([left[name] for name, _ in on], [right[name] for _, name in on])


class _Selection:
    """Which symbols a pattern node selects; grows with the symbols and never starts over."""

    def __init__(self, symbols: Symbols) -> None:
        self._symbols = symbols
        self._known: dict[tuple[Any, Any], tuple[list[int], dict[type[Operator], int]]] = {}

    def symbols(self, term: Apply) -> list[int]:
        """Return the symbols of the node's classes with the node's literal attribute values."""
        found, seen = self._known.setdefault((term.op, term.attrs), ([], {}))
        classes = term.op.choices if isinstance(term.op, OpVar) else (term.op,)
        for op in dict.fromkeys(classes):
            of_class = self._symbols.of_class.get(op, [])
            done = seen.get(op, 0)
            if done < len(of_class):
                attrs = attribute_terms(term)
                found += [i for i in of_class[done:] if _agrees(self._symbols.operators[i], attrs)]
                seen[op] = len(of_class)
        return found


def _agrees(op: Operator, attrs: Mapping[str, Any]) -> bool:
    """Tell whether an operator has the literal values, and some value where variables stand.

    None is left where the meaning of an attribute depends on a rank that nobody knows, and two of these
    need not be the same.
    """
    return all(
        getattr(op, name) is not None if isinstance(value, AttrVar) else getattr(op, name) == value
        for name, value in attrs.items()
    )


def _renamed(table: Columns, names: Mapping[str, str], number: int) -> Columns:
    """Return the matches of a canonical term under the names of a rule, as its found term `number`."""
    full = {**names, "@root": f"@root{number}", "@row": f"@row{number}"}
    return {full[name]: column for name, column in table.items()}


def _empty(names: Sequence[str]) -> Columns:
    return {name: np.empty(0, np.int64) for name in names}


def _roots(count: int) -> list[str]:
    return [f"@root{number}" for number in range(count)]


def _heads(count: int) -> list[str]:
    return [*_roots(count), *(f"@row{number}" for number in range(count))]


def _distinct(number: int) -> Callable[[Columns], BoolArray]:
    def keep(columns: Columns) -> BoolArray:
        # Two found terms that are already one class have nothing to gain; the same row even less.
        different = [columns[f"@root{i}"] != columns[f"@root{number}"] for i in range(number)]
        result: BoolArray = np.logical_and.reduce(different)
        return result

    return keep
