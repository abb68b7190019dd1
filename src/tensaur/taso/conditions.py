"""Derived conditions and values of TASO's own type rules, for the rules that are imported from it.

TASO's convolutions have as many groups as the weight's channels go into the data's, and are padded to
keep the size or not at all; its products take matrices, or stacks of them that are equally large.
"""

from __future__ import annotations

from tensaur.ir.term import derived
from tensaur.ir.types import Fact
from tensaur.ops.window import same_pads
from tensaur.rules.conditions import same_shape, shape_of, static


@derived
def has_kernel(weight: Fact, height: int, width: int) -> bool:
    """Whether a weight has four axes, of which the last two have these sizes."""
    shape = shape_of(weight)
    return len(shape) == 4 and shape[2:] == (height, width)


@derived
def groups(data: Fact, weight: Fact) -> int:
    """How often a weight's input channels go into the channels of its data."""
    sizes = (shape_of(data)[1], *shape_of(weight)[:2])
    channels, filters, inner = (size if isinstance(size, int) else 0 for size in sizes)
    count = channels // inner if inner else 0
    if not count or channels % inner or filters % count:
        raise ValueError("the channels do not fit")
    return count


@derived
def same_padding(data: Fact, weight: Fact, strides: tuple[int, ...]) -> tuple[int, ...]:
    """The pads that make a convolution's result as large as its data, divided by the strides."""
    attributes = {"strides": strides, "dilations": (1,) * len(strides)}
    pads = same_pads("SAME_UPPER", static(data)[2:], static(weight)[2:], attributes)
    if pads is None:
        raise ValueError("sizes unknown")
    return pads


@derived
def stacked_alike(*facts: Fact) -> bool:
    """Whether values are matrices, or stacks of matrices of one rank with equal leading axes."""
    shapes = [shape_of(fact) for fact in facts]
    leading = shapes[0][:-2]
    return all(
        len(shape) == len(shapes[0]) >= 2 and same_shape(shape[:-2], leading) for shape in shapes
    )
