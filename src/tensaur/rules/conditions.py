"""Derived conditions and values that several rule families share: constants, numbers, ranks, shapes.

Axes and permutations are in `axes`, slice arithmetic in `ranges`. Every function is total over facts: a
False or None result, or a raised ValueError or TypeError, means that the rule does not apply. What is
not known for certain (a symbolic dimension against an integer) counts as not true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensaur.ir.dims import Dim, is_positive, symbols
from tensaur.ir.term import derived
from tensaur.ir.types import DType, Fact, Known, Shape

_NUMPY_FLOATS = frozenset({DType.FLOAT16, DType.FLOAT32, DType.FLOAT64})


def shape_of(fact: Fact) -> Shape:
    """Return the shape of a tensor; ValueError if its rank is unknown."""
    if fact.shape is None:
        raise ValueError("rank unknown")
    return fact.shape


def static(fact: Fact) -> tuple[int, ...]:
    """Return the shape of a tensor; ValueError unless every dimension is an integer."""
    shape = fact.tensor.static_shape
    if shape is None:
        raise ValueError("shape not static")
    return shape


def same_dim(first: Dim, second: Dim) -> bool:
    """Tell whether two dimensions are certainly equal; an unknown one (``?``) may stand for two."""
    if first != second:
        return False
    return isinstance(first, int) or not any(name.startswith("?") for name in symbols(first))


def same_shape(first: Shape, second: Shape) -> bool:
    """Tell whether two shapes are certainly equal."""
    return len(first) == len(second) and all(map(same_dim, first, second))


def spread(part: Shape, whole: Shape) -> bool:
    """Tell whether `part` certainly broadcasts to `whole` without enlarging it."""
    if len(part) > len(whole):
        return False
    tail = whole[len(whole) - len(part) :]
    return all(dim == 1 or same_dim(dim, full) for dim, full in zip(part, tail, strict=True))


# Constants and their numbers.


@derived
def constant(*facts: Fact) -> bool:
    """Whether all values are computable before run time."""
    return all(fact.constant for fact in facts)


@derived
def all_constant(facts: tuple[Fact, ...]) -> bool:
    """Whether all values of a sequence are computable before run time."""
    return all(fact.constant for fact in facts)


@derived
def varying(fact: Fact) -> bool:
    """Whether a value is not a constant."""
    return not fact.constant


@derived
def any_varying(*facts: Fact) -> bool:
    """Whether not all values are constants; what is constant is computed once, whatever its form."""
    return not all(fact.constant for fact in facts)


@derived
def filled(fact: Fact, number: float) -> bool:
    """Whether every element is known and is `number`, to the bit (0.0 is not -0.0)."""
    if fact.value is None or fact.value.raw is None:
        return False
    kind = fact.dtype.numpy
    if fact.dtype.is_integer and number != int(number):
        return False
    expected = np.full(fact.value.shape, number).astype(kind)
    return fact.value.array is not None and fact.value.array.tobytes() == expected.tobytes()


@derived
def lowest_filled(fact: Fact, lowest: float) -> bool:
    """Whether every element is `lowest` (minus infinity) or the least finite number of its type."""
    array = _elements(fact)
    least = float(np.finfo(fact.dtype.numpy).min) if fact.dtype in _NUMPY_FLOATS else lowest
    return array is not None and bool(np.all(array <= least))


@derived
def near(fact: Fact, number: float) -> bool:
    """Whether every element is known and is `number` up to rounding in its own type."""
    array = _elements(fact)
    tolerance = 1e-12 if fact.dtype is DType.FLOAT64 else 2e-6
    return array is not None and bool(np.allclose(array, number, rtol=tolerance, atol=0.0))


@derived
def near_number(value: float, number: float) -> bool:
    """Whether an attribute is `number` up to single-precision rounding."""
    return math.isclose(value, number, rel_tol=1e-6)


@derived
def between(fact: Fact, low: float, high: float) -> bool:
    """Whether every element is known and lies in the closed interval."""
    array = _elements(fact)
    return array is not None and bool(np.all((low <= array) & (array <= high)))


@derived
def ordered(low: Fact, high: Fact) -> bool:
    """Whether two known scalars satisfy low <= high."""
    return number_of(low) <= number_of(high)


@derived
def number(fact: Fact) -> float:
    """The number of a known one-element float tensor."""
    return number_of(fact)


@derived
def like(fact: Fact, value: float) -> Known:
    """The scalar `value` of the element type of a tensor, which must have it."""
    if fact.dtype.is_integer and not np.can_cast(np.min_scalar_type(int(value)), fact.dtype.numpy):
        raise ValueError(f"no {value} of this type")
    return Known.of(np.array(value, dtype=fact.dtype.numpy), fact.dtype)


def number_of(fact: Fact) -> float:
    """Return the number of a known one-element tensor; ValueError if there is none."""
    scalar = None if fact.value is None else fact.value.scalar
    if scalar is None or math.isnan(scalar):
        raise ValueError("not a known number")
    return float(scalar)


def _alike_but(axis: int, shapes: Sequence[Shape]) -> bool:
    ranks = {len(shape) for shape in shapes}
    if len(ranks) != 1 or not -max(ranks) <= axis < max(ranks):
        return False
    place = axis % max(ranks)
    rest = [shape[:place] + shape[place + 1 :] for shape in shapes]
    return all(same_shape(rest[0], shape) for shape in rest[1:])


def _elements(fact: Fact) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    if fact.value is None or fact.value.array is None or not fact.dtype.is_float:
        return None
    return fact.value.array.astype(np.float64)


# Types and shapes.


@derived
def same_type(first: Fact, second: Fact) -> bool:
    """Whether two values certainly have the same element type and shape."""
    return first.dtype is second.dtype and same_shape(shape_of(first), shape_of(second))


@derived
def has_dtype(fact: Fact, dtype: DType) -> bool:
    """Whether the element type is `dtype`."""
    return fact.dtype is dtype


@derived
def is_float(fact: Fact) -> bool:
    """Whether the elements are floating-point numbers."""
    return fact.dtype.is_float


@derived
def is_integer(fact: Fact) -> bool:
    """Whether the elements are integers."""
    return fact.dtype.is_integer


@derived
def absorbs(fact: Fact, part: Fact) -> bool:
    """Whether `part` broadcasts to the first value without changing its shape."""
    return spread(shape_of(part), shape_of(fact))


@derived
def one_element(fact: Fact) -> bool:
    """Whether the tensor has exactly one element."""
    return all(dim == 1 for dim in shape_of(fact))


@derived
def nonzero(fact: Fact) -> bool:
    """Whether a value is one known element that is neither zero nor so small or large as to overflow."""
    value = None if fact.value is None else fact.value.scalar
    return value is not None and 1e-6 < abs(value) < 1e6


@derived
def scalar(fact: Fact) -> bool:
    """Whether the tensor has rank 0."""
    return shape_of(fact) == ()


@derived
def rank_is(fact: Fact, rank: int) -> bool:
    """Whether the tensor has exactly `rank` axes."""
    return len(shape_of(fact)) == rank


@derived
def ranks_at_least(rank: int, *facts: Fact) -> bool:
    """Whether all tensors have at least `rank` axes."""
    return all(len(shape_of(fact)) >= rank for fact in facts)


@derived
def rank_at_most(fact: Fact, rank: int) -> bool:
    """Whether the tensor has at most `rank` axes."""
    return len(shape_of(fact)) <= rank


@derived
def rank_below(fact: Fact, other: Fact) -> bool:
    """Whether the first tensor has fewer axes than the second."""
    return len(shape_of(fact)) < len(shape_of(other))


@derived
def alike_but(axis: int, *facts: Fact) -> bool:
    """Whether all tensors certainly have one shape, but for the axis `axis`."""
    return _alike_but(axis, [shape_of(fact) for fact in facts])


@derived
def alike_items_but(axis: int, rank: int, facts: tuple[Fact, ...]) -> bool:
    """Whether a sequence of tensors of at least `rank` axes certainly differs along one axis only."""
    shapes = [shape_of(fact) for fact in facts]
    return len(shapes[0]) >= rank and _alike_but(axis, shapes)


@derived
def fits_from(axis: int, fact: Fact, part: Fact) -> bool:
    """Whether `part` certainly has the shape of a tensor from an axis on."""
    shape = shape_of(fact)
    return -len(shape) <= axis < len(shape) and same_shape(shape[axis:], shape_of(part))


@derived
def same_size(first: Fact, axis: int, second: Fact, other: int) -> bool:
    """Whether axis `axis` of one tensor is certainly as long as axis `other` of another."""
    a, b = shape_of(first), shape_of(second)
    return -len(a) <= axis < len(a) and -len(b) <= other < len(b) and same_dim(a[axis], b[other])


@derived
def not_empty(fact: Fact, axis: int) -> bool:
    """Whether an axis certainly has some position."""
    return is_positive(shape_of(fact)[axis])


@derived
def static_shape(fact: Fact) -> Known:
    """The shape of a tensor as an int64 vector, if every dimension is an integer."""
    return Known.of(np.array(static(fact), dtype=np.int64))


@derived
def equal(first: object, second: object) -> bool:
    """Whether two attributes are equal."""
    return first == second


@derived
def all_equal(values: tuple[int, ...], value: int) -> bool:
    """Whether every item of an attribute is `value`."""
    return all(item == value for item in values)


@derived
def not_all(value: object, *attributes: object) -> bool:
    """Whether some attribute is not `value`."""
    return any(item != value for item in attributes)


@derived
def opposite(value: bool) -> bool:
    """The other truth value."""
    return not value


@derived
def position(value: bool) -> int:
    """0 for False and 1 for True."""
    return int(value)
