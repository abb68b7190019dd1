"""What a rule makes for one signature of its matches: decided once, then applied to all of them.

A signature is what conditions and computed attributes can see of a match: attribute values, operators,
and the facts of the variables and of the found terms. Holds no columns of matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensaur.egraph.facts import Facts
from tensaur.egraph.symbols import Symbols
from tensaur.errors import TypeMismatch
from tensaur.ir.dims import compare
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Bindings,
    Derived,
    NotApplicable,
    Tree,
    Var,
    evaluate_derived,
    resolve,
)
from tensaur.ir.types import DType, TensorType, TupleType, Type

# A child or a made term: the position of a node in the structure, or the name of a variable.
Ref = int | str


@dataclass(frozen=True, slots=True)
class Structure:
    """The shape of made trees without their operators: nodes in order, children before parents.

    `roots` stand for the found terms. `below[i]` are the variables under an operator in made term i:
    those that the found class will depend on.
    """

    nodes: tuple[tuple[Ref, ...], ...]
    roots: tuple[Ref, ...]
    below: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to insert for every match of a signature: a structure, and the symbol of each node."""

    structure: Structure
    symbols: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a signature is refused."""

    reason: str


def admits(rule: Rule, kind: Type) -> bool:
    """Tell whether the equation is admitted for the element type of what the rule found."""
    if isinstance(kind, TensorType):
        return kind.dtype in rule.dtypes
    if isinstance(kind, TupleType):
        return all(admits(rule, item) for item in kind.items)
    return len(rule.dtypes) == len(DType)


def holds(condition: Derived, bindings: Bindings) -> bool:
    """Tell whether a condition is true; one that cannot be evaluated is not."""
    try:
        return bool(evaluate_derived(condition, bindings))
    except (NotApplicable, TypeMismatch):
        return False


class Maker:
    """Resolves and types what rules make; facts are given and inferred by number."""

    def __init__(self, symbols: Symbols, facts: Facts) -> None:
        self._symbols = symbols
        self._facts = facts

    def plan(
        self, rule: Rule, bindings: Bindings, values: Mapping[str, int], found: Sequence[int]
    ) -> Plan | Rejection:
        """Return what to make, or why not; `found` are the facts of the found terms."""
        try:
            trees = tuple(resolve(term, bindings) for term in rule.makes)
        except (NotApplicable, TypeMismatch, TypeError, ValueError, IndexError) as error:
            return Rejection(f"not applicable: {error}")
        draft = _Draft(self._symbols, self._facts, values)
        try:
            roots = tuple(draft.place(tree) for tree in trees)
        except TypeMismatch as error:
            return Rejection(f"ill-typed: {error}")
        for root, number in zip(roots, found, strict=True):
            difference = self._difference(number, draft.fact(root))
            if difference is not None:
                return Rejection(f"type differs: {difference}")
        return draft.plan(roots)

    def _difference(self, found: int, made: int) -> str | None:
        try:
            self._facts.meet(found, made)
        except ValueError as error:
            return str(error)
        return _difference(self._facts.facts[found].type, self._facts.facts[made].type)


class _Draft:
    """The nodes of made trees in order, each once, with their facts and the variables below them."""

    def __init__(self, symbols: Symbols, facts: Facts, values: Mapping[str, int]) -> None:
        self._symbols, self._facts, self._values = symbols, facts, values
        self._nodes: dict[tuple[int, tuple[Ref, ...]], int] = {}
        self._fact: list[int] = []
        self._below: list[frozenset[str]] = []

    def place(self, tree: Tree | Var) -> Ref:
        if isinstance(tree, Var):
            return tree.name
        kids = tuple(self.place(item) for item in tree.inputs)
        node = (self._symbols.intern(tree.op), kids)
        place = self._nodes.get(node)
        if place is None:
            inputs = tuple(self.fact(kid) for kid in kids)
            self._fact.append(self._facts.infer(node[0], inputs))
            self._below.append(frozenset().union(*(self._variables(kid) for kid in kids)))
            place = self._nodes[node] = len(self._nodes)
        return place

    def fact(self, ref: Ref) -> int:
        return self._values[ref] if isinstance(ref, str) else self._fact[ref]

    def plan(self, roots: tuple[Ref, ...]) -> Plan:
        below = tuple(frozenset() if isinstance(i, str) else self._below[i] for i in roots)
        structure = Structure(tuple(kids for _, kids in self._nodes), roots, below)
        return Plan(structure, tuple(symbol for symbol, _ in self._nodes))

    def _variables(self, ref: Ref) -> frozenset[str]:
        return frozenset((ref,)) if isinstance(ref, str) else self._below[ref]


def _difference(found: Type, made: Type) -> str | None:
    """Return what provably differs for all sizes, although some sizes are symbolic."""
    if isinstance(found, TupleType) and isinstance(made, TupleType):
        items = (_difference(a, b) for a, b in zip(found.items, made.items, strict=True))
        return next((item for item in items if item is not None), None)
    if not isinstance(found, TensorType) or not isinstance(made, TensorType):
        return None
    for first, second in zip(found.shape or (), made.shape or (), strict=False):
        # Equal up to a constant means different; an order alone is no contradiction.
        if isinstance(second - first, int) and compare(first, second) != 0:
            return f"{made} is made for {found}"
    return None
