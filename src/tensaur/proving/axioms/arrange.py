"""Arrange: the one operator that all data movement is an instance of, element by element.

It exists for proofs alone: no model has it. Only for tensors of few elements and known sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensaur.ir.operator import Operator
from tensaur.ir.term import Apply, build
from tensaur.ir.types import Array, Fact, TensorType
from tensaur.rules.conditions import static

Ints = tuple[int, ...]

# The place of a zero.
ZERO = -1

# Results with more elements than this are left alone.
LIMIT = 1536


@dataclass(frozen=True)
class Arrange(Operator):
    """Element i of the result, in row-major order, is element `places[i]` of the inputs.

    Places count the elements of all inputs in a row, those of each input in row-major order; -1 is a
    zero.
    """

    shape: Ints
    places: Ints

    arity = None
    arity_min = 1

    def infer(self, *inputs: Fact) -> Fact:
        """Return the type with the shape given; the inputs have one element type and known sizes."""
        if len({fact.dtype for fact in inputs}) != 1:
            raise TypeError("element types differ")
        total = sum(size_of(fact) for fact in inputs)
        if len(self.places) != math.prod(self.shape):
            raise ValueError(f"{len(self.places)} places for shape {list(self.shape)}")
        if self.places and not ZERO <= min(self.places) <= max(self.places) < total:
            raise ValueError(f"a place is outside of {total} elements")
        return Fact(TensorType(inputs[0].dtype, self.shape))

    def evaluate(self, *inputs: Array | None) -> Array:
        """Pick the elements."""
        given = [item.ravel() for item in inputs if item is not None]
        # The last one is at place -1.
        joined = np.concatenate([*given, np.zeros(1, dtype=given[0].dtype)])
        return np.asarray(joined[np.array(self.places, dtype=np.int64)].reshape(self.shape))


def arrange(*inputs: Any, shape: Any, places: Any) -> Apply:
    """Build the term of an arrangement."""
    return build(Arrange, *inputs, shape=shape, places=places)


def size_of(fact: Fact) -> int:
    """Return the number of elements of a tensor of known sizes."""
    return math.prod(static(fact))


def numbered(facts: Sequence[Fact]) -> list[Array]:
    """Return tensors of the given shapes that hold the places of their own elements."""
    arrays, start = [], 0
    for fact in facts:
        size = size_of(fact)
        if size > LIMIT:
            raise ValueError("too many elements")
        arrays.append(np.arange(start, start + size).reshape(static(fact)))
        start += size
    return arrays


def picked_from(inner: Sequence[int], places: Ints) -> Ints:
    """Return what stands at some places, and a zero for a zero."""
    return tuple(inner[place] if place != ZERO else ZERO for place in places)


def flat(array: Array) -> Ints:
    """Return the elements of an integer array in row-major order, if there are not too many."""
    if array.size > LIMIT:
        raise ValueError("too many elements")
    return tuple(array.ravel().tolist())


def unless_same(before: Ints, after: Ints) -> Ints:
    """Return the places after a change; ValueError if there is none."""
    if before == after:
        raise ValueError("nothing changes")
    return after
