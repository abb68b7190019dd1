"""What the operators' `evaluate` methods share: optional inputs and low precision. Holds no operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from tensaur.ir.types import Array

_LOW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def present(inputs: Sequence[Array | None]) -> tuple[Array, ...]:
    """Return the inputs, none of which may be left out."""
    return tuple(_present(item) for item in inputs)


def optional(inputs: Sequence[Array | None], position: int) -> Array | None:
    """Return the input at a position, None if it is left out, also at the end."""
    return inputs[position] if position < len(inputs) else None


def _present(item: Array | None) -> Array:
    assert item is not None, "a required input is absent"
    return item


def elementwise(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a NumPy function in the arrays' own type, through float32 where NumPy has no such loop."""
    if not any(array.ndim for array in arrays):
        # NumPy may round the function of a scalar and that of a vector of one element differently.
        return elementwise(function, *(array.reshape(1) for array in arrays)).reshape(())
    try:
        return np.asarray(function(*arrays))
    except TypeError:
        if arrays[0].dtype not in _LOW:
            raise
    return np.asarray(function(*(a.astype(np.float32) for a in arrays))).astype(arrays[0].dtype)


def accumulate(function: Callable[..., Any], *arrays: Array) -> Array:
    """Apply a function that sums many terms; 16-bit floats are summed in float32, as runtimes do."""
    dtype = arrays[0].dtype
    if dtype in _LOW:
        arrays = tuple(item.astype(np.float32) for item in arrays)
    return np.asarray(function(*arrays)).astype(dtype, copy=False)


def scaled(array: Array, factor: float) -> Array:
    """Multiply by a float attribute in the array's own type, not at all by 1."""
    if factor == 1:
        return array
    if array.dtype == object:
        return np.asarray(array * Fraction(factor))
    return np.asarray(array * factor).astype(array.dtype)


def lowest(dtype: np.dtype[Any]) -> Any:
    """Return the value below every other of the type: minus infinity, or the least integer."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return -float("inf") if dtype.kind == "O" else dtype.type(-np.inf)


def greatest(dtype: np.dtype[Any]) -> Any:
    """Return the value above every other of the type: infinity, or the greatest integer."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return float("inf") if dtype.kind == "O" else dtype.type(np.inf)


def truncating_division(a: Array, b: Array) -> Array:
    """Divide integers and round towards zero, as ONNX does (NumPy rounds down)."""
    quotient = np.floor_divide(a, b)
    inexact = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return np.asarray(quotient + inexact.astype(quotient.dtype))
