"""Value numbering of constants: constants that are computed to the same numbers become one class.

Rules fold scales and biases into weights in many orders, and ``(w * s) * t`` and ``w * (s * t)`` are
two classes to an e-graph that does not look at data. Each pair of such classes doubles the forms of
every operator that reads them, so an affine chain of ten convolutions would fill any node limit. Here
new constants are computed after each iteration and joined where they agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensaur.egraph.banning import ban_cycles
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.unions import FOLDED
from tensaur.errors import FoldingFailure
from tensaur.extract.fold import Folder
from tensaur.extract.space import child_tuples
from tensaur.ir.graph import ConstantData
from tensaur.ir.types import Array, TensorType

# Larger constants are not looked into: computing them costs more than their forms do.
LARGEST = 16 << 20

# Values kept for computing others from; beyond this they are computed again.
KEPT_NBYTES = 512 << 20

# Elements agree up to what a few operations in single precision round to.
RELATIVE = 1e-5


@dataclass
class ConstantNumbering:
    """Joins equal constants of an e-graph each time it is called, for at most `seconds` in all.

    With `exact`, constants are equal if all bits are; otherwise up to rounding, element by element.
    """

    egraph: EGraph
    constants: Mapping[str, ConstantData]
    seconds: float
    exact: bool = False
    clock: Callable[[], float] = time.perf_counter
    joined: int = 0
    _seen: set[int] = field(default_factory=set)
    _buckets: dict[object, list[int]] = field(default_factory=dict)
    _values: dict[int, Any] = field(default_factory=dict)

    def __call__(self, _: object = None) -> None:
        """Compute the constants that are new since the last call and join those that agree."""
        begin = self.clock()
        if self.seconds <= 0:
            return
        rows = self.egraph.rows()
        folder = Folder(self.egraph, rows, child_tuples(rows), self.constants, values=self._values)
        pairs = list(self._pairs(folder, begin + self.seconds))
        if pairs:
            first, second = np.array(pairs, dtype=np.int64).T
            self.egraph.union_many(first, second, np.full(len(pairs), FOLDED))
            self.egraph.rebuild()
            ban_cycles(self.egraph)
            self.joined += len(pairs)
        if sum(getattr(value, "nbytes", 0) for value in self._values.values()) > KEPT_NBYTES:
            self._values.clear()
        self.seconds -= self.clock() - begin

    def _pairs(self, folder: Folder, deadline: float) -> Iterator[tuple[int, int]]:
        """Yield pairs of classes that agree, each new class with the oldest one like it."""
        for cls in sorted(folder.choice):
            if cls in self._seen or not self._is_looked_into(folder, cls):
                continue
            if self.clock() > deadline:
                return
            self._seen.add(cls)
            try:
                value = folder.value(cls)
            except FoldingFailure:  # extraction will find out too, if it wants this constant
                continue
            like = self._buckets.setdefault(self._key(value), [])
            for other in like:
                if self._agree(folder, other, value):
                    yield other, cls
                    break
            else:
                like.append(cls)

    def _is_looked_into(self, folder: Folder, cls: int) -> bool:
        kind = self.egraph.fact(cls).type
        if not isinstance(kind, TensorType) or kind.static_shape is None:
            return False
        return folder.nbytes(cls) <= LARGEST

    def _key(self, value: Array) -> object:
        """Return what agreeing constants have in common for certain: nothing that rounding touches."""
        kind = (value.dtype, value.shape)
        if self.exact or value.dtype.kind != "f":
            return kind, hash(np.ascontiguousarray(value).tobytes())
        with np.errstate(all="ignore"):
            # The position of the greatest element, and its binary order of magnitude, survive rounding
            # nearly always; where they do not, two equal constants stay apart.
            at = int(np.argmax(np.abs(value))) if value.size else 0
            greatest = float(value.ravel()[at]) if value.size else 0.0
        order = int(np.floor(np.log2(abs(greatest)) * 8 + 0.5)) if _is_ordinary(greatest) else 0
        return kind, at, order

    def _agree(self, folder: Folder, other: int, value: Array) -> bool:
        known = self._value_of(folder, other)
        if known is None:
            return False
        if self.exact or value.dtype.kind != "f":
            return bool(known.tobytes() == value.tobytes())
        return bool(np.allclose(known, value, rtol=RELATIVE, atol=0.0, equal_nan=True))

    def _value_of(self, folder: Folder, cls: int) -> Array | None:
        if cls in self._values:
            known: Array = self._values[cls]
            return known
        current = self.egraph.find(cls)
        if current not in folder.choice:
            return None
        value: Array = folder.value(current)
        return value


def _is_ordinary(number: float) -> bool:
    return number != 0.0 and bool(np.isfinite(number))
