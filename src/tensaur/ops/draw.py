"""What the operators' `sample` methods share: random shapes, axes and small constants.

Holds no operator. Sizes are small, so that a sampled computation takes microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.types import DType, Known, TensorType
from tensaur.ops.inference import ORDINARY

StaticShape = tuple[int, ...]


def static(output: TensorType, allowed: frozenset[DType] = ORDINARY) -> StaticShape:
    """Return the integer shape of the wanted result; TypeMismatch if the type is not accepted."""
    shape = output.static_shape
    if shape is None or output.dtype not in allowed:
        raise TypeMismatch(f"no sample with the result type {output}")
    return shape


def static_of_rank(
    output: TensorType, least: int, allowed: frozenset[DType] = ORDINARY
) -> StaticShape:
    """Return the integer shape of the wanted result, which must have at least `least` axes."""
    shape = static(output, allowed)
    if len(shape) < least:
        raise TypeMismatch(f"no sample with the result type {output}: rank below {least}")
    return shape


def refuse(output: TensorType, why: str) -> TypeMismatch:
    """Return the error for a result type that an operator cannot give."""
    return TypeMismatch(f"no sample with the result type {output}: {why}")


def operands(rng: Random, shape: StaticShape, count: int) -> list[StaticShape]:
    """Draw `count` shapes that broadcast to `shape` together: often equal, else ones and lower ranks."""
    if count == 1 or rng.random() < 0.4:
        return [shape] * count
    columns = []
    for dim in shape:
        full = rng.randrange(count)
        columns.append([dim if i == full or rng.random() < 0.6 else 1 for i in range(count)])
    drawn = [tuple(column[i] for column in columns) for i in range(count)]
    keeper = rng.randrange(count)
    return [item if i == keeper else lower_rank(rng, item) for i, item in enumerate(drawn)]


def lower_rank(rng: Random, shape: StaticShape) -> StaticShape:
    """Drop some leading ones of a shape, often none."""
    ones = 0
    while ones < len(shape) and shape[ones] == 1:
        ones += 1
    return shape[rng.randint(0, ones) :] if rng.random() < 0.7 else shape


def one_way_operand(rng: Random, shape: StaticShape) -> StaticShape:
    """Draw a shape that broadcasts to `shape`."""
    return lower_rank(rng, tuple(dim if rng.random() < 0.6 else 1 for dim in shape))


def signed(rng: Random, axis: int, rank: int) -> int:
    """Count an axis from the left or from the right."""
    return axis if rng.random() < 0.5 else axis - rank


def axis_of(rng: Random, output: TensorType, shape: Sequence[int]) -> int:
    """Draw an axis, counted from the left; TypeMismatch for a scalar."""
    if not shape:
        raise refuse(output, "there is no axis")
    return rng.randrange(len(shape))


def chance(rng: Random, probability: float = 0.5) -> bool:
    """Draw a truth value."""
    return rng.random() < probability


def vector(items: Sequence[int]) -> Known:
    """Return an int64 vector as a literal."""
    return Known.of(np.array(items, dtype=np.int64))


def split_total(rng: Random, total: int, parts: int) -> list[int]:
    """Write `total` as a sum of `parts` integers >= 0."""
    cuts = sorted(rng.randint(0, total) for _ in range(parts - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def factors(rng: Random, total: int, most: int = 3) -> StaticShape:
    """Write `total` as a product of up to `most` sizes; possibly none for 1."""
    if total == 0:
        return (0,)
    primes = prime_factors(total)
    count = rng.randint(1 if total > 1 else 0, most)
    result = [1] * count
    for prime in primes:
        result[rng.randrange(count)] *= prime
    return tuple(result)


def prime_factors(number: int) -> list[int]:
    """Return the prime factors of a small number, with repeats."""
    result: list[int] = []
    divisor = 2
    while number > 1:
        while number % divisor == 0:
            result.append(divisor)
            number //= divisor
        divisor += 1
    return result


@dataclass(frozen=True, slots=True)
class Widened:
    """A shape with axes of size 1 inserted at `places`."""

    places: tuple[int, ...]
    shape: StaticShape


def with_ones(rng: Random, shape: StaticShape, count: int) -> Widened:
    """Insert `count` axes of size 1 anywhere."""
    rank = len(shape) + count
    places = tuple(sorted(rng.sample(range(rank), count)))
    dims = iter(shape)
    return Widened(places, tuple(1 if axis in places else next(dims) for axis in range(rank)))


def signed_axes(rng: Random, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Count axes from the left or all from the right, in any order."""
    shift = rank if chance(rng) else 0
    return tuple(axis - shift for axis in rng.sample(list(axes), len(axes)))
