"""What a rule's conditions say about its variables, found by looking at them and by asking them.

Conditions are black boxes: what stands beside a variable in one, and which facts make it true, is all
that can be known of it. Draws nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensaur.errors import TypeMismatch
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Bindings,
    Derived,
    Elem,
    NotApplicable,
    OpVar,
    Seq,
    Var,
    evaluate_derived,
    subterms,
)
from tensaur.ir.types import DType, Fact, TensorType

_PROBES = ((), (1,), (2,), (2, 2), (2, 2, 2), (2, 2, 2, 2))  # shapes to ask a condition about
_PROBED = 3  # variables of a condition that is asked about every combination
_TRIED = 300  # times that a condition may fail before its answer is taken to lie in the data


@dataclass(slots=True)
class Hint:
    """What a rule's derived values say about the data of one variable.

    `values` are plain values that stand beside it, `linked` the variables that stand beside it, and
    `wanted` says that an attribute is computed from it.
    """

    values: list[Any] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    wanted: bool = False


def collect_hints(rule: Rule) -> dict[str, Hint]:
    """Collect what stands beside each variable in the rule's derived values."""
    hints: dict[str, Hint] = {}
    attributes = set(map(id, _attributes(rule)))
    for root in (*rule.when, *rule.makes):
        for term in subterms(root):
            if not isinstance(term, Derived):
                continue
            values = [item for item in term.args if isinstance(item, (int, float, tuple))]
            variables = [item for item in term.args if isinstance(item, (Var, AttrVar))]
            for item in variables:
                hint = hints.setdefault(item.name, Hint())
                hint.values.extend(values)
                hint.linked.extend(v.name for v in variables if v is not item)
                hint.wanted |= id(term) in attributes
    return hints


def _attributes(rule: Rule) -> Iterator[Derived]:
    for root in rule.makes:
        for term in subterms(root):
            if isinstance(term, Apply):
                yield from (value for _, value in term.attrs if isinstance(value, Derived))


def forced_constancy(rule: Rule) -> dict[str, bool]:
    """Return for variables (and sequences) whether a condition wants them constant, or varying.

    Found by asking each condition about values of one shape, constant and not.
    """
    forced: dict[str, bool] = {}
    for condition in rule.when:
        variables = [item for item in condition.args if isinstance(item, (Var, Seq))]
        others = [i for i in condition.args if isinstance(i, (AttrVar, OpVar, Apply, Derived))]
        if others or not 0 < len(set(variables)) <= _PROBED:
            continue
        names = list(dict.fromkeys(item.name for item in variables))
        allowed: dict[str, set[bool]] = {name: set() for name in names}
        for flags in itertools.product((False, True), repeat=len(names)):
            chosen = dict(zip(names, flags, strict=True))
            if any(_answer(condition, _probe(variables, chosen, shape)) for shape in _PROBES):
                for name, flag in chosen.items():
                    allowed[name].add(flag)
        forced.update({name: flags.pop() for name, flags in allowed.items() if len(flags) == 1})
    return forced


def _probe(
    variables: Iterable[Var | Seq], constant: Mapping[str, bool], shape: tuple[int, ...]
) -> Bindings:
    facts = {}
    lengths = {}
    for item in variables:
        fact = Fact(TensorType(DType.FLOAT64, shape), None, constant[item.name])
        if isinstance(item, Var):
            facts[item.name] = fact
        else:
            lengths[item.name] = 2
            facts.update({item.item(i).name: fact for i in range(2)})
    return Bindings(facts, {}, {}, lengths)


def _answer(condition: Derived, bindings: Bindings) -> bool | None:
    """Return what a condition says; None if it asks for what is not bound yet."""
    try:
        return bool(evaluate_derived(condition, bindings))
    except (NotApplicable, TypeMismatch):
        return False
    except KeyError:
        return None


def holds(condition: Derived, bindings: Bindings) -> bool:
    """Tell whether a condition holds."""
    return _answer(condition, bindings) is True


class Conditions:
    """The conditions of a rule, asked early: as soon as what they speak of has been proposed.

    Proposals have types but no data, so a condition that never holds is not asked any more.
    """

    def __init__(self, rule: Rule) -> None:
        self._conditions = rule.when
        self._names = [_names(condition) for condition in rule.when]
        self._failures = [0] * len(rule.when)

    def about(self, term: Apply) -> tuple[int, ...]:
        """Return the numbers of the conditions that speak of a term's own variables."""
        own = (term.op, *(value for _, value in term.attrs), *term.inputs)
        names = {_name(item) for item in own}
        return tuple(i for i, item in enumerate(self._names) if item & names)

    def violated(self, numbers: Iterable[int], bindings: Bindings) -> int:
        """Count conditions that do not hold, of those that can be asked already."""
        count = 0
        for number in numbers:
            if self._failures[number] > _TRIED:
                continue
            answer = _answer(self._conditions[number], bindings)
            if answer is False:
                self._failures[number] += 1
                count += 1
            elif answer:
                self._failures[number] = -(10**9)  # it can hold
        return count


def _names(condition: Derived) -> frozenset[str]:
    return frozenset(filter(None, map(_name, subterms(condition))))


def _name(item: object) -> str:
    if isinstance(item, (Var, Seq, Elem)):
        name = item.seq.name if isinstance(item, Elem) else item.name
        return f"value {name.partition('.')[0]}"
    if isinstance(item, AttrVar):
        return f"attribute {item.name}"
    return f"operator {item.name}" if isinstance(item, OpVar) else ""
