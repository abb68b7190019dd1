"""Rules of kernel gaps: the same function through an operator that a runtime computes faster.

No work is removed, so nothing but a measured price makes such a form win, and it loses on another
runtime or at other sizes.
"""

from __future__ import annotations

import numpy as np

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Const, Var, derived
from tensaur.ir.types import Fact, Known
from tensaur.ops import conv, matmul, reshape, transpose
from tensaur.rules.conditions import constant, is_float, rank_is, static, static_shape, varying

x, w = Var("x"), Var("w")


@derived
def is_one_row(fact: Fact) -> bool:
    """Whether a value is a matrix of one row."""
    shape = static(fact)
    return len(shape) == 2 and shape[0] == 1


@derived
def as_pixel(fact: Fact) -> Known:
    """The shape of the rows of a matrix as images of one pixel, their columns as channels."""
    rows, columns = static(fact)
    return Known.of(np.array([rows, columns, 1, 1], dtype=np.int64))


@derived
def as_kernel(fact: Fact) -> Known:
    """The shape of a transposed matrix as a kernel of one point."""
    inner, outer = static(fact)
    return Known.of(np.array([outer, inner, 1, 1], dtype=np.int64))


RULES = (
    # A product of one row reads each weight once; ONNX Runtime's convolution streams weights that are
    # not in the cache faster than its matrix product does.
    Rule(
        "row-product-as-convolution",
        matmul(x, w),
        reshape(
            conv(
                reshape(x, Const(as_pixel(x)), allowzero=False),
                reshape(transpose(w, perm=(1, 0)), Const(as_kernel(w)), allowzero=False),
                strides=(1, 1),
                pads=(0, 0, 0, 0),
                dilations=(1, 1),
                group=1,
            ),
            Const(static_shape(matmul(x, w))),
            allowzero=False,
        ),
        when=(constant(w), varying(x), is_float(x), rank_is(w, 2), is_one_row(x)),
        exactness=ROUNDING,
    ),
)
