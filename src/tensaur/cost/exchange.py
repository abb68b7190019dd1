"""Tables of measured costs as files that move between machines: versioned JSON, checked when read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tensaur.cost.analytic import Machine
from tensaur.cost.store import Calibration, Context, Entry, Store, Stored
from tensaur.errors import StoreError

FORMAT, VERSION = "tensaur costs", 1

# What SQLite's integers hold.
_MOST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Table:
    """Measurements and calibrations of machines."""

    entries: tuple[Entry, ...]
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """How many prices a table had, and how many of them the store took."""

    read: int
    taken: int


def table_json(store: Store) -> dict[str, Any]:
    """Return everything that a store holds as plain values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "machines": [
            {**asdict(item.context), "calibration": json.loads(item.text)}
            for item in store.calibrations()
        ],
        "prices": [
            {"signature": entry.signature, **asdict(entry.context), **asdict(entry.stored)}
            for entry in store.entries()
        ],
    }


def read_table(path: Path) -> Table:
    """Read a table from a file; StoreError, in one line, if it is something else."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: not a table of costs: it is no JSON") from error
    try:
        return _table(found)
    except _Fault as error:
        raise StoreError(f"{path}: not a table of costs: {error}") from error


def merge(store: Store, table: Table, *, replace: bool = False) -> Merged:
    """Put a table into a store; what was measured here later stays, unless it is to be replaced."""
    for item in table.calibrations:
        if replace or store.calibration(item.context) is None:
            store.put_calibration(item.context, item.text)
    return Merged(len(table.entries), store.merge(table.entries, replace=replace))


class _Fault(Exception):
    """Control flow inside this module: what is wrong with a value, and where it is."""


def _table(found: Any) -> Table:
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise _Fault(f"its format is not {FORMAT!r}")
    if found.get("version") != VERSION:
        raise _Fault(f"its version is {found.get('version')!r}, expected {VERSION}")
    return Table(
        tuple(_entry(item) for item in _items(found, "prices")),
        tuple(_calibration(item) for item in _items(found, "machines")),
    )


def _items(found: Mapping[str, Any], name: str) -> list[_Item]:
    items = found.get(name)
    if not isinstance(items, list):
        raise _Fault(f"{name} is no list")
    return [_Item(f"{name}[{number}]", item) for number, item in enumerate(items)]


@dataclass(frozen=True, slots=True)
class _Item:
    """One object of the file, and where it is."""

    place: str
    values: Any

    def _value(self, name: str) -> Any:
        if not isinstance(self.values, Mapping) or name not in self.values:
            raise _Fault(f"{self.place} has no {name}")
        return self.values[name]

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not _is_unicode(value):
            raise self._wrong(name, value, "a text")
        return value

    def name(self, name: str) -> str:
        text = self.text(name)
        if not text.isprintable():
            raise self._wrong(name, text, "a name")
        return text

    def whole(self, name: str, least: int) -> int:
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise self._wrong(name, value, f"a whole number >= {least}")
        return value

    def number(self, name: str) -> float:
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(name, value, "a number")
        if not (math.isfinite(value) and value >= 0):
            raise self._wrong(name, value, "a finite number >= 0")
        return float(value)

    def context(self) -> Context:
        return Context(self.whole("threads", 1), self.name("runtime"), self.name("processor"))

    def nanoseconds(self) -> int | None:
        return None if self._value("nanoseconds") is None else self.whole("nanoseconds", 1)

    def machine(self) -> Machine:
        value = self._value("calibration")
        try:
            machine = Machine.from_json(json.dumps(value))
        except ValueError as error:
            raise self._wrong("calibration", value, "a machine") from error
        inner = _Item(f"{self.place}.calibration", value)
        for name in asdict(machine):
            if name in value and not inner.number(name) > 0:
                raise inner._wrong(name, value[name], "a number > 0")
        return machine

    def _wrong(self, name: str, value: Any, expected: str) -> _Fault:
        shown = repr(value)
        shown = shown if len(shown) <= 40 else f"{shown[:36]} ..."
        return _Fault(f"{self.place}: {name} is {shown}, expected {expected}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _entry(item: _Item) -> Entry:
    stored = Stored(
        item.nanoseconds(),
        item.text("fault"),
        item.number("spread"),
        item.whole("estimate", 0),
        item.number("measured_at"),
    )
    return Entry(item.text("signature"), item.context(), stored)


def _calibration(item: _Item) -> Calibration:
    return Calibration(item.context(), item.machine().to_json())
