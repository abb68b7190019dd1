"""Whether two rules are one equation: up to names, sides, and the order of commutative operands.

Conditions are not compared: where a rule holds is what proofs and tests are about.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, Derived, Elem, Index, OpVar, Seq, Var


def is_like(rule: Rule, axiom: Rule) -> bool:
    """Tell whether a rule is the equation of an axiom, perhaps for fewer operators."""
    return any(
        _covers(shape, other)
        for shape in _shapes(rule)
        for sides in _sides(axiom)
        if (other := _shape(sides)).form == shape.form
    )


@dataclass
class _Shape:
    """An equation with its variables numbered in order of appearance; `choices` of operator variables."""

    form: tuple[Any, ...] = ()
    choices: list[tuple[type[Operator], ...]] = field(default_factory=list)
    numbers: dict[Any, int] = field(default_factory=dict)

    def put(self, term: Any) -> Any:
        """Return a term as a plain structure."""
        if isinstance(term, OpVar):
            if term.name not in self.numbers:
                self.choices.append(term.choices)
            return ("op", self.numbers.setdefault(term.name, len(self.numbers)))
        if isinstance(term, (Var, AttrVar, Seq, Elem, Index)):
            name = term.seq.name if isinstance(term, (Elem, Index)) else term.name
            key = (type(term), name)
            return (type(term), self.numbers.setdefault(key, len(self.numbers)))
        if isinstance(term, Apply):
            attrs = tuple((name, self.put(value)) for name, value in term.attrs)
            return (self.put(term.op), attrs, tuple(map(self.put, term.inputs)))
        if isinstance(term, Derived):
            return (term.function, tuple(map(self.put, term.args)))
        if isinstance(term, tuple):
            return tuple(map(self.put, term))
        return term


def _shapes(rule: Rule) -> Iterator[_Shape]:
    return map(_shape, _sides(rule))


def _shape(sides: tuple[Any, ...]) -> _Shape:
    shape = _Shape()
    shape.form = tuple(map(shape.put, sides))
    return shape


def _sides(rule: Rule) -> Iterator[tuple[Any, ...]]:
    """Yield both sides of an equation in every order that says the same."""
    makes = rule.makes
    others = [makes]
    if all(isinstance(term, Apply) for term in makes):
        others += list(_orders(makes))
    for found, made in itertools.product(rule.commuted(), others):
        yield (*found, *made)
        yield (*made, *found)


def _orders(terms: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    (term, *rest) = terms
    if rest or len(term.inputs) != 2 or isinstance(term.op, OpVar):
        return
    op: type[Operator] = term.op
    if op.commutative:
        yield (Apply(op, term.attrs, term.inputs[::-1]),)


def _covers(shape: _Shape, other: _Shape) -> bool:
    pairs = zip(shape.choices, other.choices, strict=True)
    return all(set(mine) <= set(theirs) for mine, theirs in pairs)
