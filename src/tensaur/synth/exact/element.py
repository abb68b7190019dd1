"""What the exact kinds of numbers share: the refusals, and which plain numbers count as exact.

Holds no arithmetic.
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


class Undefined(ArithmeticError):
    """The operation has no value here, such as a division by zero."""


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
    """The base of the kinds of numbers: refuses everything that a subclass does not define."""

    __slots__ = ()

    __lt__: Any = _refuse
    __le__: Any = _refuse
    __gt__: Any = _refuse
    __ge__: Any = _refuse
    __eq__: Any = _refuse
    __ne__: Any = _refuse
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
