"""The naive e-graph and its matcher: plain dictionaries and sets, obviously right, slow.

The oracle of the real engine. Rows and classes are numbered as there (by birth, a class by its oldest
row), so that the two can be compared number by number if both add in one order. Matching is by
backtracking; multi-patterns are TenSat's algorithm 1 taken literally. Exploring is in `naive_explorer`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from tensaur.ir.graph import Graph, Node
from tensaur.ir.operator import Literal, Operator, Root, infer_fact
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, OpVar, Seq, Var
from tensaur.ir.types import Fact, meet

ENode = tuple[Operator, tuple[int, ...]]
Binding = dict[str, Any]


class NaiveEGraph:
    """Rows, each an operator with child classes, and which of them are one class, dead or banned."""

    def __init__(self) -> None:
        self.leader: dict[int, int] = {}
        self.born: list[ENode] = []
        self.dead: set[int] = set()
        self.banned: set[int] = set()
        self._known: dict[ENode, int] | None = None
        self._inferred: dict[tuple[Operator, tuple[Fact, ...]], Fact] = {}

    def find(self, cls: int) -> int:
        while self.leader[cls] != cls:
            cls = self.leader[cls]
        return cls

    def canonical(self, row: int) -> ENode:
        op, kids = self.born[row]
        return op, tuple(self.find(kid) for kid in kids)

    def live(self) -> list[int]:
        return [row for row in range(len(self.born)) if row not in self.dead]

    def open(self) -> list[int]:
        """Return the rows that matching and extraction see."""
        return [row for row in self.live() if row not in self.banned]

    def add(self, op: Operator, children: Iterable[int] = ()) -> int:
        if self._known is None:
            self._known = {self.canonical(row): row for row in reversed(self.live())}
        node = (op, tuple(self.find(child) for child in children))
        if node not in self._known:
            row = self._known[node] = len(self.born)
            self.born.append(node)
            self.leader[row] = row
        return self.find(self._known[node])

    def load(self, graph: Graph, root: bool = True) -> list[int]:
        """Add a graph, with a `Root` over its outputs; return the class of every node."""
        top = Node(Root(), tuple(output.node for output in graph.outputs))
        classes: list[int] = []
        for node in (*graph.nodes, *([top] if root else [])):
            classes.append(self.add(node.op, [classes[item] for item in node.inputs]))
        self.rebuild()
        return classes

    def union(self, a: int, b: int) -> None:
        a, b = sorted((self.find(a), self.find(b)))
        self.leader[b] = a
        self._known = None

    def rebuild(self) -> None:
        """Close under congruence and give classes of known value their literal."""
        self._join_equal_rows()
        while self._fold():
            self._join_equal_rows()

    def partition(self) -> frozenset[frozenset[int]]:
        classes: dict[int, set[int]] = {}
        for cls in self.leader:
            classes.setdefault(self.find(cls), set()).add(cls)
        return frozenset(frozenset(item) for item in classes.values())

    def canonical_nodes(self) -> set[tuple[ENode, int]]:
        return {(self.canonical(row), self.find(row)) for row in self.open()}

    def facts(self) -> dict[int, Fact]:
        """Return what all rows of each class together say of its value."""
        facts: dict[int, Fact] = {}
        before: dict[int, Fact] | None = None
        while facts != before:
            before = dict(facts)
            for row in self.live():
                op, kids = self.canonical(row)
                if all(kid in facts for kid in kids):
                    fact, cls = self._infer(op, tuple(facts[kid] for kid in kids)), self.find(row)
                    facts[cls] = meet(facts[cls], fact) if cls in facts else fact
        return facts

    def is_acyclic(self) -> bool:
        edges = self._edges()
        return not any(reaches(edges, kids, cls) for cls, kids in edges.items())

    def ban_cycles(self) -> None:
        """Ban every row that closes a cycle with older rows that are not banned."""
        if self.is_acyclic():
            return
        edges: dict[int, set[int]] = {}
        for row in self.open():
            cls, kids = self.find(row), set(self.canonical(row)[1])
            if reaches(edges, kids, cls):
                self.banned.add(row)
            else:
                edges.setdefault(cls, set()).update(kids)

    def closes_cycle(self, roots: Iterable[int], below: Iterable[Iterable[int]]) -> bool:
        """Tell whether a cycle arises when classes `below[i]` come under class `roots[i]`."""
        edges = self._edges()
        heads = [self.find(root) for root in roots]
        for root, classes in zip(heads, below, strict=True):
            edges.setdefault(root, set()).update(self.find(cls) for cls in classes)
        return any(reaches(edges, edges[root], root) for root in heads)

    def _edges(self) -> dict[int, set[int]]:
        edges: dict[int, set[int]] = {}
        for row in self.open():
            edges.setdefault(self.find(row), set()).update(self.canonical(row)[1])
        return edges

    def _join_equal_rows(self) -> None:
        """Let the oldest of equal rows live on; it stays banned only if all of them are."""
        alive = -1
        while alive != (alive := len(self.live())):
            seen: dict[ENode, int] = {}
            for row in self.live():
                older = seen.setdefault(self.canonical(row), row)
                if older != row:
                    self.dead.add(row)
                    self.union(older, row)
                    if row not in self.banned:
                        self.banned.discard(older)

    def _fold(self) -> bool:
        if not any(isinstance(op, Literal) for op, _ in self.born):
            return False
        literals = [
            (cls, self.add(Literal(fact.value)))
            for cls, fact in sorted(self.facts().items())
            if fact.constant and fact.value is not None and fact.value.raw is not None
        ]
        apart = [(cls, row) for cls, row in literals if self.find(cls) != self.find(row)]
        for cls, row in apart:
            self.union(cls, row)
        return bool(apart)

    def _infer(self, op: Operator, inputs: tuple[Fact, ...]) -> Fact:
        if (op, inputs) not in self._inferred:
            self._inferred[op, inputs] = infer_fact(op, inputs)
        return self._inferred[op, inputs]


def reaches(edges: Mapping[int, Iterable[int]], starts: Iterable[int], goal: int) -> bool:
    """Tell whether some class of `starts` is the goal or leads to it."""
    seen: set[int] = set()
    stack = list(starts)
    while stack:
        cls = stack.pop()
        if cls == goal:
            return True
        if cls not in seen:
            seen.add(cls)
            stack += edges.get(cls, ())
    return False


# --- matching --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """What a rule found: the classes of the found terms, and what its variables are."""

    rule: str
    roots: tuple[int, ...]
    bindings: frozenset[tuple[str, Any]]


class NaiveMatcher:
    """Matches patterns in a set of (operator, child classes), class."""

    def __init__(self, nodes: set[tuple[ENode, int]]) -> None:
        self.by_class: dict[int, list[ENode]] = {}
        for node, cls in nodes:
            self.by_class.setdefault(cls, []).append(node)

    def find_term(self, term: Apply) -> list[tuple[int, Binding]]:
        """Return the class and the bindings of every match of a term, each once."""
        found = {
            (cls, frozenset(binding.items()))
            for cls, nodes in self.by_class.items()
            for node in nodes
            for binding in self._match_node(term, node, {})
        }
        return [(cls, dict(binding)) for cls, binding in found]

    def _match_class(self, term: Any, cls: int, binding: Binding) -> Iterator[Binding]:
        if isinstance(term, Var):
            yield from _bind(binding, term.name, cls)
            return
        for node in self.by_class.get(cls, ()):
            yield from self._match_node(term, node, binding)

    def _match_node(self, term: Apply, node: ENode, binding: Binding) -> Iterator[Binding]:
        op, kids = node
        inputs: tuple[Any, ...] = term.inputs
        if any(isinstance(item, Seq) for item in inputs):
            (sequence,) = inputs
            inputs = tuple(sequence.item(i) for i in range(len(kids)))
        if len(inputs) != len(kids):
            return
        for bound in _match_operator(term, op, binding):
            orders = [inputs]
            if type(op).commutative and len(kids) == 2:
                orders.append(inputs[::-1])
            for order in orders:
                yield from self._match_all(list(zip(order, kids, strict=True)), bound)

    def _match_all(self, pairs: list[tuple[Any, int]], binding: Binding) -> Iterator[Binding]:
        if not pairs:
            yield binding
            return
        (term, cls), *rest = pairs
        for bound in self._match_class(term, cls, binding):
            yield from self._match_all(rest, bound)


class AlgorithmOne:
    """TenSat's algorithm 1: the source patterns of all rules are canonicalised once, each distinct
    canonical pattern is searched once an iteration, and rules take products of these matches.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._sources = {
            rule.name: [canonicalise((term,)) for term in rule.finds] for rule in rules
        }
        sources = itertools.chain.from_iterable(self._sources.values())
        self.patterns = tuple(dict.fromkeys(pattern for (pattern,), _ in sources))
        self._found: dict[Apply, list[tuple[int, Binding]]] = {}

    def search(self, nodes: set[tuple[ENode, int]]) -> None:
        matcher = NaiveMatcher(nodes)
        self._found = {pattern: matcher.find_term(pattern) for pattern in self.patterns}

    def matches(self, rule: Rule, apart: bool = True) -> set[Match]:
        """Return the compatible tuples of the Cartesian product of what the terms of a rule match.

        Terms that are one class already have nothing to gain from each other: `apart` leaves them out.
        """
        lists = [
            [(cls, decanonicalise(binding, names)) for cls, binding in self._found[pattern]]
            for (pattern,), names in self._sources[rule.name]
        ]
        found = set()
        for combination in itertools.product(*lists):
            roots = tuple(cls for cls, _ in combination)
            merged = compatible([binding for _, binding in combination])
            if merged is not None and (not apart or len(set(roots)) == len(roots)):
                found.add(Match(rule.name, roots, frozenset(merged.items())))
        return found


