"""Rules made ready for matching: orders of commutative inputs, lengths of sequences, canonical names.

Holds no e-graph; `match` finds the patterns that are prepared here.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule, with_member
from tensaur.ir.term import Apply, AttrVar, OpVar, Seq, Term, Var, subterms

# Columns of matches are named by the text of the variable: `x` a value, `$p` an attribute, `?f` an
# operator.
Renaming = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Canonical:
    """A term whose variables are numbered in order of appearance; `names` leads back to the rule's.

    Terms of different rules that differ only in names have one canonical term and share its matches.
    """

    term: Apply
    names: Renaming


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What one rule finds, for given lengths of its sequences, in every order of commutative inputs.

    `mirror` renames the variables when the two terms of a symmetric multi-pattern change places. For a
    group rule, one member is found, and `group` is the name of its sequence.
    """

    rule: int
    lengths: Mapping[str, int]
    variants: tuple[tuple[Canonical, ...], ...]
    columns: tuple[str, ...]
    mirror: Renaming | None
    group: str | None = None


def canonical(term: Apply) -> Canonical:
    """Rename the variables of a term in order of appearance."""
    (renamed,), names = _rename((term,))
    return Canonical(renamed, names)


def sequence_operators(rule: Rule) -> tuple[tuple[type[Operator], ...], ...]:
    """Return for every node that the rule finds with a sequence of inputs the classes it can be."""
    nodes = [term for find in rule.finds for term in _applies(find)]
    return tuple(_choices(node) for node in nodes if _has_sequence(node))


def operator_choices(rule: Rule) -> tuple[tuple[type[Operator], ...], ...]:
    """Return for every operator node that the rule finds the classes that it can be."""
    return tuple(_choices(term) for find in rule.finds for term in _applies(find))


def sources(index: int, rule: Rule, lengths: Iterable[int]) -> Iterator[Source]:
    """Yield what a rule finds: once, or for every one of `lengths` if it has a sequence."""
    sequence = rule.sequence
    if rule.group is not None:
        member = Var(f"{rule.group.name}.*")
        found = tuple(
            tuple(with_member(term, member) for term in terms) for terms in rule.commuted()
        )
        yield replace(_source(index, found, {}), group=rule.group.name)
        return
    if sequence is None:
        yield _source(index, rule.commuted(), {})
        return
    for length in lengths:
        variants = tuple(
            tuple(_unroll(term, length) for term in terms) for terms in rule.commuted()
        )
        yield _source(index, variants, {sequence.name: length})


def mentioned(terms: Iterable[Any], lengths: Mapping[str, int]) -> tuple[str, ...]:
    """Return the columns of matches that hold what some terms or conditions mention."""
    names: dict[str, None] = {}
    for item in itertools.chain.from_iterable(subterms(term) for term in terms):
        if isinstance(item, (Var, AttrVar, OpVar)):
            names[str(item)] = None
        elif isinstance(item, Seq):
            names |= dict.fromkeys(str(item.item(i)) for i in range(lengths[item.name]))
    return tuple(names)


def member_name(source: Source) -> str:
    """Return the column of a group rule's matches in which the members of a group differ."""
    return f"{source.group}.*"


def default_attributes(op: type[Operator]) -> dict[str, Any]:
    """Return the attributes of an operator class that have a default."""
    missing = dataclasses.MISSING
    return {
        item.name: item.default for item in dataclasses.fields(op) if item.default is not missing
    }


def attribute_terms(term: Apply) -> dict[str, Any]:
    """Return the attribute terms of an operator class; those not written must have their default."""
    if isinstance(term.op, OpVar):
        return {}
    return {**default_attributes(term.op), **dict(term.attrs)}


def _source(
    index: int, variants: tuple[tuple[Apply, ...], ...], lengths: Mapping[str, int]
) -> Source:
    prepared = tuple(tuple(canonical(term) for term in terms) for terms in variants)
    columns = {name for term in prepared[0] for name in term.names.values()}
    return Source(index, lengths, prepared, tuple(sorted(columns)), _mirror(variants))


def _mirror(variants: tuple[tuple[Apply, ...], ...]) -> Renaming | None:
    if len(variants[0]) != 2:
        return None
    first, second = variants[0]
    swapped, new = _rename((second, first))
    for terms in variants:
        straight, old = _rename(terms)
        if straight == swapped:
            return {old[name]: new[name] for name in old}
    return None


def _rename(terms: tuple[Apply, ...]) -> tuple[tuple[Apply, ...], dict[str, str]]:
    names: dict[str, str] = {}
    renamed: dict[str, Any] = {}

    def variable(item: Any) -> Any:
        if not isinstance(item, (Var, AttrVar, OpVar)):
            return item
        if str(item) not in renamed:
            new = replace(item, name=str(len(renamed)))
            renamed[str(item)] = new
            names[str(new)] = str(item)
        return renamed[str(item)]

    def walk(term: Apply) -> Apply:
        op = variable(term.op)
        attrs = tuple((name, variable(value)) for name, value in term.attrs)
        inputs = tuple(
            walk(item) if isinstance(item, Apply) else variable(item) for item in term.inputs
        )
        return Apply(op, attrs, inputs)

    return tuple(walk(term) for term in terms), names


def _unroll(term: Apply, length: int) -> Apply:
    inputs: list[Term] = []
    for item in term.inputs:
        if isinstance(item, Seq):
            inputs.extend(item.item(position) for position in range(length))
        else:
            inputs.append(_unroll(item, length) if isinstance(item, Apply) else item)
    return replace(term, inputs=tuple(inputs))


def _applies(term: Term) -> Iterator[Apply]:
    if isinstance(term, Apply):
        yield term
        yield from itertools.chain.from_iterable(_applies(item) for item in term.inputs)


def _choices(term: Apply) -> tuple[type[Operator], ...]:
    return term.op.choices if isinstance(term.op, OpVar) else (term.op,)


def _has_sequence(term: Apply) -> bool:
    return any(isinstance(item, Seq) for item in term.inputs)
