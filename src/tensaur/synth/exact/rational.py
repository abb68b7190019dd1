"""Rational numbers of any size, with their order: what comparisons, maxima and roundings need."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tensaur.synth.exact.element import Element, OutOfTier, Undefined, exact_value, scalar

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

    def __add__(self, other: Any) -> Rational:
        return Rational(self.value + plain(other))

    __radd__ = __add__

    def __neg__(self) -> Rational:
        return Rational(-self.value)

    def __sub__(self, other: Any) -> Rational:
        return Rational(self.value - plain(other))

    def __rsub__(self, other: Any) -> Rational:
        return Rational(plain(other) - self.value)

    def __mul__(self, other: Any) -> Rational:
        return Rational(self.value * plain(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Rational:
        return _quotient(self.value, plain(other))

    def __rtruediv__(self, other: Any) -> Rational:
        return _quotient(plain(other), self.value)

    def __pow__(self, other: Any) -> Rational:
        exponent = plain(other)
        if not isinstance(exponent, int) or abs(exponent) > _LARGEST_POWER:
            raise OutOfTier("power")
        if exponent < 0:
            return _quotient(1, self.value**-exponent)
        return Rational(self.value**exponent)

    def __rpow__(self, other: Any) -> Rational:
        return Rational(plain(other)) ** self

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
        return bool(self.value < _comparable(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _comparable(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _comparable(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _comparable(other))

    def __eq__(self, other: Any) -> bool:
        return bool(self.value == _comparable(other))

    def __ne__(self, other: Any) -> bool:
        return bool(self.value != _comparable(other))

    __hash__: Any = None


def plain(number: Any) -> Plain:
    """Return an int or Fraction; OutOfTier for a float that may be rounded."""
    number = scalar(number)
    return number.value if type(number) is Rational else exact_value(number)


def rational(number: Any) -> Rational:
    """Return a plain number as a rational one; OutOfTier if that is not exact."""
    return Rational(plain(number))


def _comparable(number: Any) -> Any:
    if isinstance(number, (float, np.floating)) and math.isinf(number):
        return float(number)
    return plain(number)


def _quotient(a: Plain, b: Plain) -> Rational:
    if not b:
        raise Undefined("division by zero")
    value = Fraction(a) / b
    return Rational(value.numerator if value.denominator == 1 else value)
