"""Residues modulo a prime, which know the degree of what they are the value of.

For random arguments, two different polynomials of degree d agree with a probability of at most d / PRIME
(Schwartz 1980, Zippel 1979); quotients of polynomials are compared after multiplying out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tensaur.synth.exact.element import Element, OutOfTier, Undefined, exact_value, scalar

PRIME = 2**61 - 1
_LARGEST_POWER = 64


class Residue(Element):
    """The value modulo PRIME of a quotient of polynomials, of degrees `above` and `below` at most.

    A variable has degree 1, a number 0. Comparisons and everything else that is not rational are refused.
    """

    __slots__ = ("above", "below", "number")

    def __init__(self, number: int, above: int = 0, below: int = 0) -> None:
        self.number = number
        self.above = above
        self.below = below

    def __repr__(self) -> str:
        return str(self.number)

    def __add__(self, other: Any) -> Residue:
        if type(other) is not Residue:
            other = residue(other)
        if not (self.below or other.below):
            above = self.above if self.above > other.above else other.above
            return Residue((self.number + other.number) % PRIME, above)
        above = max(self.above + other.below, other.above + self.below)
        return Residue((self.number + other.number) % PRIME, above, self.below + other.below)

    __radd__ = __add__

    def __neg__(self) -> Residue:
        return Residue(-self.number % PRIME, self.above, self.below)

    def __sub__(self, other: Any) -> Residue:
        return self + -residue(other)

    def __rsub__(self, other: Any) -> Residue:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Residue:
        if type(other) is not Residue:
            other = residue(other)
        return Residue(
            self.number * other.number % PRIME,
            self.above + other.above,
            self.below + other.below,
        )

    __rmul__ = __mul__

    def inverse(self) -> Residue:
        """Return 1 / x; Undefined for 0."""
        if not self.number:
            raise Undefined("division by zero")
        return Residue(pow(self.number, -1, PRIME), self.below, self.above)

    def __truediv__(self, other: Any) -> Residue:
        return self * residue(other).inverse()

    def __rtruediv__(self, other: Any) -> Residue:
        return self.inverse().__mul__(other)

    def __pow__(self, other: Any) -> Residue:
        exponent = residue(other)
        if exponent.above or exponent.below or exponent.number > _LARGEST_POWER:
            raise OutOfTier("power")
        n = exponent.number
        return Residue(pow(self.number, n, PRIME), n * self.above, n * self.below)

    def __rpow__(self, other: Any) -> Residue:
        return residue(other) ** self


def residue(number: Any) -> Residue:
    """Return the residue of a plain number; OutOfTier if that is not exact."""
    if isinstance(number, Residue):
        return number
    number = scalar(number)
    if isinstance(number, Residue):
        return number
    value = exact_value(number)
    if isinstance(value, Fraction):
        return Residue(value.numerator * pow(value.denominator, -1, PRIME) % PRIME)
    return Residue(value % PRIME)


def degree(first: Residue, second: Residue) -> int:
    """Return the degree of the polynomial that is zero wherever the two are equal."""
    return max(first.above + second.below, second.above + first.below)
