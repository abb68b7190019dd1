"""What the operators' `infer` methods share: checks of types and axes, unknown dimensions, values.

Holds no operator. A check raises TypeError or ValueError; `infer_fact` turns them into TypeMismatch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2s
from typing import Any

import numpy as np

from tensaur.ir.dims import Dim, DimExpr, is_anonymous, symbol
from tensaur.ir.operator import Onnx, Operator
from tensaur.ir.term import Apply, build
from tensaur.ir.types import (
    ABSENT,
    KNOWN_LIMIT,
    Array,
    DType,
    Fact,
    Known,
    Shape,
    TensorType,
    broadcast,
)

FLOATS = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS = frozenset(dtype for dtype in DType if dtype.is_integer)
UNSIGNED = frozenset({DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64})
NUMERIC = FLOATS | INTEGERS
SIGNED = NUMERIC - UNSIGNED
ORDINARY = NUMERIC | {DType.BOOL}
# What ONNX's matrix products and accumulating reductions take besides floats.
WIDE = FLOATS | {DType.INT32, DType.INT64, DType.UINT32, DType.UINT64}


def builder(op: type[Operator]) -> Callable[..., Apply]:
    """Return the function that builds terms of `op`: inputs by position, attributes by keyword."""
    return partial(build, op)


def plain(name: str, since: int) -> Onnx:
    """Describe an ONNX operator without attributes."""
    return Onnx(name, since)


def single(value: float) -> float:
    """Round to float32, as ONNX stores float attributes."""
    return float(np.float32(value))


def same_dtype(facts: Sequence[Fact], allowed: frozenset[DType] = ORDINARY) -> DType:
    """Return the element type that all facts share; TypeError if they differ or it is not allowed."""
    dtype = facts[0].dtype
    for fact in facts:
        if fact.dtype is not dtype:
            raise TypeError(f"element types differ: {dtype.value} and {fact.dtype.value}")
    if dtype not in allowed:
        raise TypeError(f"element type {dtype.value} is not accepted")
    return dtype


def required_rank(fact: Fact, rank: int, what: str) -> Shape | None:
    """Return the shape of a value that must have `rank` axes, None if unknown."""
    shape = fact.shape
    if shape is not None and len(shape) != rank:
        raise ValueError(f"{what} must have rank {rank}, got {len(shape)}")
    return shape


def is_absent(fact: Fact) -> bool:
    """Tell whether an optional input is left out."""
    return fact.type == ABSENT


def given(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts of the inputs that are not left out."""
    return [fact for fact in facts if not is_absent(fact)]


def normal_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the left; ValueError if there is no such axis."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is outside rank {rank}")
    return axis % rank


def normal_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return axes counted from the left, in the order given; ValueError if one repeats."""
    result = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(result)) != len(result):
        raise ValueError(f"axes {list(axes)} repeat at rank {rank}")
    return result


def unify(first: Dim, second: Dim, what: str) -> Dim:
    """Return the better known of two dimensions that must be equal; ValueError if they cannot be.

    Symbols are claims of the file: only two different integers contradict each other.
    """
    if isinstance(first, int) and isinstance(second, int) and first != second:
        raise ValueError(f"{what}: {first} and {second} differ")
    if isinstance(second, int) or is_anonymous(first):
        return second
    return first


def unify_shapes(shapes: Sequence[Shape | None], what: str) -> Shape | None:
    """Unify shapes that must be equal, as far as they are known."""
    result: Shape | None = None
    for shape in shapes:
        if shape is None:
            continue
        if result is None:
            result = shape
        elif len(shape) != len(result):
            raise ValueError(f"{what}: ranks {len(result)} and {len(shape)} differ")
        else:
            result = tuple(unify(a, b, what) for a, b in zip(result, shape, strict=True))
    return result


def unknown(op: Operator, inputs: Sequence[Fact], label: object) -> DimExpr:
    """Return the anonymous dimension number `label` of a result, the same for equal inputs.

    It has to be, since inference is memoised; so two values with equal facts share it although they
    may differ. Nothing may be concluded from two anonymous dimensions being equal.
    """
    types = ",".join(f"{fact.type}={fact.value}" for fact in inputs)
    digest = blake2s(f"{op}({types}).{label}".encode(), digest_size=6).hexdigest()
    return symbol(f"?{digest}")


def unknowns(op: Operator, inputs: Sequence[Fact], count: int) -> Shape:
    """Return a shape of `count` anonymous dimensions."""
    return tuple(unknown(op, inputs, position) for position in range(count))


def broadcast_type(facts: Sequence[Fact], dtype: DType) -> TensorType:
    """Return the type of an elementwise result."""
    return TensorType(dtype, broadcast([fact.shape for fact in facts]))


def one_way(shape: Shape | None, other: Shape | None, what: str) -> None:
    """Check that `other` broadcasts to `shape` without changing it; ValueError if it cannot."""
    if shape is None or other is None:
        return
    if len(other) > len(shape):
        raise ValueError(f"{what} has more axes than what it is broadcast to")
    for full, part in zip(shape[len(shape) - len(other) :], other, strict=True):
        if isinstance(full, int) and isinstance(part, int) and part not in (1, full):
            raise ValueError(f"{what}: dimension {part} does not broadcast to {full}")


def integers(fact: Fact, what: str) -> tuple[Dim, ...] | None:
    """Return the elements of an int64 vector, None where unknown; TypeError if it is none."""
    if fact.dtype is not DType.INT64:
        raise TypeError(f"{what} must be int64, got {fact.dtype.value}")
    required_rank(fact, 1, what)
    return None if fact.value is None else fact.value.ints


def symbolic_value(
    inputs: Sequence[Fact], evaluate: Callable[..., Any], dtype: DType
) -> Known | None:
    """Compute a value some of whose elements are symbolic, by running NumPy code on objects.

    Values without symbols are left to `infer_fact`. Only int64 results can hold symbols.
    """
    values = [fact.value for fact in inputs]
    if dtype is not DType.INT64 or not any(v is not None and v.dims is not None for v in values):
        return None
    arrays = [None if value is None else _objects(value) for value in values]
    if any(a is None and not is_absent(f) for a, f in zip(arrays, inputs, strict=True)):
        return None
    result = np.asarray(evaluate(*arrays), dtype=object)
    if result.size > KNOWN_LIMIT:
        return None
    items = [int(item) if isinstance(item, np.integer) else item for item in result.ravel()]
    if not all(isinstance(item, (int, DimExpr)) for item in items):
        return None
    return Known.of_dims(items, result.shape)


def _objects(value: Known) -> Array | None:
    if value.dims is None:
        return value.array
    result = np.empty(len(value.dims), dtype=object)
    result[:] = value.dims
    return result.reshape(value.shape)
