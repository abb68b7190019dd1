"""TenSat's exploration on the naive e-graph, one iteration at a time; the oracle of `Explorer`.

Group rules, symbolic shapes and budgets are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tensaur.errors import TypeMismatch
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Bindings,
    NotApplicable,
    Tree,
    Var,
    evaluate_derived,
    resolve,
    tree_fact,
)
from tensaur.ir.types import Fact, TensorType, TupleType, Type, meet
from tests.egraph.naive import AlgorithmOne, Match, NaiveEGraph, canonicalise


class Made:
    """What a match makes: operators in order, children (positions or variables) before parents.

    `roots` stand for the found terms; `below[i]` are the variables under an operator in root i.
    """

    def __init__(self, trees: Iterable[Tree | Var]) -> None:
        self.nodes: dict[tuple[Operator, tuple[int | str, ...]], int] = {}
        self._below: list[set[str]] = []
        self.roots = [self._place(tree) for tree in trees]
        self.below = [set() if isinstance(root, str) else self._below[root] for root in self.roots]

    def _place(self, tree: Tree | Var) -> int | str:
        if isinstance(tree, Var):
            return tree.name
        kids = tuple(self._place(item) for item in tree.inputs)
        if (tree.op, kids) not in self.nodes:
            self.nodes[tree.op, kids] = len(self.nodes)
            below = [{kid} if isinstance(kid, str) else self._below[kid] for kid in kids]
            self._below.append(set().union(*below))
        return self.nodes[tree.op, kids]


class NaiveExplorer:
    """Finds all that rules can do to a naive e-graph, and does what it is told of it.

    What was applied is not found again. Two matches of a symmetric multi-pattern that differ only in order
    count as one, and multi-patterns whose terms are one class already are left out, unless it is
    `complete`.
    """

    def __init__(self, egraph: NaiveEGraph, rules: Iterable[Rule], complete: bool = False) -> None:
        self.egraph = egraph
        self._rules = tuple(one for rule in rules for one in rule.directed())
        self._algorithm = AlgorithmOne(self._rules)
        self._complete = complete
        self._mirrors = {} if complete else {rule.name: _mirror(rule) for rule in self._rules}
        self._applied: set[Match] = set()
        self._joins: list[tuple[int, int]] = []

    def candidates(self, among: Callable[[Rule], bool] = lambda rule: True) -> dict[Match, Made]:
        """Return the acceptable matches of some of the rules."""
        self._algorithm.search(self.egraph.canonical_nodes())
        facts = self.egraph.facts()
        found: dict[Match, Made] = {}
        for rule in self._rules:
            if not among(rule):
                continue
            accepted = {}
            for match in self._algorithm.matches(rule, apart=not self._complete) - self._applied:
                made = self._judge(rule, match, facts)
                if made is not None:
                    accepted[match] = made
            for match, made in accepted.items():
                mirrored = self._mirrored(match)
                if mirrored not in accepted or _key(match) <= _key(mirrored):
                    found[match] = made
        return found

    def closes_cycle(self, match: Match, made: Made) -> bool:
        bindings = dict(match.bindings)
        return self.egraph.closes_cycle(
            match.roots, [[bindings[name] for name in names] for names in made.below]
        )

    def apply(self, candidates: Mapping[Match, Made]) -> None:
        """Add what some matches of one structure make, node by node; `finish` joins."""
        made: dict[Match, list[int]] = {match: [] for match in candidates}

        def cls(match: Match, ref: int | str) -> int:
            found = dict(match.bindings)[ref] if isinstance(ref, str) else made[match][ref]
            return self.egraph.find(found)

        for position in range(max(len(item.nodes) for item in candidates.values())):
            for match, item in candidates.items():
                op, kids = list(item.nodes)[position]
                made[match].append(self.egraph.add(op, [cls(match, kid) for kid in kids]))
        for match, item in candidates.items():
            self._joins += zip(match.roots, (cls(match, ref) for ref in item.roots), strict=True)
            self._applied |= {match, self._mirrored(match) or match}

    def finish(self) -> None:
        """Join what was found with what was made for it, and rebuild."""
        for found, made in self._joins:
            self.egraph.union(found, made)
        self._joins = []
        self.egraph.rebuild()

    def _judge(self, rule: Rule, match: Match, facts: Mapping[int, Fact]) -> Made | None:
        """Return what a match makes, None if it is refused."""
        bindings = _bindings(rule, match, facts)
        found = [facts[root] for root in match.roots]
        if not _admits(rule, found[0].type):
            return None
        try:
            if not all(evaluate_derived(condition, bindings) for condition in rule.when):
                return None
            trees = [resolve(term, bindings) for term in rule.makes]
            for tree, fact in zip(trees, found, strict=True):
                meet(fact, tree_fact(tree, bindings.facts))
        except (NotApplicable, TypeMismatch, TypeError, ValueError, IndexError):
            return None
        return Made(trees)

    def _mirrored(self, match: Match) -> Match | None:
        names = self._mirrors.get(match.rule)
        if names is None:
            return None
        bindings = dict(match.bindings)
        swapped = frozenset((name, bindings[names.get(name, name)]) for name in bindings)
        return Match(match.rule, match.roots[::-1], swapped)


def naive_saturation(graph: Graph, rules: Iterable[Rule]) -> tuple[NaiveEGraph, list[int]]:
    """Apply rules until nothing changes; return the e-graph and the classes of the graph's nodes."""
    egraph = NaiveEGraph()
    classes = egraph.load(graph, root=False)
    explorer = NaiveExplorer(egraph, rules)
    while candidates := explorer.candidates():
        for match, made in candidates.items():
            explorer.apply({match: made})
        explorer.finish()
    return egraph, classes


def _key(match: Match) -> tuple[int, ...]:
    classes = [value for name, value in sorted(match.bindings, key=_name) if name[0] not in "$?"]
    return (*classes, *match.roots)


def _name(binding: tuple[str, Any]) -> str:
    return binding[0]


def _mirror(rule: Rule) -> Mapping[str, str] | None:
    """Return what the variables are called when the two terms of a symmetric rule change places."""
    if len(rule.finds) != 2:
        return None
    first, second = rule.finds
    straight, old = canonicalise((first, second))
    swapped, new = canonicalise((second, first))
    return {old[name]: new[name] for name in old} if straight == swapped else None


def _bindings(rule: Rule, match: Match, facts: Mapping[int, Fact]) -> Bindings:
    bound = dict(match.bindings)
    names = [name for name in bound if name[0] not in "$?"]
    sequence = rule.sequence
    lengths = {}
    if sequence is not None:
        lengths[sequence.name] = sum(name.startswith(f"{sequence.name}.") for name in names)
    return Bindings(
        facts={name: facts[bound[name]] for name in names},
        attrs={name[1:]: value for name, value in bound.items() if name[0] == "$"},
        ops={name[1:]: value for name, value in bound.items() if name[0] == "?"},
        lengths=lengths,
    )


def _admits(rule: Rule, kind: Type) -> bool:
    if isinstance(kind, TensorType):
        return kind.dtype in rule.dtypes
    return isinstance(kind, TupleType) and all(_admits(rule, item) for item in kind.items)
