"""A place where the two sides of a rule differ: the trees, the data, the results, and all of it as text.

Finds no counterexample: that is `verify`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.notation import element_text, quoted, type_text
from tensaur.ir.operator import Input, Literal, Operator, Weight
from tensaur.ir.term import Tree, Var
from tensaur.ir.text import graph_text
from tensaur.ir.types import Array, DType, TensorType
from tensaur.synth.settle import Leaf

_IN_FULL = 24  # elements of an array that are shown, in all if it has no more
_BRIEFLY = 12  # the same on one line
_DIGITS = 6  # of floating-point numbers in arrays


@dataclass(frozen=True, slots=True)
class Difference:
    """How two results differ: which output, why, and at which element if they agree in type."""

    output: int
    reason: str
    index: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Counterexample:
    """An instance and data on which the two sides of a one-way rule differ.

    `finds` and `makes` are the two sides, over the variables `leaves`; `data` are the leaves' elements.
    `expected` are the results of `finds` and `actual` those of `makes`, as far as they could be
    computed; `difference` says how they differ.
    """

    direction: str
    finds: tuple[Tree, ...]
    makes: tuple[Tree | Var, ...]
    leaves: Mapping[str, Leaf]
    data: Mapping[str, Array]
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    difference: Difference

    @property
    def size(self) -> int:
        """Return the number of elements of all leaves together, as a measure of how simple it is."""
        return sum(array.size for array in self.data.values())

    @property
    def reason(self) -> str:
        """Return in one line how the two sides differ."""
        return self.difference.reason

    def __str__(self) -> str:
        found = ", ".join(str(tree) for tree in self.finds)
        made = ", ".join(str(tree) for tree in self.makes)
        leaves = "; ".join(
            f"{name}: {leaf.fact.type} = {_brief(self.data[name])}"
            for name, leaf in self.leaves.items()
        )
        return f"{self.direction}: {found} is not {made} for {leaves}: {self.reason}"

    def text(self) -> str:
        """Return both sides as graphs, then the elements of the leaves, the results and the difference."""
        lines = [f"{self.direction} is wrong here: {self._place()}", "found"]
        lines += _indented(side_text(self.finds, self.leaves))
        lines += ["made", *_indented(side_text(self.makes, self.leaves))]
        free = [name for name, leaf in self.leaves.items() if leaf.fact.value is None]
        lines += ["values"] * bool(free) + [f"  {self._leaf(name)}" for name in free]
        lines += ["results", *(f"  {line}" for line in self._results())]
        return "".join(f"{line}\n" for line in lines)

    def _leaf(self, name: str) -> str:
        leaf = self.leaves[name]
        seen = "" if leaf.fact.type == leaf.type else f"  # seen as {type_text(leaf.fact.type)}"
        return f"{quoted(name)} = {array_text(self.data[name], leaf.type.dtype)}{seen}"

    def _results(self) -> list[str]:
        lines = []
        for i, expected in enumerate(self.expected):
            name = _output_name(i, len(self.finds))
            lines.append(f"found {name} = {array_text(expected)}")
            if i < len(self.actual):
                lines.append(f"made  {name} = {array_text(self.actual[i])}")
        return lines

    def _place(self) -> str:
        """Say in one line where the two sides differ first."""
        output, index = self.difference.output, self.difference.index
        if index is None:
            return self.reason
        first, second = self.expected[output][index], self.actual[output][index]
        name = _output_name(output, len(self.finds))
        place = ", ".join(str(i) for i in index)
        return f"{name}[{place}] is found as {_item(first)} and made as {_item(second)}"


def side_text(trees: Sequence[Tree | Var], leaves: Mapping[str, Leaf]) -> str:
    """Return one side of an instance as the text of a graph."""
    builder = GraphBuilder()

    def add(tree: Tree | Var) -> int:
        if isinstance(tree, Var):
            return builder.add(_operator(tree.name, leaves[tree.name]), (), tree.name)
        return builder.add(tree.op, [add(item) for item in tree.inputs])

    outputs = [Output(_output_name(i, len(trees)), add(tree)) for i, tree in enumerate(trees)]
    return graph_text(builder.build(outputs))


def _output_name(number: int, count: int) -> str:
    return "out" if count == 1 else f"out{number}"


def _operator(name: str, leaf: Leaf) -> Operator:
    if leaf.fact.value is not None:
        return Literal(leaf.fact.value)
    return Weight(name, leaf.type) if leaf.fact.constant else Input(name, leaf.type)


def array_text(array: Array, dtype: DType | None = None, limit: int = _IN_FULL) -> str:
    """Return an array as in the text of graphs, rounded, and cut off after `limit` elements.

    Arrays of exact numbers have no type of their own; `dtype` says which one they stand for.
    """
    if array.dtype != object:
        dtype = DType.of(array.dtype)
    shape = tuple(int(size) for size in array.shape)
    head = f"[{','.join(map(str, shape))}]"
    if dtype is not None:
        head = type_text(TensorType(dtype, shape))
    items = [_rounded(item) for item in array.ravel()[:limit]]
    more = ["..."] if array.size > limit else []
    return f"{head}({', '.join(items + more)})"


def _rounded(item: Any) -> str:
    text = _item(item)
    is_long = isinstance(item, np.floating) and len(text) > _DIGITS + 2
    return f"{item:.{_DIGITS}g}" if is_long else text


def _item(item: Any) -> str:
    if isinstance(item, np.generic):
        return element_text(item, DType.of(item.dtype))
    return str(item)


def _brief(array: Array) -> str:
    return array_text(array, limit=_BRIEFLY)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
