"""Inputs to run a model on: seeded random ones that the model accepts, or the user's own.

Holds the choice of sizes for dimensions without one, the drawing of values in several regimes, and
whether given arrays fit. Reads no files and does not judge outputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

import numpy as np

from tensaur.errors import RuntimeFailure, UsageError
from tensaur.ir.types import Array, DType
from tensaur.runtime.protocol import Feeds, Port, Session

DEFAULT_SIZE = 64

# Integers are often indices into something whose size the interface does not tell.
INTEGER_LIMITS = (64, 8, 2, 1)
# Tried in this order for dimensions without a given size until the model runs: powers of two, common
# picture and audio frame sizes, and small ones.
_OTHER_SIZES = (32, 128, 256, 224, 512, 16, 8, 576, 640, 3, 2, 1)
_MOST_PLANS = 500
# Sizes that are only a guess must not fill the memory: four dimensions of 256 would be 16 GB.
_MOST_ELEMENTS = 1 << 26
_BATCH = re.compile(r"(^|[^a-z])(batch|bs|b|n)([^a-z]|$)|batch", re.IGNORECASE)
_LENGTH = re.compile(r"seq|len|time|frame|token|height|width|sample|step", re.IGNORECASE)
_WORDS = ("", "a", "tensor", "Zürich", "0", "two words")


class Regime(Enum):
    """How floating-point values are distributed; integers and the rest do not depend on it."""

    NORMAL = "normal"
    POSITIVE = "positive"
    INTEGERS = "integers"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class Plan:
    """What makes a model run: a size for every named dimension, and a bound for integer values."""

    sizes: Mapping[str, int]
    limit: int = INTEGER_LIMITS[0]


def default_size(name: str, axis: int, rank: int) -> int:
    """Return the representative size of a dimension: 1 for batch-like first axes, else 64."""
    if axis != 0 or _LENGTH.search(name):
        return DEFAULT_SIZE
    return 1 if rank > 1 or _BATCH.search(name) else DEFAULT_SIZE


def representative_sizes(
    ports: Sequence[Port], given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Return a size for every named dimension of the ports: the given one, else the default.

    A dimension that the file does not name is given as ``<port>.<axis>``, with or without a ``?``.
    """
    sizes = with_anonymous(given or {})
    for port in ports:
        for axis, dim in enumerate(port.dims):
            if isinstance(dim, str):
                sizes.setdefault(dim, default_size(dim, axis, len(port.dims)))
    return sizes


