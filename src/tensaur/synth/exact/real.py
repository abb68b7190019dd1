"""Real numbers to 50 digits that know how far they may be from the truth, and the usual functions.

Every result carries a bound of what rounding, and the constants that a float can only approximate, may
have done to it: two results are different numbers if their bounds do not meet.
"""

from __future__ import annotations

import decimal
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

from tensaur.synth.exact.element import UNDEFINED, Element, OutOfTier, exact_value

DIGITS = 50
# Thirteen digits more than are promised, so that rounding stays below the bound of one operation.
CONTEXT = decimal.Context(
    prec=DIGITS + 13,
    Emax=decimal.MAX_EMAX,
    Emin=decimal.MIN_EMIN,
    traps=[decimal.DivisionByZero, decimal.InvalidOperation, decimal.Overflow],
)
_ROUNDING = Decimal(10) ** -(DIGITS + 10)
# How far a float constant may be from the number that is meant: a few units of the last place of float32,
# in which ONNX stores attributes and models their constants.
_UNCERTAIN = Decimal("4e-6")
_LARGEST_POWER = 1000
_ZERO, _ONE, _TWO, _HALF = Decimal(0), Decimal(1), Decimal(2), Decimal("0.5")
_FAR = Decimal(12)  # erf differs from 1 by less than 1e-63 from here on
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


class Real(Element):
    """A number near `value`, no further than `error` from it. Use under `CONTEXT`."""

    __slots__ = ("error", "value")

    def __init__(self, value: Decimal, error: Decimal = _ZERO) -> None:
        self.value = value
        self.error = error

    def __repr__(self) -> str:
        return f"{self.value:.17g}"

    def of(self, number: Any) -> Any:
        """Return a plain number as a real one."""
        return real(number)

    def plus(self, other: Real) -> Real:
        """Return the sum."""
        value = self.value + other.value
        return Real(value, self.error + other.error + abs(value) * _ROUNDING)

    def minus(self, other: Real) -> Real:
        """Return the difference."""
        value = self.value - other.value
        return Real(value, self.error + other.error + abs(value) * _ROUNDING)

    def times(self, other: Real) -> Real:
        """Return the product."""
        value = self.value * other.value
        error = abs(value) * _ROUNDING
        if self.error:
            error += self.error * (abs(other.value) + other.error)
        if other.error:
            error += abs(self.value) * other.error
        return Real(value, error)

    def over(self, other: Real) -> Any:
        """Return the quotient."""
        least = abs(other.value) - other.error
        if least <= 0:
            return UNDEFINED
        value = self.value / other.value
        error = (self.error + abs(value) * other.error) / least
        return Real(value, error + abs(value) * _ROUNDING)

    def power(self, other: Real) -> Any:
        """Return a power."""
        whole = not other.error and other.value == other.value.to_integral_value()
        if not self.value or (self.value < 0 and not whole):
            return self._power_of_zero(other)
        if abs(other.value) > _LARGEST_POWER:
            raise OutOfTier("power")
        value = self.value**other.value
        share = abs(other.value) * self.error / abs(self.value)
        if other.error:
            share += abs(abs(self.value).ln()) * other.error
        return Real(value, abs(value) * (2 * share + _ROUNDING))

    def _power_of_zero(self, exponent: Real) -> Any:
        if abs(self.value) > self.error or exponent.value <= exponent.error:
            return UNDEFINED
        if self.error:
            raise OutOfTier("power near zero")
        return Real(_ZERO)

    def __neg__(self) -> Real:
        return Real(-self.value, self.error)

    def __abs__(self) -> Real:
        return Real(abs(self.value), self.error)

    def __floor__(self) -> Real:
        return self._whole(ROUND_FLOOR)

    def __ceil__(self) -> Real:
        return self._whole(ROUND_CEILING)

    def _whole(self, rounding: str) -> Real:
        low = (self.value - self.error).to_integral_value(rounding)
        if low != (self.value + self.error).to_integral_value(rounding):
            raise OutOfTier("rounding next to an integer")
        return Real(low)

    # Where two numbers cannot be told apart, either answer is right for whatever is continuous.

    def __lt__(self, other: Any) -> bool:
        return self.value < self._comparable(other).value

    def __le__(self, other: Any) -> bool:
        return self.value <= self._comparable(other).value

    def __gt__(self, other: Any) -> bool:
        return self.value > self._comparable(other).value

    def __ge__(self, other: Any) -> bool:
        return self.value >= self._comparable(other).value

    def __eq__(self, other: Any) -> bool:
        b = self._comparable(other)
        if self.value != b.value and abs(self.value - b.value) <= self.error + b.error:
            raise OutOfTier("numbers too near to tell whether they are equal")
        return self.value == b.value

    def __ne__(self, other: Any) -> bool:
        return not self == other

    def _comparable(self, other: Any) -> Real:
        b = self._met(other)
        if b is UNDEFINED:
            return b < self  # which refuses
        assert isinstance(b, Real)
        return b

    __hash__: Any = None

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return self != 0

    def exp(self) -> Real:
        """Return e to the power of x."""
        value = self.value.exp()
        grown = 2 * self.error if self.error < _HALF else self.error.exp()
        return Real(value, value * (grown + _ROUNDING))

    def expm1(self) -> Real:
        """Return exp(x) - 1."""
        return self.exp().minus(Real(_ONE))

    def log(self) -> Any:
        """Return the natural logarithm of a positive number."""
        if self.value <= 2 * self.error:
            return UNDEFINED
        value = self.value.ln()
        return Real(value, 2 * self.error / self.value + (abs(value) + _ROUNDING) * _ROUNDING)

    def sqrt(self) -> Any:
        """Return the square root of a number that is not negative."""
        if self.value + self.error < 0:
            return UNDEFINED
        if self.value <= self.error:
            return Real(_ZERO, (2 * self.error).sqrt())
        value = self.value.sqrt()
        return Real(value, self.error / value + value * _ROUNDING)

    def tanh(self) -> Real:
        """Return the hyperbolic tangent."""
        x = abs(self.value)
        if x > 100:
            value = _ONE
        elif x < Decimal("0.01"):
            value = _tanh_near_zero(x)
        else:
            grown = (_TWO * x).exp()
            value = (grown - 1) / (grown + 1)
        error = 2 * self.error * (1 - value * value) + value * _ROUNDING
        return Real(value.copy_sign(self.value), error)

    def erf(self) -> Real:
        """Return the error function: a series of positive terms, 1 far from 0."""
        x = abs(self.value)
        slope = 2 * (-x * x).exp() / _PI.sqrt()
        value = _ONE if x > _FAR else slope * _odd_series(x)
        return Real(value.copy_sign(self.value), 2 * self.error * slope + value * _ROUNDING)

    def sin(self) -> Real:
        """Return the sine."""
        return Real(_sine(self.value), self.error + _ROUNDING)

    def cos(self) -> Real:
        """Return the cosine."""
        return Real(_sine(self.value + _PI / 2), self.error + _ROUNDING)


