"""Interned operators and attribute values. An e-node's symbol is a position in `Symbols.operators`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensaur.egraph.relations import IntArray
from tensaur.ir.operator import Operator


class Symbols:
    """Gives every distinct operator value, and every distinct attribute value, a small integer."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self.values: list[Any] = []
        self.of_class: dict[type[Operator], list[int]] = {}
        self._ids: dict[tuple[type[Operator], Operator], int] = {}
        # The type is part of the key: 1, 1.0 and True are equal but not one attribute value.
        self._value_ids: dict[tuple[type, Any], int] = {}
        self._columns: dict[str, IntArray] = {}

    def intern(self, op: Operator) -> int:
        """Return the symbol of an operator."""
        key = (type(op), op)
        symbol = self._ids.get(key)
        if symbol is None:
            symbol = self._ids[key] = len(self.operators)
            self.operators.append(op)
            self.of_class.setdefault(type(op), []).append(symbol)
        return symbol

    def known(self, op: Operator) -> int | None:
        """Return the symbol of an operator that has one."""
        return self._ids.get((type(op), op))

    def intern_value(self, value: Any) -> int:
        """Return the number of an attribute value."""
        key = (type(value), value)
        number = self._value_ids.get(key)
        if number is None:
            number = self._value_ids[key] = len(self.values)
            self.values.append(value)
        return number

    def attribute(self, field: str) -> IntArray:
        """Return by symbol the number of the attribute's value, -1 where there is no such attribute."""
        column = self._columns.get(field)
        done = 0 if column is None else len(column)
        if column is None or done < len(self.operators):
            new = [self._attribute_of(op, field) for op in self.operators[done:]]
            old = column if column is not None else np.empty(0, np.int64)
            column = self._columns[field] = np.concatenate([old, np.array(new, np.int64)])
        return column

    def _attribute_of(self, op: Operator, field: str) -> int:
        if field not in op.field_names():
            return -1
        return self.intern_value(getattr(op, field))
