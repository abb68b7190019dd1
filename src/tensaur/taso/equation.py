"""TASO's rules as equations between expressions: records checked, activations unfused, inputs named.

Knows TASO's operator types and parameters, and no operator of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tensaur.errors import RuleError
from tensaur.taso.wire import MappedOutput, OperatorRecord, Place, RuleRecord

MOST_OPERATORS = 64  # in the terms of one side; operators used twice count twice
MOST_SIZE = 1024  # of kernels and strides

KINDS = {
    3: "conv", 8: "relu", 9: "sigmoid", 10: "tanh", 12: "concat", 13: "split", 16: "add", 17: "mul",
    18: "matmul",
}  # fmt: skip
ACTIVATIONS = {1: "sigmoid", 2: "relu", 3: "tanh"}
_ARITIES = {
    "conv": 2,
    "relu": 1,
    "sigmoid": 1,
    "tanh": 1,
    "split": 1,
    "add": 2,
    "mul": 2,
    "matmul": 2,
}

# Parameter keys.
_INPUTS, _OUTPUTS = 1, 2
_KERNEL, _STRIDES = (4, 5), (6, 7)
_PADDING, _ACTIVATION, _RANK, _AXIS = 8, 9, 10, 11

# Letters for inputs by their use; attributes have others.
_DATA, _WEIGHTS, _OTHERS = "xyz", "wvu", "abcdef"


@dataclass(frozen=True, slots=True)
class Name:
    """A rule input."""

    name: str


@dataclass(frozen=True, slots=True)
class Window:
    """A convolution's kernel (None: any), strides, and whether it is padded to keep the size."""

    kernel: tuple[int, int] | None
    strides: tuple[int, int]
    same: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator on expressions; one of the outputs of a split is an operation of kind "part".

    `axis` and `rank` are those of joins, `axis` and `parts` those of splits, `index` that of a part.
    """

    kind: str
    inputs: tuple[Expression, ...]
    axis: int = 0
    rank: int = 0
    parts: int = 0
    index: int = 0
    window: Window | None = None

    @property
    def bare(self) -> Operation:
        """Return the operation without its inputs."""
        return replace(self, inputs=())

    @property
    def outputs(self) -> tuple[Operation, ...]:
        """Return the parts of a split."""
        return tuple(Operation("part", (self,), index=index) for index in range(self.parts))


Expression = Name | Operation


@dataclass(frozen=True, slots=True)
class Equation:
    """What a rule finds and what it makes instead, output by output."""

    number: int
    finds: tuple[Operation, ...]
    makes: tuple[Expression, ...]

    @property
    def is_trivial(self) -> bool:
        """Tell whether both sides are the same, as where TASO only moves a fused activation."""
        return self.finds == self.makes

    def __str__(self) -> str:
        return f"{_listed(self.finds)} => {_listed(self.makes)}"


class Unstated(Exception):
    """Control flow: a rule that is well-formed but not one of those that can be stated here."""


def equation(number: int, record: RuleRecord) -> Equation:
    """Return a rule's equation; RuleError if the record contradicts itself, Unstated if we lack words."""
    if not record.outputs:
        raise RuleError("no output is mapped")
    source, target = _check(record.source, "source"), _check(record.target, "target")
    names = _names(source, record.outputs)
    finds = tuple(_found(source, names, item.source) for item in record.outputs)
    makes = [_at(target, names, item.target, "mapped target") for item in record.outputs]
    return Equation(number, finds, tuple(makes))


def operations(expressions: Sequence[Expression]) -> tuple[Operation, ...]:
    """Return the operations in expressions, each once, inner ones first."""
    found: dict[Operation, None] = {}

    def visit(item: Expression) -> None:
        if isinstance(item, Operation) and item not in found:
            for entry in item.inputs:
                visit(entry)
            found[item] = None

    for item in expressions:
        visit(item)
    return tuple(found)


def whole_of(items: Sequence[Expression]) -> Operation | None:
    """Return the split of which these are all parts in order, None if there is none."""
    first = items[0]
    whole = first.inputs[0] if isinstance(first, Operation) and first.kind == "part" else None
    return whole if isinstance(whole, Operation) and tuple(items) == whole.outputs else None


# Records checked.


@dataclass(frozen=True, slots=True)
class _Checked:
    """An operator of a side without its fused activation, and how large its term is."""

    operation: Operation
    activation: str | None
    places: tuple[Place, ...]
    size: int

    @property
    def outputs(self) -> int:
        return self.operation.parts or 1


def _check(records: Sequence[OperatorRecord], side: str) -> list[_Checked]:
    done: list[_Checked] = []
    for position, record in enumerate(records):
        try:
            done.append(_checked(record, done))
        except RuleError as error:
            raise RuleError(f"{side} operator {position}: {error}") from error
    return done


def _checked(record: OperatorRecord, before: Sequence[_Checked]) -> _Checked:
    kind = KINDS.get(record.type)
    if kind is None:
        raise Unstated(f"operator type {record.type} is none of those known here")
    for place in record.inputs:
        _check_place(place, before)
    arity, given = _ARITIES.get(kind), len(record.inputs)
    if arity not in (None, given) or not given:
        raise RuleError(f"{kind} has {given} inputs")
    if record.parameters.get(_INPUTS, given) != given:
        raise RuleError(f"{kind} has {given} inputs, but says {record.parameters[_INPUTS]}")
    size = 1 + sum(before[place.operator].size for place in record.inputs if place.operator >= 0)
    if size > MOST_OPERATORS:
        raise Unstated(f"its terms have more than {MOST_OPERATORS} operators")
    return _Checked(_operation(kind, record.parameters), _activation(record), record.inputs, size)


