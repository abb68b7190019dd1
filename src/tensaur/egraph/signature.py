"""What a rule makes for one signature of its matches: decided once, then applied to all of them.

A signature is what conditions and computed attributes can see of a match: attribute values, operators,
and the facts of the variables and of the found terms. Holds no columns of matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensaur.egraph.symbols import Symbols
from tensaur.errors import TypeMismatch
from tensaur.ir.dims import compare
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
from tensaur.ir.types import DType, Fact, TensorType, TupleType, Type, meet

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


Verdict = Plan | Rejection


@dataclass(frozen=True, slots=True)
class Signature:
    """What a rule can see of a match."""

    bindings: Bindings
    found: tuple[Fact, ...]


def judge(rule: Rule, signature: Signature, symbols: Symbols) -> Verdict:
    """Evaluate conditions, resolve and type what the rule makes; a `Rejection` says what failed."""
    bindings = signature.bindings
    if not _admits(rule, signature.found[0].type):
        return Rejection("element type")
    for condition in rule.when:
        try:
            holds = evaluate_derived(condition, bindings)
        except (NotApplicable, TypeMismatch):
            holds = False
        if not holds:
            return Rejection(f"condition {condition}")
    try:
        trees = tuple(resolve(term, bindings) for term in rule.makes)
    except (NotApplicable, TypeMismatch, TypeError, ValueError, IndexError) as error:
        return Rejection(f"not applicable: {error}")
    for tree, found in zip(trees, signature.found, strict=True):
        refusal = _refusal(tree, found, bindings.facts)
        if refusal is not None:
            return refusal
    return _plan(trees, symbols)


def _admits(rule: Rule, kind: Type) -> bool:
    dtypes = rule.dtypes
    if isinstance(kind, TensorType):
        return kind.dtype in dtypes
    if isinstance(kind, TupleType):
        return all(_admits(rule, item) for item in kind.items)
    return len(dtypes) == len(DType)


def _refusal(tree: Tree | Var, found: Fact, facts: Mapping[str, Fact]) -> Rejection | None:
    try:
        made = tree_fact(tree, facts)
    except TypeMismatch as error:
        return Rejection(f"ill-typed: {error}")
    try:
        meet(found, made)
    except ValueError as error:
        return Rejection(f"type differs: {error}")
    difference = _difference(found.type, made.type)
    return None if difference is None else Rejection(f"type differs: {difference}")


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


def _plan(trees: Sequence[Tree | Var], symbols: Symbols) -> Plan:
    nodes: list[tuple[Ref, ...]] = []
    operators: list[int] = []
    known: dict[Tree, int] = {}

    def place(tree: Tree | Var) -> Ref:
        if isinstance(tree, Var):
            return tree.name
        if tree not in known:
            nodes.append(tuple(place(item) for item in tree.inputs))
            operators.append(symbols.intern(tree.op))
            known[tree] = len(nodes) - 1
        return known[tree]

    roots = tuple(place(tree) for tree in trees)
    below = tuple(
        frozenset(_variables(tree)) if isinstance(tree, Tree) else frozenset() for tree in trees
    )
    return Plan(Structure(tuple(nodes), roots, below), tuple(operators))


def _variables(tree: Tree | Var) -> set[str]:
    if isinstance(tree, Var):
        return {tree.name}
    return set().union(*(_variables(item) for item in tree.inputs))
