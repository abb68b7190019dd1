"""What the exact kinds of numbers share: how they meet other numbers, and what has no value.

Holds no arithmetic of its own.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

_STEPS = 1 << 16  # a float that is a multiple of 1 / _STEPS ...
_LARGEST = 1 << 24  # ... and no larger than this is taken at its word


class OutOfTier(Exception):
    """Control flow: this kind of number has no exact result for the operation.

    Not a `TensaurError`: users never see it.
    """


class Undecided(ArithmeticError):
    """What has no value was compared, or turned into an integer."""


def exact_value(number: Any) -> int | Fraction:
    """Return the number that a plain one stands for; OutOfTier for a float that may be rounded.

    0.5 and 6.0 are what they say, 0.1 is the nearest float to a number that nobody knows.
    """
    if isinstance(number, (int, np.integer, np.bool_)):
        return int(number)
    if isinstance(number, Fraction):
        return number
    if isinstance(number, (float, np.floating)):
        plain = float(number)
        if abs(plain) <= _LARGEST and (plain * _STEPS).is_integer():
            return int(plain) if plain.is_integer() else Fraction(plain)
    raise OutOfTier(f"{number} is not exact")


def scalar(number: Any) -> Any:
    """Return the element of an array without axes, anything else as it is."""
    return number.item() if isinstance(number, np.ndarray) and not number.ndim else number


def _refuse(number: Any, *others: Any) -> NoReturn:
    raise OutOfTier(type(number).__name__)


class Element:
    """The base of the kinds of numbers: refuses everything that a subclass does not define.

    A subclass has `of`, which makes an element of a plain number, and `plus`, `minus`, `times`, `over`
    and `power`, of two of its own. They return `UNDEFINED` where there is no value.
    """

    __slots__ = ()

    def of(self, number: Any) -> Any:
        """Return a plain number as an element of this kind; OutOfTier if that is not exact."""
        raise NotImplementedError

    plus: Any = _refuse
    minus: Any = _refuse
    times: Any = _refuse
    over: Any = _refuse
    power: Any = _refuse

    def __add__(self, other: Any) -> Any:
        if type(other) is not type(self):
            other = self._met(other)
        return UNDEFINED if other is UNDEFINED else self.plus(other)

    def __sub__(self, other: Any) -> Any:
        other = self._met(other)
        return UNDEFINED if other is UNDEFINED else self.minus(other)

    def __mul__(self, other: Any) -> Any:
        if type(other) is not type(self):
            other = self._met(other)
        return UNDEFINED if other is UNDEFINED else self.times(other)

    def __truediv__(self, other: Any) -> Any:
        other = self._met(other)
        return UNDEFINED if other is UNDEFINED else self.over(other)

    def __pow__(self, other: Any) -> Any:
        other = self._met(other)
        return UNDEFINED if other is UNDEFINED else self.power(other)

    def __radd__(self, other: Any) -> Any:
        return self._met(other) + self

    def __rsub__(self, other: Any) -> Any:
        return self._met(other) - self

    def __rmul__(self, other: Any) -> Any:
        return self._met(other) * self

    def __rtruediv__(self, other: Any) -> Any:
        return self._met(other) / self

    def __rpow__(self, other: Any) -> Any:
        return self._met(other) ** self

    def _met(self, other: Any) -> Any:
        """Return another number as one of this kind, or what has no value."""
        other = scalar(other)
        return other if type(other) is type(self) or other is UNDEFINED else self.of(other)

    __lt__: Any = _refuse
    __le__: Any = _refuse
    __gt__: Any = _refuse
    __ge__: Any = _refuse
    __eq__: Any = _refuse
    __ne__: Any = _refuse
    __neg__: Any = _refuse
    __abs__: Any = _refuse
    __floor__: Any = _refuse
    __ceil__: Any = _refuse
    __bool__: Any = _refuse
    __int__: Any = _refuse
    __float__: Any = _refuse
    __index__: Any = _refuse
    __hash__: Any = None  # no number is ever a key
    # NumPy calls these by name on the elements of object arrays.
    exp: Any = _refuse
    expm1: Any = _refuse
    log: Any = _refuse
    sqrt: Any = _refuse
    tanh: Any = _refuse
    sin: Any = _refuse
    cos: Any = _refuse
    erf: Any = _refuse


def _itself(number: Any, *others: Any) -> Any:
    return number


def _undecided(number: Any, *others: Any) -> NoReturn:
    raise Undecided("what has no value cannot be compared")


class Undefined(Element):
    """What has no value, such as 1 / 0: whatever is computed from it has none either."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "undefined"

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _itself
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _itself
    __neg__ = __abs__ = __floor__ = __ceil__ = _itself
    exp = expm1 = log = sqrt = tanh = sin = cos = erf = _itself
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = __int__ = _undecided


UNDEFINED = Undefined()
