"""Print and parse operators, rule terms, and trees of concrete operators.

The notation of terms: ``x`` a variable, ``$p`` an attribute variable, ``?f<Relu, Tanh>(x)`` an operator
variable, ``*xs`` all inputs, ``*(Relu(~xs) for xs)`` one term for each of them (``~xs`` the current one,
``^xs`` its position), ``xs[0]`` one of them, ``@compose($p, $q)`` a derived value, ``const(...)`` a literal,
``choose(@which(x); a, b)`` one of several terms.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tensaur.errors import ParseError
from tensaur.ir.notation import (
    Tokens,
    attribute_text,
    known_text,
    parse_attribute,
    parse_known,
    quoted,
    tuple_text,
)
from tensaur.ir.operator import STRUCTURAL, Literal, Operator
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Choose,
    Const,
    Derived,
    Each,
    Elem,
    Index,
    OpVar,
    Pick,
    Seq,
    Term,
    Tree,
    Var,
)
from tensaur.ir.types import Known

Operators = Iterable[type[Operator]]


def operator_text(op: Operator) -> str:
    """Return an operator with those attributes that differ from their defaults."""
    shown = []
    for item in dataclasses.fields(op):
        text = attribute_text(getattr(op, item.name))
        if item.default is dataclasses.MISSING or text != attribute_text(item.default):
            shown.append(f"{item.name}={text}")
    return type(op).__name__ + (f"{{{', '.join(shown)}}}" if shown else "")


def tree_text(tree: Tree | Var) -> str:
    """Return a tree of concrete operators as text."""
    if isinstance(tree, Var):
        return _var_text(tree)
    if isinstance(tree.op, Literal):
        return known_text(tree.op.value)
    return f"{operator_text(tree.op)}({', '.join(tree_text(item) for item in tree.inputs)})"


def term_text(term: Any) -> str:
    """Return a pattern term, or what may stand as an attribute in one, as text."""
    printer = _PRINTERS.get(type(term))
    if printer is not None:
        return printer(term)
    if isinstance(term, tuple):
        return tuple_text([term_text(item) for item in term])
    return attribute_text(term)


def parse_term(
    text: str, operators: Operators, functions: Iterable[Callable[..., Any]] = ()
) -> Any:
    """Return the pattern term that a text describes; `functions` are those that derive values."""
    tokens = Tokens(text)
    term = _TermParser(tokens, operators, functions).parse()
    tokens.end()
    return term


def parse_tree(text: str, operators: Operators) -> Tree | Var:
    """Return the tree of concrete operators that a text describes."""
    tokens = Tokens(text)
    tree = _parse_tree(tokens, registry(operators))
    tokens.end()
    return tree


def _var_text(var: Var) -> str:
    text = quoted(var.name)
    return text if text == var.name else f"var({json.dumps(var.name)})"


def _apply_text(term: Apply) -> str:
    name = term.op.__name__ if isinstance(term.op, type) else term_text(term.op)
    attrs = ", ".join(f"{key}={term_text(value)}" for key, value in term.attrs)
    inputs = ", ".join(term_text(item) for item in term.inputs)
    return f"{name}{{{attrs}}}({inputs})" if attrs else f"{name}({inputs})"


def _op_var_text(op: OpVar) -> str:
    return f"?{quoted(op.name)}<{', '.join(cls.__name__ for cls in op.choices)}>"


def _derived_text(value: Derived) -> str:
    return f"@{value.function.__name__}({', '.join(term_text(arg) for arg in value.args)})"


def _choose_text(term: Choose) -> str:
    options = ", ".join(term_text(option) for option in term.options)
    return f"choose({term_text(term.index)}; {options})"


_PRINTERS: dict[type, Callable[[Any], str]] = {
    Var: _var_text,
    Apply: _apply_text,
    OpVar: _op_var_text,
    Derived: _derived_text,
    Choose: _choose_text,
    AttrVar: lambda term: f"${quoted(term.name)}",
    Seq: lambda term: f"*{quoted(term.name)}",
    Elem: lambda term: f"~{quoted(term.seq.name)}",
    Index: lambda term: f"^{quoted(term.seq.name)}",
    Each: lambda term: f"*({term_text(term.body)} for {quoted(term.seq.name)})",
    Pick: lambda term: f"{quoted(term.seq.name)}[{term_text(term.index)}]",
    Const: lambda term: f"const({term_text(term.value)})",
}


def registry(operators: Operators) -> dict[str, type[Operator]]:
    """Return the operator classes by name, the structural ones included."""
    return {cls.__name__: cls for cls in (*STRUCTURAL, *operators)}


def _find_class(tokens: Tokens, classes: Mapping[str, type[Operator]]) -> type[Operator]:
    name = tokens.name()
    if name not in classes:
        raise ParseError(f"line {tokens.line}: no operator is called {name!r}")
    return classes[name]


def _parse_attributes(tokens: Tokens, value: Callable[[], Any]) -> dict[str, Any]:
    attributes: dict[str, Any] = {}

    def parse_one() -> None:
        name = tokens.name()
        tokens.expect("=")
        attributes[name] = value()

    if tokens.accept("{"):
        tokens.listed("}", parse_one)
    return attributes


def parse_operator(tokens: Tokens, classes: Mapping[str, type[Operator]]) -> Operator:
    """Take an operator with its attributes."""
    cls = _find_class(tokens, classes)
    attributes = _parse_attributes(tokens, lambda: parse_attribute(tokens))
    try:
        return cls(**attributes)
    except (TypeError, ValueError) as error:
        raise ParseError(f"line {tokens.line}: {error}") from error


def _parse_tree(tokens: Tokens, classes: Mapping[str, type[Operator]]) -> Tree | Var:
    if tokens.at("var", "("):
        return _parse_quoted_var(tokens)
    if tokens.peek(1).text == "[":
        return Tree(Literal(parse_known(tokens)), ())
    if tokens.peek(1).text not in ("(", "{"):
        return Var(tokens.name())
    op = parse_operator(tokens, classes)
    tokens.expect("(")
    inputs = tokens.listed(")", lambda: _parse_tree(tokens, classes))
    check_arity(tokens, type(op), len(inputs))
    return Tree(op, tuple(inputs))


def _parse_quoted_var(tokens: Tokens) -> Var:
    tokens.expect("var")
    tokens.expect("(")
    name = json.loads(tokens.take("string"))
    tokens.expect(")")
    return Var(name)


def check_arity(tokens: Tokens, cls: type[Operator], count: int) -> None:
    """Raise a ParseError if the class does not take so many inputs."""
    if not cls.accepts_arity(count):
        raise ParseError(f"line {tokens.line}: {cls.__name__} cannot have {count} inputs")


class _TermParser:
    """Takes pattern terms from tokens."""

    def __init__(
        self, tokens: Tokens, operators: Operators, functions: Iterable[Callable[..., Any]]
    ) -> None:
        self._tokens = tokens
        self._classes = registry(operators)
        self._functions = {function.__name__: function for function in functions}

    def parse(self) -> Any:
        """Take a term, or the value of an attribute."""
        tokens = self._tokens
        for mark, parse in self._marks().items():
            if tokens.accept(mark):
                return parse()
        if tokens.at("var", "("):
            return _parse_quoted_var(tokens)
        if tokens.at("const", "(") or tokens.at("choose", "("):
            return self._parse_word()
        bare = tokens.peek().kind == "name" and quoted(tokens.peek().text) == tokens.peek().text
        return self._parse_named() if bare else parse_attribute(tokens, self.parse)

    def _marks(self) -> dict[str, Callable[[], Any]]:
        tokens = self._tokens
        return {
            "$": lambda: AttrVar(tokens.name()),
            "~": lambda: Elem(Seq(tokens.name())),
            "^": lambda: Index(Seq(tokens.name())),
            "*": self._parse_sequence,
            "?": self._parse_op_var,
            "@": self._parse_derived,
        }

    def _parse_sequence(self) -> Seq | Each:
        tokens = self._tokens
        if not tokens.accept("("):
            return Seq(tokens.name())
        body = self._term()
        tokens.expect("for")
        seq = Seq(tokens.name())
        tokens.expect(")")
        return Each(seq, body)

    def _parse_op_var(self) -> OpVar | Apply:
        tokens = self._tokens
        name = tokens.name()
        tokens.expect("<")
        choices = tokens.listed(">", lambda: _find_class(tokens, self._classes))
        op = OpVar(name, tuple(choices))
        return op(*tokens.listed(")", self._term)) if tokens.accept("(") else op

    def _parse_derived(self) -> Derived:
        tokens = self._tokens
        name = tokens.name()
        if name not in self._functions:
            raise ParseError(f"line {tokens.line}: no function is called {name!r}")
        tokens.expect("(")
        return Derived(self._functions[name], tuple(tokens.listed(")", self.parse)))

    def _parse_word(self) -> Const | Choose:
        tokens = self._tokens
        word = tokens.name()
        tokens.expect("(")
        value = self.parse()
        if word == "const":
            tokens.expect(")")
            self._require(value, Derived | Known)
            return Const(value)
        tokens.expect(";")
        self._require(value, Derived)
        return Choose(value, tuple(tokens.listed(")", self._term)))

    def _parse_named(self) -> Var | Pick | Apply:
        tokens = self._tokens
        if tokens.peek(1).text in ("(", "{"):
            cls = _find_class(tokens, self._classes)
            attributes = _parse_attributes(tokens, self.parse)
            tokens.expect("(")
            return Apply(cls, tuple(attributes.items()), tuple(tokens.listed(")", self._term)))
        name = tokens.name()
        if not tokens.accept("["):
            return Var(name)
        index = self.parse()
        tokens.expect("]")
        self._require(index, Derived | int)
        return Pick(Seq(name), index)

    def _term(self) -> Term:
        value = self.parse()
        self._require(value, Term)
        term: Term = value
        return term

    def _require(self, value: Any, kind: Any) -> None:
        if not isinstance(value, kind):
            self._tokens.fail("another kind of value before this")
