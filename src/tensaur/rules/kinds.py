"""Groups of operator classes that one rule covers at once."""

from __future__ import annotations

from tensaur.ir.operator import Operator
from tensaur.ops import (
    BINARY_ELEMENTWISE,
    UNARY_ELEMENTWISE,
    Add,
    Cast,
    Max,
    Min,
    PRelu,
    Sub,
)

Kinds = tuple[type[Operator], ...]

# Operators that compute each element of the result from one element of their one input.
POINTWISE: Kinds = (*UNARY_ELEMENTWISE, Cast)
# The same from one element of each of two inputs, which broadcast.
PAIRWISE: Kinds = (*(op for op in BINARY_ELEMENTWISE if op is not PRelu), Min, Max)
LINEAR: Kinds = (Add, Sub)
