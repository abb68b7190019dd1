"""Rational numbers of any size, with their order: what comparisons, maxima and roundings need."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tensaur.synth.exact.element import UNDEFINED, Element, OutOfTier, exact_value

Plain = int | Fraction
_LARGEST_POWER = 64


class Rational(Element):
    """A rational number; an int as long as nothing was divided, since ints are quicker.

    Square roots and everything transcendental is refused. Infinities take part in comparisons only.
    """

    __slots__ = ("value",)

    def __init__(self, value: Plain) -> None:
        self.value = value

    def __repr__(self) -> str:
        return str(self.value)

    def of(self, number: Any) -> Any:
        """Return a plain number as a rational one."""
        return rational(number)

    def plus(self, other: Rational) -> Rational:
        """Return the sum."""
        return Rational(self.value + other.value)

    def minus(self, other: Rational) -> Rational:
        """Return the difference."""
        return Rational(self.value - other.value)

    def times(self, other: Rational) -> Rational:
        """Return the product."""
        return Rational(self.value * other.value)

    def over(self, other: Rational) -> Any:
        """Return the quotient."""
        if not other.value:
            return UNDEFINED
        value = Fraction(self.value) / other.value
        return Rational(value.numerator if value.denominator == 1 else value)

    def power(self, other: Rational) -> Any:
        """Return a small whole power."""
        exponent = int(other.value)
        if exponent != other.value or abs(exponent) > _LARGEST_POWER:
            raise OutOfTier("power")
        result = Rational(self.value ** abs(exponent))
        return result if exponent >= 0 else Rational(1).over(result)

    def __neg__(self) -> Rational:
        return Rational(-self.value)

    def __abs__(self) -> Rational:
        return Rational(self.value if self.value >= 0 else -self.value)

    def __floor__(self) -> Rational:
        return Rational(math.floor(self.value))

    def __ceil__(self) -> Rational:
        return Rational(math.ceil(self.value))

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < self._comparable(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= self._comparable(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > self._comparable(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= self._comparable(other))

    def __eq__(self, other: Any) -> bool:
        return bool(self.value == self._comparable(other))

    def __ne__(self, other: Any) -> bool:
        return bool(self.value != self._comparable(other))

    __hash__: Any = None

    def _comparable(self, number: Any) -> Any:
        if isinstance(number, (float, np.floating)) and math.isinf(number):
            return float(number)
        other = self._met(number)
        return other < self if other is UNDEFINED else other.value  # which refuses


def rational(number: Any) -> Any:
    """Return a number as a rational one; OutOfTier if that is not exact."""
    return number if isinstance(number, Element) else Rational(exact_value(number))
