"""Rules as the text of a Python file that defines them: terms as calls of the functions that build them.

Knows the kinds of terms that imported rules are made of, and nothing of TASO.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tensaur import ops
from tensaur.ir.operator import Operator, Project
from tensaur.ir.rule import EXACT, Rule
from tensaur.ir.term import Apply, AttrVar, Derived, Var, subterms

WIDTH = 100

_BUILDERS: dict[type[Operator], str] = {
    builder.args[0]: name
    for name in ops.__all__
    if isinstance(builder := getattr(ops, name), partial)
}


@dataclass(frozen=True, slots=True)
class Shared:
    """Attributes that many operators of a file have alike, and the name that they get there."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with its arguments, each behind a prefix; a tuple if the name is empty."""

    name: str
    arguments: tuple[_Argument, ...]


@dataclass(frozen=True, slots=True)
class _Argument:
    prefix: str
    value: str | _Call


def rule_lines(rule: Rule, shared: Sequence[Shared], indent: int = 4) -> list[str]:
    """Return the lines that build a rule, with a comma behind it."""
    arguments = [
        _Argument("", f'"{rule.name}"'),
        _Argument("", _side(rule.find, shared)),
        _Argument("", _side(rule.make, shared)),
    ]
    if rule.when:
        arguments.append(_Argument("when=", _side(rule.when, shared)))
    if rule.exactness is not EXACT:
        arguments.append(_Argument("exactness=", rule.exactness.name))
    return list(_lines(_Argument("", _Call("Rule", tuple(arguments))), indent))


def import_lines(rules: Sequence[Rule]) -> list[str]:
    """Return the import statements that a file with these rules needs, sorted."""
    wanted: dict[str, set[str]] = {"tensaur.ir.rule": {"Rule"}}

    def add(module: str, name: str) -> None:
        wanted.setdefault(module, set()).add(name)

    for rule in rules:
        if rule.exactness is not EXACT:
            add("tensaur.ir.rule", rule.exactness.name)
        for term in _terms(rule):
            if isinstance(term, Derived):
                add(term.function.__module__, term.function.__name__)
            elif isinstance(term, (Var, AttrVar)):
                add("tensaur.ir.term", type(term).__name__)
            elif isinstance(term, Apply) and isinstance(term.op, type):
                projects = term.op is Project
                add(*(("tensaur.ir.term", "project") if projects else ("tensaur.ops", _name(term))))
    return [line for module in sorted(wanted) for line in _import(module, wanted[module])]


def variable_lines(rules: Sequence[Rule]) -> list[str]:
    """Return the statements that define the variables of rules."""
    lines = []
    for kind in (Var, AttrVar):
        terms = (term for rule in rules for term in _terms(rule))
        names = sorted({term.name for term in terms if isinstance(term, kind)})
        if len(names) == 1:
            lines.append(f'{names[0]} = {kind.__name__}("{names[0]}")')
        elif names:
            listed = ", ".join(f'"{name}"' for name in names)
            lines.append(f"{', '.join(names)} = ({kind.__name__}(name) for name in ({listed}))")
    return lines


def _terms(rule: Rule) -> Iterator[Any]:
    for root in (*rule.finds, *rule.makes, *rule.when):
        yield from subterms(root)


def _import(module: str, names: Iterable[str]) -> Iterator[str]:
    # Constants first, then classes, then functions, as isort has it.
    ordered = sorted(names, key=lambda name: (not name.isupper(), name.islower(), name))
    line = f"from {module} import {', '.join(ordered)}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"from {module} import ("
    yield from (f"    {name}," for name in ordered)
    yield ")"


def _side(terms: Any, shared: Sequence[Shared]) -> str | _Call:
    if isinstance(terms, tuple):
        return _Call("", tuple(_Argument("", _code(term, shared)) for term in terms))
    return _code(terms, shared)


def _code(term: Any, shared: Sequence[Shared]) -> str | _Call:
    if isinstance(term, (Var, AttrVar)):
        return term.name
    if isinstance(term, Derived):
        inner = tuple(_Argument("", _code(item, shared)) for item in term.args)
        return _Call(term.function.__name__, inner)
    if not isinstance(term, Apply):
        return repr(term)
    inputs = [_Argument("", _code(item, shared)) for item in term.inputs]
    attributes = dict(term.attrs)
    if term.op is Project:
        return _Call("project", (*inputs, _Argument("", repr(attributes["index"]))))
    for item in shared:
        if item.attributes.items() <= attributes.items():
            inputs.append(_Argument("", f"**{item.name}"))
            attributes = {
                key: attributes[key] for key in attributes.keys() - item.attributes.keys()
            }
            break
    named = (_Argument(f"{key}=", _code(attributes[key], shared)) for key in sorted(attributes))
    return _Call(_name(term), (*inputs, *named))


def _name(term: Apply) -> str:
    assert isinstance(term.op, type)
    return _BUILDERS[term.op]


def _flat(argument: _Argument) -> str:
    value = argument.value
    if isinstance(value, str):
        return argument.prefix + value
    inner = ", ".join(map(_flat, value.arguments))
    comma = "," if not value.name and len(value.arguments) == 1 else ""
    return f"{argument.prefix}{value.name}({inner}{comma})"


def _lines(argument: _Argument, indent: int) -> Iterator[str]:
    """Yield an argument on one line if it fits, else its own arguments on lines of their own."""
    line = f"{' ' * indent}{_flat(argument)},"
    value = argument.value
    if len(line) <= WIDTH or isinstance(value, str):
        yield line
        return
    yield f"{' ' * indent}{argument.prefix}{value.name}("
    for item in value.arguments:
        yield from _lines(item, indent + 4)
    yield f"{' ' * indent}),"
