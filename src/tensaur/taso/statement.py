"""TASO's equations as rules of ours, in terms of our operators; the conditions are from `typerules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tensaur import ops
from tensaur.ir.rule import EXACT, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Derived, Term, Var, project
from tensaur.rules.axes import has_length, is_axis
from tensaur.rules.conditions import equal
from tensaur.rules.products import sizes_along
from tensaur.taso.conditions import groups, same_padding
from tensaur.taso.equation import (
    Equation,
    Expression,
    Name,
    Operation,
    Unstated,
    Window,
    operations,
    whole_of,
)
from tensaur.taso.typerules import (
    LIKE_THEIR_INPUT,
    PAIRWISE,
    ranked_like,
    type_conditions,
    typed_like,
)

_BUILDERS = {
    "add": ops.add,
    "mul": ops.mul,
    "matmul": ops.matmul,
    "relu": ops.relu,
    "sigmoid": ops.sigmoid,
    "tanh": ops.tanh,
}
_EXACT = {"concat", "split", "part", "relu"}
_AXES, _GROUPS, _PADS, _SIZES = "nmkl", "gh", "pq", "sr"


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule that says the same as an equation.

    `values` are what its attributes are, by name, inner ones first: as numbers or as computed from the
    types of inputs.
    """

    equation: Equation
    rule: Rule
    values: Mapping[str, Any]


def state(equation: Equation) -> Statement:
    """Return the rule that says the same as an equation; Unstated if there is none."""
    if len(set(equation.finds)) < len(equation.finds):
        raise Unstated("it finds one value twice")
    source, target = _Source(), _Target()
    finds = tuple(source.term(item) for item in equation.finds)
    make = _made(target, equation.makes)
    known = set(operations(equation.finds))

    def written(item: Expression) -> Term:
        # What only the right side has is written as the right side writes it.
        return (source if isinstance(item, Name) or item in known else target).term(item)

    kinds = {item.kind for item in operations((*equation.finds, *equation.makes))}
    rule = Rule(
        f"taso-{equation.number}",
        finds if len(finds) > 1 else finds[0],
        make,
        when=(*source.conditions, *type_conditions(equation, written)),
        exactness=EXACT if kinds <= _EXACT else ROUNDING,
    )
    return Statement(equation, rule, source.values)


