"""The naive e-graph: plain dictionaries and sets, obviously right, slow. The oracle of the real one.

Matching is by backtracking; multi-patterns are TenSat's algorithm 1 taken literally: match every term
alone, take the Cartesian product, keep compatible tuples.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, OpVar, Seq, Var

Node = tuple[Operator, tuple[int, ...]]
Binding = dict[str, Any]


class NaiveEGraph:
    def __init__(self) -> None:
        self.leader: dict[int, int] = {}
        self.nodes: list[tuple[Node, int]] = []

    def find(self, cls: int) -> int:
        while self.leader[cls] != cls:
            cls = self.leader[cls]
        return cls

    def add(self, op: Operator, children: tuple[int, ...] = ()) -> int:
        node = (op, tuple(self.find(child) for child in children))
        for (other, kids), cls in self.nodes:
            if (other, tuple(self.find(kid) for kid in kids)) == node:
                return self.find(cls)
        new = len(self.leader)
        self.leader[new] = new
        self.nodes.append((node, new))
        return new

    def union(self, a: int, b: int) -> None:
        a, b = sorted((self.find(a), self.find(b)))
        self.leader[b] = a

    def rebuild(self) -> None:
        """Join classes that hold equal nodes until there are none."""
        while True:
            seen: dict[Node, int] = {}
            changed = False
            for (op, kids), cls in self.nodes:
                node = (op, tuple(self.find(kid) for kid in kids))
                other = seen.setdefault(node, cls)
                if self.find(other) != self.find(cls):
                    self.union(other, cls)
                    changed = True
            if not changed:
                return

    def partition(self) -> frozenset[frozenset[int]]:
        classes: dict[int, set[int]] = {}
        for cls in self.leader:
            classes.setdefault(self.find(cls), set()).add(cls)
        return frozenset(frozenset(item) for item in classes.values())

    def canonical_nodes(self) -> set[tuple[Node, int]]:
        return {
            ((op, tuple(self.find(kid) for kid in kids)), self.find(cls))
            for (op, kids), cls in self.nodes
        }


class NaiveMatcher:
    """Matches patterns in a set of (operator, child classes), class."""

    def __init__(self, nodes: set[tuple[Node, int]]) -> None:
        self.by_class: dict[int, list[Node]] = {}
        for node, cls in nodes:
            self.by_class.setdefault(cls, []).append(node)

    def find_rule(self, rule: Rule) -> set[tuple[tuple[int, ...], frozenset[tuple[str, Any]]]]:
        """Return (root classes, bindings) of every match of a rule."""
        lists = [list(self._find_term(term)) for term in rule.finds]
        found = set()
        for combination in itertools.product(*lists):
            roots = tuple(cls for cls, _, _ in combination)
            nodes = [(cls, node) for cls, node, _ in combination]
            if any(a == b for a, b in itertools.combinations(nodes, 2)):
                continue
            if len(set(roots)) < len(roots):
                continue
            merged = _compatible([binding for _, _, binding in combination])
            if merged is not None:
                found.add((roots, frozenset(merged.items())))
        return found

    def _find_term(self, term: Apply) -> Iterator[tuple[int, Node, Binding]]:
        for cls, nodes in self.by_class.items():
            for node in nodes:
                for binding in self._match_node(term, node, {}):
                    yield cls, node, binding

    def _match_class(self, term: Any, cls: int, binding: Binding) -> Iterator[Binding]:
        if isinstance(term, Var):
            yield from _bind(binding, term.name, cls)
            return
        for node in self.by_class.get(cls, ()):
            yield from self._match_node(term, node, binding)

    def _match_node(self, term: Apply, node: Node, binding: Binding) -> Iterator[Binding]:
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
            bindings = [new for old in bindings for new in _bind(old, f"${wanted.name}", value)]
        elif wanted != value:
            return
    yield from bindings


def _bind(binding: Binding, name: str, value: Any) -> Iterator[Binding]:
    if name not in binding:
        yield {**binding, name: value}
    elif binding[name] == value:
        yield binding


def _compatible(bindings: list[Binding]) -> Binding | None:
    merged: Binding = {}
    for binding in bindings:
        for name, value in binding.items():
            if merged.setdefault(name, value) != value:
                return None
    return merged
