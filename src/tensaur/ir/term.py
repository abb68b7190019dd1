"""Terms: what rules are written in, and what they become once their variables are bound.

A *pattern term* (`Var`, `Apply`, `Seq`, ...) may hold variables for values, attributes, operators and
whole input lists. `resolve` turns one into a *tree* (`Tree`), in which every operator is a concrete
`Operator` and only `Var` leaves are left: value variables are bound to e-classes or graph nodes by
whoever uses the tree. Attribute variables and `Derived` values need only facts, never data, so one
resolved tree serves every match of one signature.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tensaur.errors import RuleError, TypeMismatch
from tensaur.ir.operator import Literal, Operator, Project, infer_fact
from tensaur.ir.types import Fact, Known


@dataclass(frozen=True, slots=True)
class Var:
    """A variable for one value."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Seq:
    """A variable for all inputs of a variadic operator; the only entry of its input list.

    A rule holds at most one. `Var(f"{name}.{i}")` is the i-th input once the length is known.
    """

    name: str

    def __str__(self) -> str:
        return f"*{self.name}"

    def item(self, index: int) -> Var:
        """Return the variable that stands for the input number `index`."""
        return Var(f"{self.name}.{index}")


@dataclass(frozen=True, slots=True)
class AttrVar:
    """A variable for the value of one attribute; one that is left out (None) is no value.

    The meaning of what is left out may depend on a rank that is not known, and differ from place to place.
    """

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True, slots=True)
class OpVar:
    """A variable for an operator with its attributes, of one of the classes `choices`."""

    name: str
    choices: tuple[type[Operator], ...]

    def __call__(self, *inputs: Term) -> Apply:
        """Apply the operator variable."""
        return Apply(self, (), inputs)

    def __str__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True, slots=True)
class Elem:
    """Inside `Each`: the current input of the sequence."""

    seq: Seq

    def __str__(self) -> str:
        return f"{self.seq.name}.i"


@dataclass(frozen=True, slots=True)
class Index:
    """Inside `Each`, as an argument of a derived value: the position of the current input."""

    seq: Seq

    def __str__(self) -> str:
        return "i"


@dataclass(frozen=True, slots=True)
class Each:
    """As the only input of a variadic operator: `body` once for every input of the sequence."""

    seq: Seq
    body: Term

    def __str__(self) -> str:
        return f"*[{self.body} for {self.seq.name}.i in {self.seq.name}]"


@dataclass(frozen=True, slots=True)
class Pick:
    """The input of the sequence at a derived position; a None position means: rule not applicable."""

    seq: Seq
    index: Derived | int

    def __str__(self) -> str:
        return f"{self.seq.name}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Const:
    """A literal with a derived value (a `Known`); only in what a rule makes."""

    value: Derived | Known

    def __str__(self) -> str:
        return f"const({self.value})"


@dataclass(frozen=True, slots=True)
class Choose:
    """One of several terms, by a derived index; None means: rule not applicable. Only in `make`."""

    index: Derived
    options: tuple[Term, ...]

    def __str__(self) -> str:
        return f"choose({self.index}; {', '.join(str(term) for term in self.options)})"


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator class (or operator variable) applied to attribute terms and input terms."""

    op: type[Operator] | OpVar
    attrs: tuple[tuple[str, Any], ...]
    inputs: tuple[Term, ...]

    def __str__(self) -> str:
        name = self.op.__name__ if isinstance(self.op, type) else str(self.op)
        attrs = ", ".join(f"{key}={value}" for key, value in self.attrs)
        return (
            f"{name}({', '.join(str(item) for item in self.inputs)}{'; ' + attrs if attrs else ''})"
        )


Term = Var | Seq | Elem | Each | Pick | Const | Choose | Apply


@dataclass(frozen=True, slots=True)
class Derived:
    """A named, pure function of facts and attribute values; evaluated once per match signature.

    Arguments: `Var` and `Apply` give a `Fact`, `Seq` a tuple of facts, `AttrVar` its value, `OpVar` the
    operator, `Index` an int, `Derived` its value; anything else stands for itself. A result of None, or
    a None argument (but for functions that accept it), means that the rule does not apply.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]

    def __str__(self) -> str:
        name = self.function.__name__.replace("_", "-")
        return f"{name}({', '.join(str(arg) for arg in self.args)})"


def derived(function: Callable[..., Any]) -> Callable[..., Derived]:
    """Make a plain function usable in rules: called with terms, it yields a `Derived`.

    The plain function stays reachable as `.function`.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def build(*args: Any, **kwargs: Any) -> Derived:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Derived(function, bound.args)

    build.function = function  # type: ignore[attr-defined]  # mypy knows no function attributes
    return build


@dataclass(frozen=True)
class Bindings:
    """What the variables of a rule are bound to, as far as facts go."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ops: Mapping[str, Operator] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)


class NotApplicable(Exception):
    """Control flow inside this module and its callers: a derived value is None or a type is refused.

    Not a `TensaurError`: users never see it.
    """


@dataclass(frozen=True, slots=True)
class Tree:
    """A concrete operator applied to trees and value variables."""

    op: Operator
    inputs: tuple[Tree | Var, ...]

    def __str__(self) -> str:
        return (
            f"{self.op}({', '.join(str(item) for item in self.inputs)})"
            if self.inputs
            else str(self.op)
        )


