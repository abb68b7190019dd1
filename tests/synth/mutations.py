"""Wrong variants of rules: what somebody who writes a rule may get wrong.

Makes the variants; whether one is wrong is for `verify`, and for the oracle in `oracle`, to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensaur.errors import RuleError
from tensaur.ir.operator import Operator, Project
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Choose,
    Const,
    Derived,
    Each,
    Pick,
    Seq,
    Term,
    Var,
    derived,
    subterms,
)
from tensaur.ir.types import DType, Known
from tensaur.ops import OPERATORS, abs_, neg, relu

FEWEST = 3
MOST_OF_A_KIND = 3

Variants = Iterator[tuple[Any, str]]  # a term, or a whole rule, and what was changed in it


@dataclass(frozen=True)
class Mutant:
    """A variant of a one-way rule, the kind of change, and what was changed."""

    rule: Rule
    kind: str
    change: str

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.change}"


def mutants(rule: Rule) -> list[Mutant]:
    """Return variants of a rule: at least FEWEST; without each condition, else MOST_OF_A_KIND at most."""
    found: list[Mutant] = []
    seen = {_content(rule)}
    for kind, variants in (*_KINDS.items(), ("result changed", _result_changed)):
        number = 0
        for variant, change in variants(rule):
            if kind == "result changed" and len(found) >= FEWEST:
                break
            full = number == MOST_OF_A_KIND and kind != "condition dropped"
            if _content(variant) in seen or full:
                continue
            seen.add(_content(variant))
            number += 1
            name = f"{rule.name}-{kind.replace(' ', '-')}-{number}"
            found.append(Mutant(replace(variant, name=name), kind, change))
    return found


def _content(rule: Rule) -> str:
    return str(replace(rule, name="", both_ways=False))


def _condition_dropped(rule: Rule) -> Variants:
    for number, condition in enumerate(rule.when):
        rest = rule.when[:number] + rule.when[number + 1 :]
        yield replace(rule, when=rest, both_ways=False), f"without {condition}"


def _in_make(local: Callable[[Any, Rule], Variants]) -> Callable[[Rule], Variants]:
    """Apply a change of one term at every place of what a rule makes."""

    def variants(rule: Rule) -> Variants:
        makes = rule.make if isinstance(rule.make, tuple) else (rule.make,)
        for number, term in enumerate(makes):
            for changed, change in _somewhere(term, lambda item: local(item, rule)):
                made: Any = (*makes[:number], changed, *makes[number + 1 :])
                made = made if isinstance(rule.make, tuple) else made[0]
                try:
                    variant = replace(rule, make=made, both_ways=False)
                    assert variant.makes
                except RuleError:
                    continue
                yield variant, change

    return variants


def _somewhere(term: Any, local: Callable[[Any], Variants]) -> Variants:
    """Yield a term with one change at one place."""
    yield from local(term)
    if isinstance(term, Apply):
        for i, item in enumerate(term.inputs):
            for changed, change in _somewhere(item, local):
                inputs = (*term.inputs[:i], changed, *term.inputs[i + 1 :])
                yield replace(term, inputs=inputs), change
    elif isinstance(term, Each):
        for changed, change in _somewhere(term.body, local):
            yield replace(term, body=changed), change
    elif isinstance(term, Choose):
        for i, item in enumerate(term.options):
            for changed, change in _somewhere(item, local):
                options = (*term.options[:i], changed, *term.options[i + 1 :])
                yield replace(term, options=options), change


def _attribute_changed(term: Any, rule: Rule) -> Variants:
    if not isinstance(term, Apply) or term.op is Project:
        return
    for i, (name, value) in enumerate(term.attrs):
        for changed in _alterations(value):
            attrs = (*term.attrs[:i], (name, changed), *term.attrs[i + 1 :])
            yield replace(term, attrs=attrs), f"{name}={changed} in {term}"


def _alterations(value: Any) -> Iterator[Any]:
    if isinstance(value, (AttrVar, Derived)):
        yield altered(value)
        return
    try:
        yield altered.function(value)  # type: ignore[attr-defined]  # set by `derived`
    except TypeError:
        return


def _output_changed(term: Any, rule: Rule) -> Variants:
    if isinstance(term, Apply) and term.op is Project:
        (index,) = (value for _, value in term.attrs)
        if isinstance(index, int):
            other = 1 - index if index < 2 else 0
            yield replace(term, attrs=(("index", other),)), f"output {other} of {term.inputs[0]}"
    if isinstance(term, Pick):
        yield replace(term, index=altered(term.index)), f"another input than {term}"


def _constant_changed(term: Any, rule: Rule) -> Variants:
    if isinstance(term, Const):
        yield Const(altered(term.value)), f"{term} altered"


def _operator_changed(term: Any, rule: Rule) -> Variants:
    if not isinstance(term, Apply) or not isinstance(term.op, type):
        return
    for other in _like(term.op)[:2]:
        yield replace(term, op=other), f"{other.__name__} instead of {term.op.__name__}"


def _like(op: type[Operator]) -> list[type[Operator]]:
    """Return other classes with the same attributes and number of inputs, the next ones first."""
    if op not in OPERATORS:
        return []
    place = OPERATORS.index(op)
    others = (*OPERATORS[place + 1 :], *OPERATORS[:place])
    form = (op.field_names(), op.arity, op.arity_min)
    return [cls for cls in others if (cls.field_names(), cls.arity, cls.arity_min) == form]


def _operands_swapped(term: Any, rule: Rule) -> Variants:
    if not isinstance(term, Apply) or len(term.inputs) < 2 or term.inputs[0] == term.inputs[1]:
        return
    if isinstance(term.op, type) and not term.op.commutative:
        first, second, *rest = term.inputs
        yield replace(term, inputs=(second, first, *rest)), f"operands of {term} swapped"


def _operand_dropped(term: Any, rule: Rule) -> Variants:
    if not isinstance(term, Apply) or len(term.inputs) < 2:
        return
    for item in term.inputs[:2]:
        if isinstance(item, (Seq, Each)):
            continue
        yield item, f"{item} instead of {term}"
    classes = (term.op,) if isinstance(term.op, type) else term.op.choices
    if all(op.accepts_arity(len(term.inputs) - 1) for op in classes):
        yield replace(term, inputs=term.inputs[:-1]), f"{term.inputs[-1]} left out of {term}"


def _variable_changed(term: Any, rule: Rule) -> Variants:
    if isinstance(term, Var):
        found = (item for root in rule.finds for item in subterms(root))
        others = dict.fromkeys(v for v in found if isinstance(v, Var) and v != term)
        for other in others:
            yield other, f"{other} instead of {term}"


def _result_changed(rule: Rule) -> Variants:
    """Yield a rule with a unary operator around what it makes; only for rules with little else."""
    makes: tuple[Term, ...] = rule.make if isinstance(rule.make, tuple) else (rule.make,)
    for wrap in (neg, abs_, relu):
        made: Any = (wrap(makes[0]), *makes[1:])
        variant = made if isinstance(rule.make, tuple) else made[0]
        yield replace(rule, make=variant, both_ways=False), f"{wrap(makes[0])} is made"


_KINDS: dict[str, Callable[[Rule], Variants]] = {
    "condition dropped": _condition_dropped,
    "operands swapped": _in_make(_operands_swapped),
    "constant changed": _in_make(_constant_changed),
    "attribute changed": _in_make(_attribute_changed),
    "output changed": _in_make(_output_changed),
    "operator changed": _in_make(_operator_changed),
    "variable changed": _in_make(_variable_changed),
    "operand dropped": _in_make(_operand_dropped),
}


@derived
def altered(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value - 1 if value < 0 else value + 1
    if isinstance(value, float):
        return 2 * value if value else 1.0
    if isinstance(value, Known):
        return _altered_constant(value)
    if isinstance(value, tuple) and value:
        rotated = (*value[1:], value[0])
        last = altered.function(value[-1])  # type: ignore[attr-defined]  # set by `derived`
        return rotated if rotated != value else (*value[:-1], last)
    raise TypeError(f"no other value than {value}")


def _altered_constant(value: Known) -> Known:
    array = value.array
    if array is None or value.dtype is DType.BOOL:
        raise TypeError("no other constant")
    if value.dtype.is_integer and array.ndim == 1 and array.size > 1 and len(set(array)) > 1:
        return Known.of(np.roll(array, 1), value.dtype)  # a shape
    return Known.of(np.where(array == 0, 1, 2 * array), value.dtype)
