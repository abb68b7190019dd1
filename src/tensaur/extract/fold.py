"""Constants computed before run time: which classes can be, and computing them with NumPy.

A class is foldable if some derivation reaches it from weights and literals through operators that have
an `evaluate`. Nothing here decides whether folding pays; extraction does.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensaur.egraph.egraph import EGraph, Rows
from tensaur.errors import FoldingFailure
from tensaur.ir.graph import ConstantData
from tensaur.ir.operator import Absent, Literal, Operator, Weight, evaluate, foldable, type_nbytes
from tensaur.ir.types import DType, Fact, TensorType

# Folding something that is larger than this on the way would make optimising need more memory than
# running does.
STEP_LIMIT = 1 << 30

_LEAVES = (Weight, Literal, Absent)


@dataclass
class Folder:
    """Derivations of the constant classes of one e-graph, and their values once asked for.

    `choice` maps a foldable class to the row that computes it; following the choices always ends at
    weights and literals, since a class is ranked only after the inputs of its row. `failed` are classes
    that are known not to be computable although their types say so; they are not ranked. `values` are
    those computed so far, by class.
    """

    egraph: EGraph
    rows: Rows
    children: Sequence[tuple[int, ...]]
    constants: Mapping[str, ConstantData]
    failed: frozenset[int] = frozenset()
    choice: dict[int, int] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find a derivation for every foldable class, shallow ones first."""
        waiting: dict[int, int] = {}
        users: dict[int, list[int]] = {}
        for row in filter(self._may_fold, range(len(self.rows.symbol))):
            below = set(self.children[row])
            waiting[row] = len(below)
            for child in below:
                users.setdefault(child, []).append(row)
        ready = [row for row, count in waiting.items() if not count]
        while ready:
            found: list[int] = []
            for row in ready:
                cls = int(self.rows.cls[row])
                if self.choice.setdefault(cls, row) == row:
                    found.append(cls)
            ready = []
            for row in itertools.chain.from_iterable(users.get(cls, ()) for cls in found):
                waiting[row] -= 1
                if not waiting[row]:
                    ready.append(row)
            ready.sort()

    def nbytes(self, cls: int) -> int:
        """Return the size of the class's value in bytes."""
        nbytes = type_nbytes(self.egraph.fact(cls).type)
        assert isinstance(nbytes, int), "only static types are folded"
        return nbytes

    def is_leaf(self, cls: int) -> bool:
        """Tell whether the class's value already stands in the file as a weight or a literal."""
        row = self.choice.get(cls)
        return row is not None and isinstance(self._operator(row), _LEAVES)

    def value(self, cls: int) -> Any:
        """Return the value of a foldable class; FoldingFailure, noted in `failed`, if that fails."""
        stack = [cls]
        while stack:
            current = stack[-1]
            row = self.choice[current]
            missing = [child for child in self.children[row] if child not in self.values]
            if current in self.values or not missing:
                self.values.setdefault(current, self._compute(row))
                stack.pop()
            else:
                stack.extend(missing)
        return self.values[cls]

    def _compute(self, row: int) -> Any:
        op = self._operator(row)
        if isinstance(op, Absent):
            return None
        if isinstance(op, Weight):
            return self.constants[op.name].numpy()
        inputs = [self.values[child] for child in self.children[row]]
        try:
            return evaluate(op, inputs)
        except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError) as error:
            self.failed |= {int(self.rows.cls[row])}
            raise FoldingFailure(f"folding {op}: {error}") from error

    def _operator(self, row: int) -> Operator:
        return self.egraph.operators[int(self.rows.symbol[row])]

    def _may_fold(self, row: int) -> bool:
        cls = int(self.rows.cls[row])
        op = self._operator(row)
        if isinstance(op, _LEAVES):
            return True
        return (
            cls not in self.failed
            and foldable(op)
            and _has_foldable_type(self.egraph.fact(cls), self.children[row], self.egraph)
        )


def _has_foldable_type(fact: Fact, children: Sequence[int], egraph: EGraph) -> bool:
    if not fact.constant or not children:
        return False
    if isinstance(fact.type, TensorType):
        if fact.type.dtype is DType.STRING or fact.type.static_shape is None:
            return False
        size = type_nbytes(fact.type)
        return isinstance(size, int) and size <= STEP_LIMIT
    return all(egraph.fact(child).is_tensor for child in children)