def real(number: Any) -> Any:
    """Return a number as a real one, in doubt if it is a float that may be rounded."""
    if isinstance(number, Element):
        return number
    try:
        exact = exact_value(number)
    except OutOfTier:
        value = Decimal(float(number))
        if value.is_nan():
            raise
        return Real(value, abs(value) * _UNCERTAIN if value.is_finite() else _ZERO)
    if isinstance(exact, Fraction):
        value = Decimal(exact.numerator) / exact.denominator
        whole = value * exact.denominator == exact.numerator
        return Real(value, _ZERO if whole else abs(value) * _ROUNDING)
    return Real(Decimal(exact))


def _tanh_near_zero(x: Decimal) -> Decimal:
    """Divide the series of sinh by that of cosh: no digits cancel."""
    odd, even = x, _ONE
    sine, cosine = odd, even
    for n in range(2, 40, 2):
        even = odd * x / n
        odd = even * x / (n + 1)
        cosine += even
        sine += odd
    return sine / cosine


def _odd_series(x: Decimal) -> Decimal:
    """Return the sum of x * (2 x^2)^n / (1 * 3 * ... * (2n + 1))."""
    total, term, square, n = x, x, 2 * x * x, 1
    while term > total * _ROUNDING / 1000:
        n += 2
        term = term * square / n
        total += term
    return total


def _sine(x: Decimal) -> Decimal:
    x = x.remainder_near(2 * _PI)
    total, term, square, n = x, x, x * x, 1
    while abs(term) > _ROUNDING / 1000:
        n += 2
        term = -term * square / (n * (n - 1))
        total += term
    return total