def evaluate_derived(value: Any, bindings: Bindings, index: int | None = None) -> Any:
    """Return the value of an attribute term (see `Derived`); NotApplicable if there is none."""
    if isinstance(value, Derived):
        args = [evaluate_derived(arg, bindings, index) for arg in value.args]
        try:
            result = value.function(*args)
        except (TypeMismatch, TypeError, ValueError, LookupError, ZeroDivisionError) as error:
            raise NotApplicable(f"{value}: {error}") from error
        if result is None:
            raise NotApplicable(f"{value} is undefined")
        return result
    if isinstance(value, AttrVar):
        return bindings.attrs[value.name]
    if isinstance(value, Var):
        return bindings.facts[value.name]
    if isinstance(value, OpVar):
        return bindings.ops[value.name]
    if isinstance(value, Seq):
        return tuple(
            bindings.facts[value.item(i).name] for i in range(bindings.lengths[value.name])
        )
    if isinstance(value, Index):
        return index
    if isinstance(value, (Apply, Elem, Pick, Const, Choose)):
        return tree_fact(resolve(value, bindings, index), bindings.facts)
    return value


def resolve(term: Term, bindings: Bindings, index: int | None = None) -> Tree | Var:
    """Turn a pattern term into a tree; NotApplicable if a derived value is undefined."""
    if isinstance(term, Var):
        return term
    if isinstance(term, Elem):
        if index is None:
            raise RuleError(f"{term} stands outside Each")
        return term.seq.item(index)
    if isinstance(term, Pick):
        position = evaluate_derived(term.index, bindings, index)
        if not 0 <= position < bindings.lengths[term.seq.name]:
            raise NotApplicable(f"{term}: position {position} is outside the sequence")
        return term.seq.item(position)
    if isinstance(term, Const):
        value = evaluate_derived(term.value, bindings, index)
        if value.raw is None:
            raise NotApplicable(f"{term} is symbolic")
        return Tree(Literal(value), ())
    if isinstance(term, Choose):
        return resolve(term.options[evaluate_derived(term.index, bindings, index)], bindings, index)
    if isinstance(term, Apply):
        op = _resolve_operator(term, bindings, index)
        return Tree(op, tuple(_resolve_inputs(term.inputs, bindings, index)))
    raise RuleError(f"{term} can only stand as the input list of a variadic operator")


def _resolve_operator(term: Apply, bindings: Bindings, index: int | None) -> Operator:
    if isinstance(term.op, OpVar):
        return bindings.ops[term.op.name]
    return term.op(**{name: evaluate_derived(value, bindings, index) for name, value in term.attrs})


def _resolve_inputs(
    inputs: tuple[Term, ...], bindings: Bindings, index: int | None
) -> Iterator[Tree | Var]:
    for item in inputs:
        if isinstance(item, Seq):
            yield from (item.item(i) for i in range(bindings.lengths[item.name]))
        elif isinstance(item, Each):
            for i in range(bindings.lengths[item.seq.name]):
                yield resolve(item.body, bindings, i)
        else:
            yield resolve(item, bindings, index)


def tree_fact(tree: Tree | Var, facts: Mapping[str, Fact]) -> Fact:
    """Infer the fact of a tree from the facts of its variables; TypeMismatch if it is ill-typed."""
    if isinstance(tree, Var):
        return facts[tree.name]
    return infer_fact(tree.op, [tree_fact(item, facts) for item in tree.inputs])


def build(op: type[Operator], *inputs: Any, **attrs: Any) -> Apply:
    """Apply an operator class to terms, checking arity and attribute names; RuleError names the fault.

    Attributes not given must have a default in the class. A `Seq` or `Each` may be the whole input list
    of a variadic operator.
    """
    fields = op.field_names()
    unknown = [name for name in attrs if name not in fields]
    if unknown:
        raise RuleError(
            f"{op.__name__}: unknown attribute {unknown[0]!r}, expected one of {fields}"
        )
    spread = any(isinstance(item, (Seq, Each)) for item in inputs)
    if spread and op.arity is not None:
        raise RuleError(f"{op.__name__}: a sequence can only be given to a variadic operator")
    if not spread and not op.accepts_arity(len(inputs)):
        raise RuleError(f"{op.__name__}: {len(inputs)} inputs given")
    for item in inputs:
        if not isinstance(item, Term):
            raise RuleError(f"{op.__name__}: input {item!r} is not a term")
    parameters = inspect.signature(op).parameters.values()
    required = [item.name for item in parameters if item.default is inspect.Parameter.empty]
    missing = [name for name in required if name not in attrs]
    if missing:
        raise RuleError(f"{op.__name__}: attribute {missing[0]!r} is missing")
    return Apply(op, tuple((name, attrs[name]) for name in fields if name in attrs), inputs)


def project(term: Term, index: int) -> Apply:
    """Return output number `index` of a multi-output term."""
    return build(Project, term, index=index)


def subterms(term: Any) -> Iterator[Any]:
    """Yield a term, its attribute terms and everything below them, outermost first."""
    yield term
    below: tuple[Any, ...] = ()
    if isinstance(term, Apply):
        head = (term.op,) if isinstance(term.op, OpVar) else ()
        below = (*head, *(value for _, value in term.attrs), *term.inputs)
    elif isinstance(term, Derived):
        below = term.args
    elif isinstance(term, Each):
        below = (term.seq, term.body)
    elif isinstance(term, Pick):
        below = (term.seq, term.index)
    elif isinstance(term, Choose):
        below = (term.index, *term.options)
    elif isinstance(term, Const):
        below = (term.value,)
    elif isinstance(term, (Elem, Index)):
        below = (term.seq,)
    for item in below:
        yield from subterms(item)