def canonicalise(terms: tuple[Apply, ...]) -> tuple[tuple[Apply, ...], dict[str, str]]:
    """Rename variables in order of appearance; the second result leads back to their names."""
    renamed: dict[Any, Any] = {}

    def variable(item: Any) -> Any:
        if not isinstance(item, (Var, AttrVar, OpVar, Seq)):
            return item
        return renamed.setdefault(item, replace(item, name=f"i_{len(renamed)}"))

    def walk(term: Any) -> Any:
        if not isinstance(term, Apply):
            return variable(term)
        op = variable(term.op)
        attrs = tuple((name, variable(value)) for name, value in term.attrs)
        return Apply(op, attrs, tuple(walk(item) for item in term.inputs))

    result = tuple(walk(term) for term in terms)
    return result, {new.name: old.name for old, new in renamed.items()}


def decanonicalise(binding: Binding, names: Mapping[str, str]) -> Binding:
    """Give the variables back their own names; items of sequences are called `name.position`."""
    result = {}
    for name, value in binding.items():
        kind = name[0] if name[0] in "$?" else ""
        head, dot, position = name.removeprefix(kind).partition(".")
        result[f"{kind}{names[head]}{dot}{position}"] = value
    return result


def compatible(bindings: list[Binding]) -> Binding | None:
    """Return all bindings together, None if a variable would be two things."""
    merged: Binding = {}
    for binding in bindings:
        for name, value in binding.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged


def _match_operator(term: Apply, op: Operator, binding: Binding) -> Iterator[Binding]:
    if isinstance(term.op, OpVar):
        if type(op) in term.op.choices:
            yield from _bind(binding, f"?{term.op.name}", op)
        return
    if type(op) is not term.op:
        return
    written = dict(term.attrs)
    bindings = [binding]
    for item in fields(op):
        value = getattr(op, item.name)
        wanted = written.get(item.name, item.default)
        if isinstance(wanted, AttrVar):
            if value is None:
                return
            bindings = [new for old in bindings for new in _bind(old, f"${wanted.name}", value)]
        elif wanted != value:
            return
    yield from bindings


def _bind(binding: Binding, name: str, value: Any) -> Iterator[Binding]:
    if name not in binding:
        yield {**binding, name: value}
    elif binding[name] == value:
        yield binding
