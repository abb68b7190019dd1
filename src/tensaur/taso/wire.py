"""TASO's rule files: protobuf's wire format read into records, and nothing made of them.

The messages and their fields, all numbers int32: RuleCollection{1 rules}; Rule{1 source operators,
2 target operators, 3 mapped outputs}; Operator{1 type, 2 inputs, 3 parameters}; Tensor{1 operator,
2 output}; Parameter{1 key, 2 value}; MapOutput{1 source operator, 2 target operator, 3 source output,
4 target output}. Unknown fields are skipped, as protobuf has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tensaur.errors import RuleError, UsageError

MOST_BYTES = 16 << 20  # TASO's own file has 30 kB

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}


@dataclass(frozen=True, slots=True)
class Place:
    """An output of an operator of the same side, or a rule input if `operator` is negative."""

    operator: int
    output: int


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """An operator: its type's number, where its inputs come from, and its parameters by key."""

    type: int
    inputs: tuple[Place, ...]
    parameters: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class MappedOutput:
    """An output of the source, and the output of the target that takes its place."""

    source: Place
    target: Place


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """One rule as it is in the file; operators come before those that use them."""

    source: tuple[OperatorRecord, ...]
    target: tuple[OperatorRecord, ...]
    outputs: tuple[MappedOutput, ...]


def read_rules(path: Path) -> tuple[RuleRecord, ...]:
    """Read a file of rules; UsageError: no such file; RuleError says what is wrong with it and where."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RuleError(f"{path}: more than {MOST_BYTES} bytes, too large for a file of rules")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    try:
        rules = parse_rules(data)
    except RuleError as error:
        raise RuleError(f"{path}: not a file of TASO's rules: {error}") from error
    if not rules:
        raise RuleError(f"{path}: holds no rules")
    return rules


def parse_rules(data: bytes) -> tuple[RuleRecord, ...]:
    """Return the rules that the bytes of a RuleCollection hold."""
    whole = _Message(data, 0, len(data), "collection")
    return tuple(_rule(item) for item in whole.messages(1, "rule"))


def _rule(message: _Message) -> RuleRecord:
    return RuleRecord(
        tuple(_operator(item) for item in message.messages(1, "operator")),
        tuple(_operator(item) for item in message.messages(2, "operator")),
        tuple(_mapped(item) for item in message.messages(3, "mapped output")),
    )


def _operator(message: _Message) -> OperatorRecord:
    inputs = tuple(Place(item.number(1), item.number(2)) for item in message.messages(2, "input"))
    parameters: dict[int, int] = {}
    for item in message.messages(3, "parameter"):
        key = item.number(1)
        if key in parameters:
            raise item.fault(f"key {key} is given twice")
        parameters[key] = item.number(2)
    return OperatorRecord(message.number(1), inputs, parameters)


def _mapped(message: _Message) -> MappedOutput:
    return MappedOutput(
        Place(message.number(1), message.number(3)), Place(message.number(2), message.number(4))
    )


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a message: a number, or where the bytes of a message lie."""

    kind: int
    value: int
    end: int


class _Message:
    """The fields of one message, by number; the whole of it is checked at once."""

    def __init__(self, data: bytes, start: int, end: int, name: str) -> None:
        self._name = name
        self._data = data
        self._start = start
        self._end = end
        self._fields: dict[int, list[_Field]] = {}
        for number, field in self._scan():
            self._fields.setdefault(number, []).append(field)

    def number(self, field: int) -> int:
        """Return an int32 field, the last one if it is repeated; RuleError if it is not there."""
        found = self._fields.get(field)
        if found is None:
            raise self.fault(f"field {field} is missing")
        last = found[-1]
        if last.kind != _VARINT:
            raise self.fault(f"field {field} is no number")
        value = last.value - (1 << 64) if last.value >> 63 else last.value
        if not -(1 << 31) <= value < 1 << 31:
            raise self.fault(f"field {field} holds {value}, which is no int32")
        return value

    def messages(self, field: int, name: str) -> Iterator[_Message]:
        """Yield the messages of a repeated field, each called `name`."""
        for item in self._fields.get(field, ()):
            if item.kind != _BYTES:
                raise self.fault(f"field {field} is no message")
            yield _Message(self._data, item.value, item.end, name)

    def fault(self, what: str) -> RuleError:
        """Return the error that something is wrong with this message."""
        return RuleError(f"{self._name} at byte {self._start}: {what}")

    def _scan(self) -> Iterator[tuple[int, _Field]]:
        at = self._start
        while at < self._end:
            tag, at = self._varint(at)
            number, kind = tag >> 3, tag & 7
            if number == 0:
                raise self.fault(f"a field at byte {at} has the number 0")
            value = start = at
            if kind == _VARINT:
                value, at = self._varint(at)
            elif kind == _BYTES:
                length, start = self._varint(at)
                value, at = start, start + length
            elif kind in _FIXED:
                at += _FIXED[kind]
            else:
                raise self.fault(f"field {number} at byte {start} has the unknown wire type {kind}")
            if at > self._end:
                raise self.fault(f"field {number} at byte {start} reaches beyond the end")
            yield number, _Field(kind, value, at)

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for position in range(10):
            if at + position >= self._end:
                raise self.fault(f"a number at byte {at} is cut off")
            byte = self._data[at + position]
            value |= (byte & 127) << (7 * position)
            if not byte & 128:
                return value & ((1 << 64) - 1), at + position + 1
        raise self.fault(f"a number at byte {at} is longer than ten bytes")
