"""Proof by Z3: operators as uninterpreted functions, axioms as quantified equations (TASO's way).

TASO (Jia et al., SOSP 2019, section 4) gives Z3 one sort of tensors and does not model shapes. Here every
type is a sort of its own and every operator, with its attributes and the types of its inputs, a function;
an axiom is stated for those types and attributes that come up when the case is rewritten with it a few
times, where its conditions are asked. The two sides are then claimed to differ. Z3 is imported when it is
first used (extra `prove`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tensaur.egraph.pattern import attribute_terms
from tensaur.egraph.signature import admits, holds
from tensaur.errors import TypeMismatch, UsageError
from tensaur.ir.operator import Input, Literal, Operator, infer_fact
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Bindings,
    NotApplicable,
    OpVar,
    Seq,
    Tree,
    Var,
    resolve,
    tree_fact,
)
from tensaur.ir.types import Fact
from tensaur.proving.cases import Case

# How often axioms are applied to types, how many typed forms of one axiom are added each time, and how
# many there are at the most.
_ROUNDS = 4
_EACH = 24
_MOST = 1500


@dataclass(frozen=True, slots=True)
class Typed:
    """An axiom for given types and attributes: two trees over variables that stand for any content."""

    axiom: str
    left: Tree
    right: Tree | Var
    facts: Mapping[str, Fact]


@dataclass(frozen=True, slots=True)
class _Node:
    op: Operator
    inputs: tuple[Fact, ...]


class TypedAxioms:
    """Finds for which types and attributes axioms speak about a case.

    Works on terms whose leaves are forgotten but for their facts: one node for all operators of the same
    attributes and input facts.
    """

    def __init__(self, case: Case, axioms: Sequence[Rule]) -> None:
        self.found: dict[tuple[Any, ...], Typed] = {}
        self._axioms = axioms
        self._nodes: dict[Fact, dict[_Node, None]] = {}
        for tree in (*case.finds, *case.makes):
            self._note(tree, case.facts)

    def run(self) -> tuple[Typed, ...]:
        """Return the axioms for the types of the case, and for those that they lead to."""
        for _ in range(_ROUNDS):
            before = len(self.found)
            for axiom in self._axioms:
                self._apply(axiom)
            if len(self.found) in (before, _MOST):
                break
        return tuple(self.found.values())

    def _apply(self, axiom: Rule) -> None:
        most = min(_MOST, len(self.found) + _EACH)
        for (find,) in axiom.commuted():
            for fact in list(self._nodes):
                for bindings in self._matches(find, fact, Bindings()):
                    if len(self.found) >= most:
                        return
                    self._state(axiom, find, bindings)

    def _state(self, axiom: Rule, find: Apply, bindings: Bindings) -> None:
        key = (
            axiom.name,
            str(find),
            tuple(sorted(bindings.facts.items(), key=lambda item: item[0])),
            tuple(sorted(bindings.attrs.items(), key=lambda item: item[0])),
            tuple(sorted(bindings.ops.items(), key=lambda item: item[0])),
        )
        if key in self.found or not all(holds(item, bindings) for item in axiom.when):
            return
        try:
            left = resolve(find, bindings)
            right = resolve(axiom.makes[0], bindings)
            kind = tree_fact(left, bindings.facts).type
            made = tree_fact(right, bindings.facts).type
        except (NotApplicable, TypeMismatch):
            return
        # Where sizes are not known, one side may know more than the other: that is another sort.
        if isinstance(left, Tree) and kind == made and admits(axiom, kind):
            self.found[key] = Typed(axiom.name, left, right, bindings.facts)
            self._note(right, bindings.facts)

    def _note(self, tree: Tree | Var, facts: Mapping[str, Fact]) -> Fact:
        if isinstance(tree, Var):
            fact = facts[tree.name]
            leaf = Input("", fact.type) if fact.value is None else Literal(fact.value)
            self._nodes.setdefault(fact, {}).setdefault(_Node(leaf, ()))
            return fact
        inputs = tuple(self._note(item, facts) for item in tree.inputs)
        fact = replace(infer_fact(tree.op, inputs), constant=False)
        self._nodes.setdefault(fact, {}).setdefault(_Node(tree.op, inputs))
        return fact

    def _matches(self, term: Any, fact: Fact, bindings: Bindings) -> Iterator[Bindings]:
        """Yield the ways in which a term of an axiom can have a fact."""
        if isinstance(term, Var):
            bound = bindings.facts.get(term.name)
            if bound is None:
                yield replace(bindings, facts={**bindings.facts, term.name: fact})
            elif bound == fact:
                yield bindings
            return
        for node in list(self._nodes.get(fact, ())):
            for more in _operators(term, node.op, bindings):
                yield from self._inputs(term, node.inputs, more)

    def _inputs(
        self, term: Apply, inputs: tuple[Fact, ...], bindings: Bindings
    ) -> Iterator[Bindings]:
        items: Sequence[Any] = term.inputs
        if len(items) == 1 and isinstance(items[0], Seq):
            seq, length = items[0], len(inputs)
            if bindings.lengths.get(seq.name, length) != length:
                return
            items = [seq.item(i) for i in range(length)]
            bindings = replace(bindings, lengths={**bindings.lengths, seq.name: length})
        if len(items) == len(inputs):
            yield from self._each(items, inputs, bindings)

    def _each(
        self, items: Sequence[Any], inputs: tuple[Fact, ...], bindings: Bindings
    ) -> Iterator[Bindings]:
        if not items:
            yield bindings
            return
        for bound in self._matches(items[0], inputs[0], bindings):
            yield from self._each(items[1:], inputs[1:], bound)


def _operators(term: Apply, op: Operator, bindings: Bindings) -> Iterator[Bindings]:
    if isinstance(term.op, OpVar):
        bound = bindings.ops.get(term.op.name)
        if isinstance(op, term.op.choices) and bound in (None, op):
            yield replace(bindings, ops={**bindings.ops, term.op.name: op})
        return
    if type(op) is not term.op:
        return
    attrs = dict(bindings.attrs)
    for name, wanted in attribute_terms(term).items():
        value = getattr(op, name)
        expected = attrs.setdefault(wanted.name, value) if isinstance(wanted, AttrVar) else wanted
        left_out = value is None and isinstance(wanted, AttrVar)
        if left_out or type(expected) is not type(value) or expected != value:
            return
    yield replace(bindings, attrs=attrs)


class Z3:
    """Claims that the two sides of a case differ, beside typed axioms, and asks Z3."""

    def __init__(self, seconds: float) -> None:
        self._z3 = import_z3()
        self._solver = self._z3.SolverFor("UF")
        self._solver.set(timeout=max(1, int(1000 * seconds)), mbqi=False, auto_config=False)
        self._sorts: dict[str, Any] = {}
        self._functions: dict[Any, Any] = {}

    def assume(self, axiom: Typed) -> None:
        """Add an axiom."""
        variables: dict[str, Any] = {}
        left = self._tree(axiom.left, axiom.facts, variables)
        right = self._tree(axiom.right, axiom.facts, variables)
        bound = [item for item in variables.values() if item.decl().name().startswith(_BOUND)]
        if bound:
            self._solver.add(self._z3.ForAll(bound, left == right, patterns=[left]))
        else:
            self._solver.add(left == right)

    def differ(self, case: Case) -> str:
        """Ask whether the sides of a case can differ: "unsat" if not, else "sat" or why it is unknown."""
        leaves: dict[str, Any] = {}
        claims = []
        for found, made in zip(case.finds, case.makes, strict=True):
            kinds = [tree_fact(tree, case.facts).type for tree in (found, made)]
            if kinds[0] != kinds[1]:
                return f"the sides have different types, {kinds[0]} and {kinds[1]}"
            left = self._tree(found, case.facts, leaves, free=True)
            claims.append(left != self._tree(made, case.facts, leaves, free=True))
        self._solver.add(self._z3.Or(*claims))
        answer = str(self._solver.check())
        return answer if answer != "unknown" else str(self._solver.reason_unknown())

    def _tree(
        self,
        tree: Tree | Var,
        facts: Mapping[str, Fact],
        leaves: dict[str, Any],
        free: bool = False,
    ) -> Any:
        if isinstance(tree, Var):
            fact = facts[tree.name]
            if fact.value is not None and fact.value.raw is not None:
                return self._function(Literal(fact.value), (), fact)()
            if tree.name not in leaves:
                name = f"{_FREE if free else _BOUND}{tree.name}"
                leaves[tree.name] = self._z3.Const(name, self._sort(fact))
            return leaves[tree.name]
        inputs = [self._tree(item, facts, leaves, free) for item in tree.inputs]
        kinds = tuple(tree_fact(item, facts) for item in tree.inputs)
        return self._function(tree.op, kinds, tree_fact(tree, facts))(*inputs)

    def _function(self, op: Operator, inputs: tuple[Fact, ...], output: Fact) -> Any:
        types = tuple(str(fact.type) for fact in inputs)
        key = (type(op), op, types)
        if key not in self._functions:
            sorts = [self._sort(fact) for fact in (*inputs, output)]
            name = f"{op} of {', '.join(types)} #{len(self._functions)}"
            self._functions[key] = self._z3.Function(name, *sorts)
        return self._functions[key]

    def _sort(self, fact: Fact) -> Any:
        name = str(fact.type)
        if name not in self._sorts:
            self._sorts[name] = self._z3.DeclareSort(name)
        return self._sorts[name]


_BOUND, _FREE = "any ", "the "


def prove_by_z3(case: Case, axioms: Sequence[Rule], seconds: float) -> str:
    """Return "" if Z3 proves a case from the axioms, else why not."""
    prover = Z3(seconds)
    typed = TypedAxioms(case, axioms).run()
    for axiom in typed:
        prover.assume(axiom)
    answer = prover.differ(case)
    if answer == "unsat":
        return ""
    return f"z3 with {len(typed)} typed axioms: {answer}"


def import_z3() -> Any:
    """Return the module of Z3; UsageError if it is not installed."""
    try:
        import z3  # noqa: PLC0415  # heavy, and an extra
    except ImportError as error:
        raise UsageError("proof by z3 needs the extra: pip install tensaur[prove]") from error
    return z3