def _check_place(place: Place, before: Sequence[_Checked]) -> None:
    if place.operator >= len(before):
        raise RuleError(f"input from operator {place.operator}, which does not come before it")
    outputs = 1 if place.operator < 0 else before[place.operator].outputs
    if not 0 <= place.output < outputs:
        raise RuleError(f"input from output {place.output} of operator {place.operator}")


def _activation(record: OperatorRecord) -> str | None:
    number = record.parameters.get(_ACTIVATION, 0)
    if number and number not in ACTIVATIONS:
        raise RuleError(f"activation {number} is none of 0 to 3")
    return ACTIVATIONS.get(number)


def _operation(kind: str, given: Mapping[int, int]) -> Operation:
    if kind == "conv":
        return Operation(kind, (), window=_window(given))
    if kind == "concat":
        axis, rank = (
            _required(given, _AXIS, "axis"),
            _required(given, _RANK, "number of dimensions"),
        )
        if not 0 <= axis < rank:
            raise RuleError(f"axis {axis} is outside {rank} dimensions")
        return Operation(kind, (), axis, rank)
    if kind == "split":
        axis, parts = (
            _required(given, _AXIS, "axis"),
            _required(given, _OUTPUTS, "number of outputs"),
        )
        if axis < 0 or not 1 <= parts <= MOST_OPERATORS:
            raise RuleError(f"a split into {parts} along axis {axis}")
        return Operation(kind, (), axis, parts=parts)
    return Operation(kind, ())


def _window(given: Mapping[int, int]) -> Window:
    padding = _required(given, _PADDING, "padding")
    if padding not in (0, 1):
        raise RuleError(f"padding {padding} is neither 0 (same) nor 1 (valid)")
    height, width = (_required(given, key, "stride") for key in _STRIDES)
    kernel = (given[_KERNEL[0]], given[_KERNEL[1]]) if set(_KERNEL) <= set(given) else None
    for size in (height, width, *(kernel or ())):
        if not 1 <= size <= MOST_SIZE:
            raise RuleError(f"a kernel or stride of {size}")
    return Window(kernel, (height, width), padding == 0)


def _required(given: Mapping[int, int], key: int, what: str) -> int:
    if key not in given:
        raise RuleError(f"parameter {key} ({what}) is missing")
    return given[key]


# Expressions built.


def _at(side: Sequence[_Checked], names: Mapping[int, str], place: Place, what: str) -> Expression:
    if place.operator >= len(side):
        raise RuleError(f"{what}: there is no operator {place.operator}")
    if place.operator < 0:
        if place.operator not in names:
            raise Unstated(f"what it makes uses input {place.operator}, which it does not find")
        return Name(names[place.operator])
    checked = side[place.operator]
    if not 0 <= place.output < checked.outputs:
        raise RuleError(f"{what}: operator {place.operator} has no output {place.output}")
    inputs = tuple(_at(side, names, item, what) for item in checked.places)
    whole = replace(checked.operation, inputs=inputs)
    if whole.parts:
        return whole.outputs[place.output]
    return whole if checked.activation is None else Operation(checked.activation, (whole,))


def _found(side: Sequence[_Checked], names: Mapping[int, str], place: Place) -> Operation:
    if place.operator < 0:
        raise RuleError("a mapped source is a rule input")
    item = _at(side, names, place, "mapped source")
    assert isinstance(item, Operation), "only rule inputs are names"
    return item


def _names(side: Sequence[_Checked], outputs: Sequence[MappedOutput]) -> dict[int, str]:
    """Name the rule inputs by what the source uses them for: x, y, ... data, w, v, ... weights."""
    used: dict[int, set[str]] = {}
    for output in outputs:
        for number, role in _uses(side, output.source):
            used.setdefault(number, set()).add(role)
    counts = dict.fromkeys((_WEIGHTS, _DATA, _OTHERS), 0)
    names = {}
    for number, roles in used.items():
        role = next(item for item in counts if item in roles)
        turn, place = divmod(counts[role], len(role))
        names[number] = role[place] + (str(turn) if turn else "")
        counts[role] += 1
    return names


def _uses(side: Sequence[_Checked], place: Place) -> Iterator[tuple[int, str]]:
    """Yield the rule inputs below an output, with what each is used for."""
    if not 0 <= place.operator < len(side):
        return
    checked = side[place.operator]
    for position, item in enumerate(checked.places):
        if item.operator >= 0:
            yield from _uses(side, item)
        elif checked.operation.kind == "conv":
            yield item.operator, _WEIGHTS if position else _DATA
        else:
            yield item.operator, _OTHERS


# Text. Operands of one that binds tighter need no parentheses.

_INFIX = {"add": " + ", "mul": " * ", "matmul": "@"}
_LEVELS = {"add": 1, "mul": 2, "matmul": 3}


def _listed(items: Sequence[Expression]) -> str:
    whole = whole_of(items)
    return _text(whole, 0) if whole is not None else ", ".join(_text(item, 0) for item in items)


def _text(item: Expression, outer: int) -> str:
    if isinstance(item, Name):
        return item.name
    if item.kind == "part":
        return f"{_text(item.inputs[0], 0)}[{item.index}]"
    sign = _INFIX.get(item.kind)
    if sign is not None:
        level = _LEVELS[item.kind]
        text = sign.join(_text(entry, level) for entry in item.inputs)
        return text if outer < level else f"({text})"
    name = {"concat": f"cat{item.axis}", "split": f"split{item.axis}"}.get(item.kind, item.kind)
    return f"{name}({', '.join(_text(entry, 0) for entry in item.inputs)})"
