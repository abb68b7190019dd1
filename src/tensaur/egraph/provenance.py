"""Which rule, at which match, made what. Kept beside the columns and never changed afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from tensaur.egraph.relations import IntArray


@dataclass(frozen=True, slots=True)
class RuleInstance:
    """One application of a rule: the rows it found and the classes its variables had at that time."""

    rule: str
    iteration: int
    found: tuple[int, ...]
    bindings: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.rule} (iteration {self.iteration}, rows {', '.join(map(str, self.found))})"


@dataclass(frozen=True, slots=True)
class Batch:
    """Instances of one rule made together: one column of rows per found term, one per variable."""

    rule: str
    iteration: int
    found: tuple[IntArray, ...]
    bindings: Mapping[str, IntArray]
    count: int


class Instances(Sequence[RuleInstance]):
    """All rule instances, numbered in the order of application."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._starts: list[int] = []
        self._size = 0

    def extend(self, batch: Batch) -> int:
        """Number the instances of a batch; return the first number."""
        first = self._size
        if batch.count:
            self._batches.append(batch)
            self._starts.append(first)
            self._size += batch.count
        return first

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> RuleInstance: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RuleInstance]: ...
    def __getitem__(self, index: int | slice) -> RuleInstance | Sequence[RuleInstance]:
        if isinstance(index, slice):
            return [self[item] for item in range(*index.indices(self._size))]
        if not 0 <= index < self._size:
            raise IndexError(f"no rule instance {index}")
        number = int(np.searchsorted(self._starts, index, "right")) - 1
        batch, at = self._batches[number], index - self._starts[number]
        return RuleInstance(
            batch.rule,
            batch.iteration,
            tuple(int(rows[at]) for rows in batch.found),
            {name: int(classes[at]) for name, classes in batch.bindings.items()},
        )

    def batches(self) -> Iterator[Batch]:
        """Yield the batches, oldest first."""
        return iter(self._batches)
