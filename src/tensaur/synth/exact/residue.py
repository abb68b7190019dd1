"""Residues modulo a prime, which know the degree of what they are the value of.

For random arguments, two different polynomials of degree d agree with a probability of at most d / PRIME
(Schwartz 1980, Zippel 1979); quotients of polynomials are compared after multiplying out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tensaur.synth.exact.element import UNDEFINED, Element, OutOfTier, exact_value

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

    def of(self, number: Any) -> Any:
        """Return a plain number as a residue."""
        return residue(number)

    def plus(self, other: Residue) -> Residue:
        """Return the sum."""
        number = (self.number + other.number) % PRIME
        if not (self.below or other.below):
            return Residue(number, self.above if self.above > other.above else other.above)
        above = max(self.above + other.below, other.above + self.below)
        return Residue(number, above, self.below + other.below)

    def minus(self, other: Residue) -> Residue:
        """Return the difference."""
        return self.plus(-other)

    def times(self, other: Residue) -> Residue:
        """Return the product."""
        return Residue(
            self.number * other.number % PRIME,
            self.above + other.above,
            self.below + other.below,
        )

    def over(self, other: Residue) -> Any:
        """Return the quotient."""
        if not other.number:
            return UNDEFINED
        return self.times(Residue(pow(other.number, -1, PRIME), other.below, other.above))

    def power(self, other: Residue) -> Residue:
        """Return a small power."""
        n = other.number
        if other.above or other.below or n > _LARGEST_POWER:
            raise OutOfTier("power")
        return Residue(pow(self.number, n, PRIME), n * self.above, n * self.below)

    def __neg__(self) -> Residue:
        return Residue(-self.number % PRIME, self.above, self.below)


def residue(number: Any) -> Any:
    """Return a number as a residue; OutOfTier if that is not exact."""
    if isinstance(number, Element):
        return number
    value = exact_value(number)
    if isinstance(value, Fraction):
        return Residue(value.numerator * pow(value.denominator, -1, PRIME) % PRIME)
    return Residue(value % PRIME)


def degree(first: Residue, second: Residue) -> int:
    """Return the degree of the polynomial that is zero wherever the two are equal."""
    return max(first.above + second.below, second.above + first.below)
