"""Derived values about known numbers that bound or scale: intervals, inverses, ratios."""

from __future__ import annotations

import math

from tensaur.ir.term import derived
from tensaur.ir.types import Fact
from tensaur.rules.conditions import number_of


@derived
def inverse_of(fact: Fact) -> float:
    """One divided by a known positive number."""
    return 1 / _positive(fact)


@derived
def ratio(numerator: Fact, denominator: Fact) -> float:
    """A known number divided by a known positive one."""
    return number_of(numerator) / _positive(denominator)


@derived
def same_number(first: Fact, second: Fact) -> bool:
    """Whether two known numbers are equal."""
    return number_of(first) == number_of(second)


@derived
def is_inverse(first: Fact, second: Fact) -> bool:
    """Whether the product of two known numbers is 1 up to single-precision rounding."""
    return math.isclose(number_of(first) * number_of(second), 1.0, rel_tol=1e-6)


@derived
def higher(fact: Fact, other: Fact | float) -> float:
    """The greater of two known numbers."""
    return max(number_of(fact), _plain(other))


@derived
def lower(fact: Fact, other: Fact | float) -> float:
    """The smaller of two known numbers."""
    return min(number_of(fact), _plain(other))


@derived
def overlap(low: Fact, high: Fact, other_low: Fact, other_high: Fact) -> bool:
    """Whether two known closed intervals have a number in common."""
    a, b, c, d = (number_of(fact) for fact in (low, high, other_low, other_high))
    return a <= b and c <= d and max(a, c) <= min(b, d)


def _positive(fact: Fact) -> float:
    value = number_of(fact)
    if value <= 0:
        raise ValueError(f"{value} is not positive")
    return value


def _plain(value: Fact | float) -> float:
    return number_of(value) if isinstance(value, Fact) else value
