"""Random data for verification, and the comparison of two results.

Holds the kinds of data that tell wrong equations from right ones; knows neither rules nor operators.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from tensaur.ir.types import Array, DType, TensorType


class Kind(Enum):
    """A way to fill tensors.

    INTEGERS are small whole numbers, on which sums and products are exact in floating point. REALS
    are normally distributed, SMALL and LARGE scaled to 1e-3 and 30 so that a lost epsilon or limit
    shows, ZEROS mostly 0 and 1. NAN puts NaN among the reals; SPECIAL adds NaN, infinities, -0.0 and the
    extremes of the type.
    """

    INTEGERS = "integers"
    REALS = "reals"
    SMALL = "small"
    LARGE = "large"
    ZEROS = "zeros"
    NAN = "nan"
    SPECIAL = "special"


_SCALES = {Kind.REALS: 1.5, Kind.SMALL: 1e-3, Kind.LARGE: 30.0, Kind.NAN: 1.5}
# Infinities several times: some equations fail only where two inputs have the same one.
_SPECIAL = (
    np.nan, *[np.inf] * 3, *[-np.inf] * 2, -0.0, 0.0, 1.0, -1.0, 1e-40, 3e38, -3e38, 6.5e4, 2.0, 88.8,
)  # fmt: skip


# The share of values that are out of the ordinary.
_RARE = 0.4


def fill(kind: Kind, type_: TensorType, rng: np.random.Generator) -> Array:
    """Return random data of a concrete type."""
    shape = type_.static_shape
    assert shape is not None, "only concrete shapes can be filled"
    if type_.dtype is DType.BOOL:
        return rng.integers(0, 2, size=shape).astype(np.bool_)
    if type_.dtype.is_integer:
        return _integers(kind, type_.dtype, shape, rng)
    with np.errstate(all="ignore"):
        return _floats(kind, shape, rng).astype(type_.dtype.numpy)


def _integers(kind: Kind, dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    limits = np.iinfo(dtype.numpy)
    if kind is Kind.SPECIAL:
        drawn = rng.integers(limits.min, limits.max, size=shape, dtype=dtype.numpy, endpoint=True)
        ends = (limits.min, limits.max, 0, limits.min // 2, limits.max // 2 + 1)
        extreme = rng.choice(np.array(ends, dtype=dtype.numpy), size=shape)
        return np.where(rng.random(shape) < _RARE, extreme, drawn).astype(dtype.numpy)
    low = 0 if limits.min == 0 else -3
    if kind is Kind.ZEROS:
        low = 0
    return rng.integers(low, 2 if kind is Kind.ZEROS else 4, size=shape).astype(dtype.numpy)


def _floats(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if kind is Kind.INTEGERS:
        return rng.integers(-3, 4, size=shape).astype(np.float64)
    if kind is Kind.ZEROS:
        return rng.choice([0.0, 0.0, -0.0, 1.0, -1.0], size=shape)
    if kind is Kind.SPECIAL:
        plain = rng.normal(scale=2.0, size=shape)
        return np.where(rng.random(shape) < _RARE, rng.choice(_SPECIAL, size=shape), plain)
    drawn = rng.normal(scale=_SCALES[kind], size=shape)
    return np.where(rng.random(shape) < 0.25, np.nan, drawn) if kind is Kind.NAN else drawn


def unlike(first: Array, second: Array) -> Array:
    """Return where two arrays of one shape and type differ in a bit (any NaN equals any NaN)."""
    if first.dtype == object or first.dtype.kind in "iub":
        return np.asarray(first != second)
    same = (first == second) & (np.signbit(first) == np.signbit(second))
    return np.asarray(~same & ~(np.isnan(first) & np.isnan(second)))


def far(first: Array, second: Array, scale: float, finite_only: bool) -> Array:
    """Return where two arrays of one shape and type differ by more than rounding explains.

    `scale` is the largest magnitude met on the way: rounding errors are proportional to it. With
    `finite_only`, places where `first` is not finite are not compared.
    """
    if first.dtype == object or first.dtype.kind in "iub":
        return np.asarray(first != second)
    single = first.dtype.itemsize < 8
    relative, share = (2e-3, 1e-5) if single else (1e-7, 1e-12)
    a, b = first.astype(np.float64), second.astype(np.float64)
    with np.errstate(all="ignore"):
        error = relative * np.maximum(np.abs(a), np.abs(b)) + share * scale
        equal = (a == b) | (np.abs(a - b) <= error) | (np.isnan(a) & np.isnan(b))
    if finite_only:
        equal |= ~np.isfinite(a)
    return np.asarray(~equal)


def hidden(first: Array, second: Array, scale: float) -> Array:
    """Return where a NaN of the first array became a number, or two numbers differ.

    A number may become NaN: sums that were factored out also multiply what has the weight 0.
    """
    if first.dtype.kind in "iub":
        return np.asarray(first != second)
    nan = np.isnan(second)
    return np.asarray(far(np.where(nan, 0, first), np.where(nan, 0, second), scale, False))
