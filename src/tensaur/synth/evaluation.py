"""Compute trees on given leaves, with NumPy's numbers or with exact ones. Knows neither rules nor data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tensaur.ir.operator import Absent, Project, evaluate
from tensaur.ir.term import Tree, Var, tree_fact
from tensaur.ir.types import Array, Fact
from tensaur.synth.exact.element import UNDEFINED, Element


class Run:
    """Computes trees on given leaves, remembering equal subtrees and the largest magnitude met."""

    def __init__(self, leaves: Mapping[str, Array]) -> None:
        self.leaves = leaves
        self.scale = 1.0
        self._values: dict[Tree, Any] = {}

    def value(self, tree: Tree | Var) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, Var):
            self._look(self.leaves[tree.name])
            return self.leaves[tree.name]
        if isinstance(tree.op, Absent):
            return None
        value = self._values.get(tree)
        if value is None:
            inputs = [self.value(item) for item in tree.inputs]
            value = self._compute(tree, inputs)
            self._values[tree] = value
            self._look(value)
        return value

    def _compute(self, tree: Tree, inputs: list[Any]) -> Any:
        value = evaluate(tree.op, inputs)
        if isinstance(tree.op, Project):
            return value
        if isinstance(value, tuple):
            return tuple(np.ascontiguousarray(item).reshape(item.shape) for item in value)
        return np.ascontiguousarray(value).reshape(np.shape(value))

    def _look(self, value: Any) -> None:
        if isinstance(value, tuple) or value.dtype.kind not in "f" or not value.size:
            return
        finite = value[np.isfinite(value)]
        if finite.size:
            self.scale = max(self.scale, float(np.max(np.abs(finite))))


class ExactRun(Run):
    """Computes trees on leaves whose floats are elements of one exact kind, made by `number`.

    `facts` are the leaves' facts, with concrete types.
    """

    def __init__(
        self,
        leaves: Mapping[str, Array],
        facts: Mapping[str, Fact],
        number: Callable[[Any], Element],
    ) -> None:
        super().__init__(leaves)
        self._facts = facts
        self._number = number

    def _compute(self, tree: Tree, inputs: list[Any]) -> Any:
        exact = any(isinstance(item, np.ndarray) and item.dtype == object for item in inputs)
        if exact:  # NumPy's products do not stop where an element refuses another one
            inputs = [self._exact(item) for item in inputs]
        value = evaluate(tree.op, inputs)
        for array in value if isinstance(value, tuple) else (value,):
            self._mark_special(array)
        if not exact or isinstance(value, tuple) or value.ndim or value.dtype.kind not in "iuf":
            return value
        # NumPy takes a plain 0 that came out of a scalar for an integer tensor.
        floats = tree_fact(tree, self._facts).dtype.is_float
        return objects(value, self._number) if floats else value

    def _exact(self, item: Any) -> Any:
        floats = isinstance(item, np.ndarray) and item.dtype.kind == "f"
        return objects(item, self._number) if floats else item

    def _mark_special(self, array: Array) -> None:
        """Replace NaN and infinities that came out of plain numbers, such as the mean of nothing."""
        if array.dtype != object:
            return
        for i, item in enumerate(array.reshape(-1)):
            if isinstance(item, float) and not math.isfinite(item):
                array.flat[i] = UNDEFINED if math.isnan(item) else self._number(item)

    def _look(self, value: Any) -> None:
        pass


def objects(array: Array, number: Callable[[Any], Element]) -> Array:
    """Return an array of exact numbers."""
    result = np.empty(array.shape, dtype=object)
    flat = result.reshape(-1)
    for i, item in enumerate(array.reshape(-1)):
        flat[i] = number(item)
    return result