def literal_window(window: Window) -> dict[str, Any] | None:
    """Return a convolution's attributes, None if its pads depend on the sizes of its inputs."""
    pads: tuple[int, ...] = (0, 0, 0, 0)
    if window.same:
        if window.kernel is None or window.strides != (1, 1):
            return None
        extra = [size - 1 for size in window.kernel]
        pads = (*(size // 2 for size in extra), *(size - size // 2 for size in extra))
    return {"strides": window.strides, "pads": pads, "dilations": (1, 1)}


def _made(target: _Target, makes: Sequence[Expression]) -> Term | tuple[Term, ...]:
    whole = whole_of(makes) if len(makes) > 1 else None
    if whole is not None:
        return target.term(whole)
    terms = tuple(target.term(item) for item in makes)
    return terms if len(terms) > 1 else terms[0]


# Terms.


class _Terms:
    """The terms of one side, each expression's once."""

    def __init__(self) -> None:
        self._terms: dict[Expression, Term] = {}
        self.conditions: list[Derived] = []

    def term(self, item: Expression) -> Term:
        """Return the term of an expression."""
        if item not in self._terms:
            self._terms[item] = self._build(item)
        return self._terms[item]

    def _build(self, item: Expression) -> Term:
        if isinstance(item, Name):
            return Var(item.name)
        inputs = [self.term(entry) for entry in item.inputs]
        if item.kind == "part":
            return project(inputs[0], item.index)
        attributes: dict[str, Any] = {}
        if item.kind == "concat":
            return ops.concat(*inputs, axis=self._axis(item))
        if item.kind == "split":
            return ops.split(*inputs, axis=self._axis(item), sizes=self._sizes(item))
        if item.kind == "conv":
            assert item.window is not None
            attributes = literal_window(item.window) or self._window(item, item.window)
            return ops.conv(*inputs, **attributes, group=self._group(item))
        return _BUILDERS[item.kind](*inputs)

    def _axis(self, item: Operation) -> Any:
        raise NotImplementedError

    def _sizes(self, item: Operation) -> Any:
        raise NotImplementedError

    def _group(self, item: Operation) -> Any:
        raise NotImplementedError

    def _window(self, item: Operation, window: Window) -> dict[str, Any]:
        raise NotImplementedError

    def _padding(self, item: Operation, window: Window) -> Derived:
        data, weight = (self.term(typed_like(entry)) for entry in item.inputs)
        return same_padding(data, weight, window.strides)


class _Source(_Terms):
    """Terms to find: what our operators may write in several ways is a variable with a condition."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}
        self._used: dict[str, int] = {}

    def _variable(self, letters: str, value: Any = None) -> AttrVar:
        turn, place = divmod(self._used.get(letters, 0), len(letters))
        self._used[letters] = self._used.get(letters, 0) + 1
        name = letters[place] + (str(turn) if turn else "")
        if value is not None:
            self.values[name] = value
        return AttrVar(name)

    def _axis(self, item: Operation) -> AttrVar:
        axis = self._variable(_AXES, item.axis)
        self.conditions.append(is_axis(axis, item.axis, self.term(ranked_like(item))))
        return axis

    def _sizes(self, item: Operation) -> AttrVar:
        sizes = self._variable(_SIZES)
        self.conditions.append(has_length(sizes, item.parts))
        return sizes

    def _group(self, item: Operation) -> AttrVar:
        return self._variable(_GROUPS, _groups(self, item))

    def _window(self, item: Operation, window: Window) -> dict[str, Any]:
        padding = self._padding(item, window)
        pads = self._variable(_PADS, padding)
        self.conditions.append(equal(pads, padding))
        return {"strides": window.strides, "pads": pads, "dilations": (1, 1)}


class _Target(_Terms):
    """Terms to make: everything is given or computed."""

    def _axis(self, item: Operation) -> int:
        return item.axis

    def _sizes(self, item: Operation) -> Derived:
        joined = _last_join(item.inputs[0], item.axis)
        if joined is None or len(joined.inputs) != item.parts:
            raise Unstated("where it splits is not where something was joined")
        return sizes_along(joined.axis, *(self.term(typed_like(i)) for i in joined.inputs))

    def _group(self, item: Operation) -> Derived:
        return _groups(self, item)

    def _window(self, item: Operation, window: Window) -> dict[str, Any]:
        pads = self._padding(item, window)
        return {"strides": window.strides, "pads": pads, "dilations": (1, 1)}


def _groups(terms: _Terms, item: Operation) -> Derived:
    return groups(*(terms.term(typed_like(entry)) for entry in item.inputs))


def _last_join(item: Expression, axis: int) -> Operation | None:
    """Return the join whose parts lie side by side along an axis of an expression, if it is known."""
    if not isinstance(item, Operation):
        return None
    if item.kind == "concat" and item.axis == axis:
        return item
    if item.kind in PAIRWISE:
        first, second = (_last_join(entry, axis) for entry in item.inputs)
        alike = first is not None and second is not None and _same_cuts(first, second)
        return first if alike else None
    if item.kind == "conv":
        return None if axis > 1 else _last_join(item.inputs[axis], 0)
    if item.kind == "matmul":
        return None if axis > 1 else _last_join(item.inputs[axis], axis)
    return _last_join(item.inputs[0], axis) if item.kind in LIKE_THEIR_INPUT else None


def _same_cuts(first: Operation, second: Operation) -> bool:
    # Parts that are equally large for another reason count as different, as in TASO.
    return first == second
