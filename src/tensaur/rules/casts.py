"""Derived conditions on conversions of element types: which lose nothing."""

from __future__ import annotations

import numpy as np

from tensaur.ir.term import derived
from tensaur.ir.types import DType, Fact

_MANTISSA = {DType.BFLOAT16: 8, DType.FLOAT16: 11, DType.FLOAT32: 24, DType.FLOAT64: 53}
# Largest binary exponents, which a wider type must not fall below.
_EXPONENT = {DType.BFLOAT16: 127, DType.FLOAT16: 15, DType.FLOAT32: 127, DType.FLOAT64: 1023}


@derived
def to_own_type(fact: Fact, dtype: DType) -> bool:
    """Whether a conversion to `dtype` changes nothing."""
    return fact.dtype is dtype


@derived
def keeps_every_value(fact: Fact, middle: DType, last: DType) -> bool:
    """Whether a conversion through `middle` to `last` is the same as one straight to `last`."""
    source = fact.dtype
    if not _holds(middle, source):
        return False
    # What happens to a value outside the range differs between conversions to integers.
    through_float = source.is_integer and middle.is_float and last.is_integer
    return not through_float or _holds(last, source)


def _holds(wide: DType, narrow: DType) -> bool:
    """Tell whether `wide` has every value of `narrow`."""
    if wide is narrow:
        return True
    if narrow is DType.BOOL:
        return wide.is_integer or wide.is_float
    if narrow.is_float:
        return (
            wide.is_float
            and _MANTISSA[wide] >= _MANTISSA[narrow]
            and _EXPONENT[wide] >= _EXPONENT[narrow]
        )
    if not narrow.is_integer:
        return False
    limits = np.iinfo(narrow.numpy)
    if wide.is_float:
        return wide is not DType.FLOAT16 and max(limits.max, -limits.min) <= 2 ** _MANTISSA[wide]
    if not wide.is_integer:
        return False
    within = np.iinfo(wide.numpy)
    return bool(within.min <= limits.min and limits.max <= within.max)