def with_anonymous(given: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes, each also under the name that it has if it belongs to an unnamed dimension."""
    return {**{f"?{name}": size for name, size in given.items()}, **given}


def plan_inputs(session: Session, given: Mapping[str, int] | None = None, seed: int = 0) -> Plan:
    """Find sizes and an integer bound with which the model runs.

    The given and default sizes are tried first, with ever smaller integers; then other sizes for
    the dimensions that were not given. RuntimeFailure carries the first fault if nothing runs.
    """
    first: RuntimeFailure | None = None
    for plan in _plans(session.inputs, given or {}):
        try:
            session.run(draw(session.inputs, plan, seed))
        except RuntimeFailure as error:
            first = first or error
            continue
        return plan
    assert first is not None, "at least one plan is tried"
    raise RuntimeFailure(f"no random inputs found that the model accepts: {first}") from first


def random_feeds(
    session: Session, sizes: Mapping[str, int] | None = None, count: int = 4, seed: int = 0
) -> list[Feeds]:
    """Return `count` seeded inputs that the model accepts, the value regimes taken in turn."""
    return planned_feeds(session, plan_inputs(session, sizes, seed), count, seed)


def planned_feeds(session: Session, plan: Plan, count: int = 4, seed: int = 0) -> list[Feeds]:
    """Return `count` seeded inputs of a plan that the model was found to run with."""
    regimes = tuple(Regime)
    feeds: list[Feeds] = [draw(session.inputs, plan, seed)]
    for index in range(1, count):
        drawn = draw(session.inputs, plan, seed + index, regimes[index % len(regimes)])
        try:
            session.run(drawn)
        except RuntimeFailure:  # a value regime that the model does not accept proves nothing
            drawn = draw(session.inputs, plan, seed)
        feeds.append(drawn)
    return feeds


def draw(
    ports: Sequence[Port], plan: Plan, seed: int = 0, regime: Regime = Regime.NORMAL
) -> dict[str, Any]:
    """Draw one array for every port; RuntimeFailure names a port that is not a tensor."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for port in ports:
        if port.dtype is None:
            raise RuntimeFailure(
                f"input {port.name!r} is {port.kind}, for which no random values can be made"
            )
        shape = tuple(dim if isinstance(dim, int) else plan.sizes[dim] for dim in port.dims)
        try:
            feeds[port.name] = draw_array(rng, port.dtype, shape, plan.limit, regime)
        except (
            MemoryError,
            ValueError,
        ) as error:  # numpy: no memory, or too many elements to count
            fault = f"input {port.name!r} of shape {shape} does not fit into memory"
            raise RuntimeFailure(fault) from error
    return feeds


def draw_array(
    rng: np.random.Generator,
    dtype: DType,
    shape: tuple[int, ...],
    limit: int = INTEGER_LIMITS[0],
    regime: Regime = Regime.NORMAL,
) -> Array:
    """Draw one array; integers lie in [0, limit), bytes over their whole range at the widest limit."""
    if dtype is DType.BOOL:
        return np.asarray(rng.random(shape) < 0.5)  # of a scalar, the comparison is no array
    if dtype is DType.STRING:
        return np.array(rng.choice(_WORDS, size=shape), dtype=object)
    if dtype.numpy.kind in "iu":
        low, high = 0, limit
        if dtype.bits == 8 and limit == INTEGER_LIMITS[0]:
            low, high = (0, 256) if dtype is DType.UINT8 else (-128, 128)
        return rng.integers(low, high, size=shape).astype(dtype.numpy)
    if dtype.numpy.kind == "c":
        real, imaginary = rng.standard_normal((2, *shape))
        return np.asarray(real + 1j * imaginary, dtype=dtype.numpy)
    if not dtype.is_float:  # narrow types: numbers that all of them hold (one has no zero)
        low = 1 if dtype.value.startswith("f") else 0
        return rng.integers(low, low + 2, size=shape).astype(dtype.numpy)
    return np.asarray(_draw_floats(rng, dtype, shape, regime), dtype=dtype.numpy)


def check_feeds(arrays: Mapping[str, Array], ports: Sequence[Port], place: str) -> dict[str, Array]:
    """Return the arrays if they fit the ports in name, element type and shape, else UsageError."""
    if not isinstance(arrays, Mapping):
        raise UsageError(f"{place}: expected arrays by name, got {type(arrays).__name__}")
    expected = [port.name for port in ports]
    missing = [name for name in expected if name not in arrays]
    unknown = [name for name in arrays if name not in expected]
    if missing or unknown:
        what = f"input {missing[0]!r} is missing" if missing else f"no input {unknown[0]!r}"
        raise UsageError(f"{place}: {what}, expected {', '.join(expected)}")
    sizes: dict[str, int] = {}
    return {port.name: _check_array(arrays[port.name], port, sizes, place) for port in ports}


def _plans(ports: Sequence[Port], given: Mapping[str, int]) -> Iterator[Plan]:
    has_integers = any(port.dtype is not None and port.dtype.numpy.kind in "iu" for port in ports)
    limits = INTEGER_LIMITS if has_integers else INTEGER_LIMITS[:1]
    sizes = representative_sizes(ports, given)
    yield from (Plan(sizes, limit) for limit in limits)
    fixed = with_anonymous(given)
    free = [name for name, size in sizes.items() if name not in fixed and size == DEFAULT_SIZE]
    others = (
        Plan({**sizes, **pattern}, limit)
        for size in (DEFAULT_SIZE, *_OTHER_SIZES)
        for pattern in _patterns(free, size)
        for limit in limits
    )
    yield from islice((plan for plan in others if _is_modest(ports, plan)), _MOST_PLANS)


def _is_modest(ports: Sequence[Port], plan: Plan) -> bool:
    shapes = (
        [dim if isinstance(dim, int) else plan.sizes[dim] for dim in port.dims] for port in ports
    )
    return sum(math.prod(shape) for shape in shapes) <= _MOST_ELEMENTS


def _patterns(free: Sequence[str], size: int) -> Iterator[dict[str, int]]:
    """Give all free dimensions one size; or all but one, or only one (unnamed batches are common)."""
    everywhere = dict.fromkeys(free, size)
    if free:
        yield everywhere
    if len(free) > 1:
        yield from ({**everywhere, name: 1} for name in free)
    if len(free) > 2:
        yield from ({**dict.fromkeys(free, 1), name: size} for name in free)


def _draw_floats(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], regime: Regime
) -> Array:
    if regime is Regime.POSITIVE:
        return rng.uniform(0.05, 1.0, size=shape)
    if regime is Regime.INTEGERS:
        return rng.integers(-3, 4, size=shape).astype(np.float64)
    scale = 1.0 if regime is Regime.NORMAL else 8.0 if dtype is DType.FLOAT16 else 30.0
    return rng.standard_normal(shape) * scale


def _check_array(array: Array, port: Port, sizes: dict[str, int], place: str) -> Array:
    if port.dtype is None:
        raise UsageError(f"{place}: input {port.name!r} is {port.kind}, which npz cannot hold")
    array, wanted = np.asarray(array), port.dtype.numpy
    if array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize:
        array = array.view(wanted)  # NumPy files know neither bfloat16 nor the 8-bit floats
    if wanted.kind == "O" and array.dtype.kind == "U":
        array = array.astype(object)
    shape = array.shape
    if array.dtype != wanted:
        raise UsageError(f"{place}: input {port.name!r} is {array.dtype}, expected {wanted}")
    fits = len(shape) == len(port.dims) and all(
        (dim if isinstance(dim, int) else sizes.setdefault(dim, size)) == size
        for dim, size in zip(port.dims, shape, strict=True)
    )
    if not fits:
        expected = ", ".join(str(dim) for dim in port.dims)
        raise UsageError(f"{place}: input {port.name!r} has shape {shape}, expected ({expected})")
    return array
