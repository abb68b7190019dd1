"""What a slice of an operator's result needs of each operand: derived plans for the slicing rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tensaur.ir.dims import Dim
from tensaur.ir.operator import Operator
from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Shape
from tensaur.rules.axes import normal, normal_axes
from tensaur.rules.conditions import same_dim, shape_of
from tensaur.rules.ranges import Cut, Plan, plan_of, positions


@derived
def cuts_of_operand(op: Operator, out: Fact, operand: Fact) -> Plan:
    """The slice of one operand of an elementwise operator, as far as it is not broadcast."""
    return tuple(_broadcast_cuts(op, shape_of(out), shape_of(operand)))


@derived
def cuts_of_left(op: Operator, out: Fact, operand: Fact) -> Plan:
    """The slice of the first operand of a matrix product."""
    return _matrix_cuts(op, shape_of(out), shape_of(operand), own=-2)


@derived
def cuts_of_right(op: Operator, out: Fact, operand: Fact) -> Plan:
    """The slice of the second operand of a matrix product."""
    return _matrix_cuts(op, shape_of(out), shape_of(operand), own=-1)


@derived
def cuts_of_transposed(op: Operator, perm: tuple[int, ...]) -> Plan:
    """The slice of the input of a transpose."""
    rank = len(perm)
    return tuple(sorted(cut._replace(axis=perm[cut.axis] - rank) for cut in plan_of(op, rank)))


@derived
def cuts_before(op: Operator, axis: int, fact: Fact) -> Plan:
    """The slice itself, if it leaves alone every axis from `axis` on."""
    rank = len(shape_of(fact))
    plan = plan_of(op, rank)
    return _if(all(cut.axis < normal(axis, rank) - rank for cut in plan), plan)


@derived
def cuts_beside(op: Operator, axis: int, fact: Fact) -> Plan:
    """The slice itself, if it leaves alone the axis `axis` of a tensor."""
    rank = len(shape_of(fact))
    plan = plan_of(op, rank)
    return _if(all(cut.axis != normal(axis, rank) - rank for cut in plan), plan)


@derived
def cuts_of_reduced(
    op: Operator, reduced: tuple[int, ...] | None, keepdims: bool, fact: Fact
) -> Plan:
    """The slice of the input of a reduction, if it leaves alone the reduced axes."""
    rank = len(shape_of(fact))
    gone = normal_axes(reduced, rank)
    left = [axis for axis in range(rank) if keepdims or axis not in gone]
    moved = [cut._replace(axis=left[cut.axis] - rank) for cut in plan_of(op, len(left))]
    return _if(all(cut.axis % rank not in gone for cut in moved), tuple(moved))


@derived
def cuts_of_reshaped(op: Operator, source: Fact, target: Fact) -> Plan:
    """The slice of the input of a reshape that leaves the sliced axes, and all before them, alone."""
    before, after = shape_of(source), shape_of(target)
    rank = len(after)
    plan = plan_of(op, rank)
    last = max((cut.axis % rank for cut in plan), default=-1)
    same = last < len(before) and all(map(same_dim, before[: last + 1], after[: last + 1]))
    moved = tuple(cut._replace(axis=cut.axis + rank - len(before)) for cut in plan)
    return _if(same, moved)


@derived
def cuts_of_gathered(op: Operator, axis: int, data: Fact, indices: Fact) -> Plan:
    """The slice of the data of a Gather, if it leaves alone the axes that the indices make."""
    return _gather_cuts(op, axis, data, indices).data


@derived
def cuts_of_indices(op: Operator, axis: int, data: Fact, indices: Fact) -> Plan:
    """The slice of the indices of a Gather."""
    return _gather_cuts(op, axis, data, indices).indices


@derived
def cuts_of_batch(op: Operator, conv: Operator, weight: Fact, out: Fact) -> Plan:
    """The slice of the input of a convolution: the batch, and space if the kernel is one point."""
    shape = shape_of(out)
    rank = len(shape)
    plan = plan_of(op, rank)
    spatial = [cut for cut in plan if cut.axis % rank > 1]
    # No window fits into nothing.
    return _if(
        not spatial
        or (_is_point(conv, shape_of(weight)) and all(_leaves(c, shape[c.axis]) for c in spatial)),
        tuple(cut for cut in plan if cut.axis % rank != 1),
    )


@derived
def cuts_of_filters(op: Operator, conv: Operator, out: Fact, weight_rank: int) -> Plan:
    """The slice of the weight (or bias) of a convolution, by output channels."""
    shape = shape_of(out)
    rank = len(shape)
    plan = tuple(cut for cut in plan_of(op, rank) if cut.axis % rank == 1)
    moved = tuple(cut._replace(axis=-weight_rank) for cut in plan)
    some = all(_leaves(cut, shape[1]) for cut in plan)
    return _if(some and (not plan or getattr(conv, "group", 1) == 1), moved)


@derived
def rank(fact: Fact) -> int:
    """The number of axes of a tensor."""
    return len(shape_of(fact))


class _GatherCuts(NamedTuple):
    data: Plan
    indices: Plan


def _gather_cuts(op: Operator, axis: int, data: Fact, indices: Fact) -> _GatherCuts:
    rank, inner = len(shape_of(data)), len(shape_of(indices))
    first = normal(axis, rank)
    outer = rank - 1 + inner
    on_data, on_indices = [], []
    for cut in plan_of(op, outer):
        place = cut.axis % outer
        if first <= place < first + inner:
            on_indices.append(cut._replace(axis=place - first - inner))
        elif place < first:
            on_data.append(cut._replace(axis=place - rank))
        else:
            on_data.append(cut)
    return _GatherCuts(tuple(on_data), tuple(on_indices))


def _broadcast_cuts(op: Operator, out: Shape, operand: Shape, upto: int = 0) -> Iterable[Cut]:
    for cut in plan_of(op, len(out)):
        if cut.axis >= upto:
            continue
        full = out[cut.axis]
        if full == 1:
            if len(positions(cut, 1)) != 1:
                raise ValueError("nothing is left")
        elif -cut.axis <= len(operand) and operand[cut.axis] != 1:
            if not same_dim(operand[cut.axis], full):
                raise ValueError("perhaps broadcast")
            yield cut


def _matrix_cuts(op: Operator, out: Shape, operand: Shape, own: int) -> Plan:
    mine = [cut for cut in plan_of(op, len(out)) if cut.axis == own]
    return (*_broadcast_cuts(op, out, operand, upto=-2), *mine)


def _leaves(cut: Cut, size: Dim) -> bool:
    """Tell whether a cut certainly leaves something of an axis."""
    return isinstance(size, int) and len(positions(cut, size)) > 0


def _is_point(conv: Operator, weight: Shape) -> bool:
    strides, pads = getattr(conv, "strides", ()), getattr(conv, "pads", ())
    return (
        all(dim == 1 for dim in weight[2:]) and all(item == 1 for item in strides) and not any(pads)
    )


def _if(condition: bool, plan: Plan) -> Plan:
    if not condition:
        raise ValueError("the slice cannot pass")
    return plan
