"""Slice arithmetic: one slice for two, and what a slice of a result needs of each operand.

A plan is a tuple of `Cut`s, one for each sliced axis, counted from the right. A cut of an axis of
symbolic size is carried over unchanged, which is right where the operand's axis is certainly as long as
the result's.
"""

from __future__ import annotations

from typing import NamedTuple

from tensaur.ir.dims import Dim
from tensaur.ir.operator import Operator
from tensaur.ir.term import Choose, Derived, Term, derived
from tensaur.ir.types import Fact
from tensaur.ops import slice_
from tensaur.rules.axes import normal
from tensaur.rules.conditions import shape_of

FAR = 2**31 - 1  # an end from here on means "to the end"


class Cut(NamedTuple):
    """The slice of one axis (negative: counted from the right)."""

    axis: int
    start: int
    end: int
    step: int


Plan = tuple[Cut, ...]


def sliced(term: Term, plan: Derived) -> Choose:
    """Return the term that slices `term` by a plan, or `term` itself if the plan is empty."""
    cut = slice_(term, starts=starts(plan), ends=ends(plan), axes=axes(plan), steps=steps(plan))
    return Choose(is_cut(plan), (term, cut))


@derived
def is_cut(plan: Plan) -> int:
    """1 if a plan slices anything, else 0."""
    return int(bool(plan))


@derived
def starts(plan: Plan) -> tuple[int, ...]:
    """Where each slice of a plan starts."""
    return tuple(cut.start for cut in plan)


@derived
def ends(plan: Plan) -> tuple[int, ...]:
    """Where each slice of a plan ends."""
    return tuple(cut.end for cut in plan)


@derived
def axes(plan: Plan) -> tuple[int, ...]:
    """Which axes a plan slices."""
    return tuple(cut.axis for cut in plan)


@derived
def steps(plan: Plan) -> tuple[int, ...]:
    """By which step each slice of a plan goes."""
    return tuple(cut.step for cut in plan)


def plan_of(op: Operator, rank: int) -> Plan:
    """Return what a Slice operator does to a tensor of this rank."""
    begin, end, along, step = (getattr(op, name) for name in ("starts", "ends", "axes", "steps"))
    along = along or tuple(range(len(begin)))
    step = step or (1,) * len(begin)
    places = [normal(axis, rank) - rank for axis in along]
    return tuple(sorted(map(Cut, places, begin, end, step)))


def positions(cut: Cut, size: int) -> range:
    """Return the positions on an axis of a known size that a cut keeps."""
    end = None if cut.step < 0 and cut.end < -size else cut.end
    return range(size)[slice(cut.start, end, cut.step)]


def cut_at(axis: int, kept: range) -> Cut:
    """Return the cut that keeps these positions."""
    if not kept:
        return Cut(axis, 0, 0, 1)
    end = -FAR - 1 if kept.stop < 0 else kept.stop
    return Cut(axis, kept.start, end, kept.step)


# Slices of slices, and of joined tensors.


@derived
def cuts_together(inner: Operator, outer: Operator, fact: Fact) -> Plan:
    """The one slice that two slices make together."""
    shape = shape_of(fact)
    plans = {cut.axis: cut for cut in plan_of(inner, len(shape))}
    for cut in plan_of(outer, len(shape)):
        first = plans.get(cut.axis)
        if first is not None:
            kept = positions(first, _known(shape[cut.axis]))
            cut = cut_at(cut.axis, _subrange(kept, cut))
        plans[cut.axis] = cut
    return tuple(sorted(plans.values()))


@derived
def takes_all(op: Operator, fact: Fact) -> bool:
    """Whether a slice keeps every element where it is."""
    shape = shape_of(fact)
    return all(_keeps(cut, shape[cut.axis]) for cut in plan_of(op, len(shape)))


@derived
def spares_last(op: Operator, fact: Fact) -> bool:
    """Whether a slice leaves the last axis of a tensor alone."""
    return all(cut.axis != -1 for cut in plan_of(op, len(shape_of(fact))))


@derived
def piece(op: Operator, axis: int, facts: tuple[Fact, ...]) -> int:
    """The input of a concatenation in which the whole slice of its axis lies."""
    return _located(op, axis, facts).number


@derived
def cuts_in_piece(op: Operator, axis: int, facts: tuple[Fact, ...]) -> Plan:
    """The slice of that input."""
    return _located(op, axis, facts).plan


@derived
def is_adjacent(
    axes: tuple[int, ...], steps: tuple[int, ...], joined: int, fact: Fact, *bounds: tuple[int, ...]
) -> bool:
    """Whether slices of one axis, each from one bound to the next, make one slice when joined.

    True for every size of the axis if the bounds are in order, or if all is taken.
    """
    rank = len(shape_of(fact))
    if len(axes) != 1 or steps not in ((), (1,)) or normal(axes[0], rank) != normal(joined, rank):
        return False
    places = [bound[0] for bound in bounds]
    if places[0] == 0 and places[-1] >= FAR and len(places) == 3:
        return True
    return places[0] >= 0 and places == sorted(places)


@derived
def cuts_of_share(axis: int, facts: tuple[Fact, ...], index: int, value: Fact) -> Plan:
    """The part of a value that meets one input of a concatenation, if it varies along its axis."""
    rank = len(shape_of(facts[0]))
    place = normal(axis, rank) - rank
    shape = shape_of(value)
    if -place > len(shape) or shape[place] == 1:
        return ()
    sizes = [_known(shape_of(fact)[place]) for fact in facts]
    start = sum(sizes[:index])
    return (Cut(place, start, start + sizes[index], 1),)


@derived
def cuts_of_output(index: int, axis: int, sizes: tuple[int, ...]) -> Plan:
    """The slice that is one output of a Split; its axis keeps the sign of the attribute."""
    start = sum(sizes[:index])
    return (Cut(axis, start, start + sizes[index], 1),)


@derived
def cut_at_index(index: Fact, axis: int) -> Plan:
    """The slice that holds the one position named by a known scalar; its axis is the attribute."""
    items = None if index.value is None else index.value.ints
    if items is None or len(items) != 1 or shape_of(index) != ():
        raise ValueError("not a known scalar")
    place = _known(items[0])
    return (Cut(axis, place, FAR if place == -1 else place + 1, 1),)


@derived
def output_piece(
    index: int, joined: int, axis: int, sizes: tuple[int, ...], facts: tuple[Fact, ...]
) -> int:
    """The input of a concatenation that one output of a Split of it is."""
    rank = len(shape_of(facts[0]))
    if normal(joined, rank) != normal(axis, rank):
        raise ValueError("another axis")
    start, offset = sum(sizes[:index]), 0
    for position, fact in enumerate(facts):
        size = _known(shape_of(fact)[axis])
        if offset == start and size == sizes[index]:
            return position
        offset += size
    raise ValueError("no input has these bounds")


class _Located(NamedTuple):
    number: int
    plan: Plan


def _located(op: Operator, axis: int, facts: tuple[Fact, ...]) -> _Located:
    rank = len(shape_of(facts[0]))
    place = normal(axis, rank) - rank
    plan = plan_of(op, rank)
    (cut,) = (item for item in plan if item.axis == place)
    sizes = [_known(shape_of(fact)[place]) for fact in facts]
    kept = positions(cut, sum(sizes))
    start = 0
    for index, size in enumerate(sizes):
        if kept and start <= min(kept[0], kept[-1]) and max(kept[0], kept[-1]) < start + size:
            moved = cut_at(place, range(kept.start - start, kept.stop - start, kept.step))
            return _Located(index, tuple(moved if c.axis == place else c for c in plan))
        start += size
    raise ValueError("the slice lies in several inputs")


def _keeps(cut: Cut, size: Dim) -> bool:
    if isinstance(size, int):
        return positions(cut, size) == range(size)
    return cut.start == 0 and cut.end >= FAR and cut.step == 1


def _subrange(kept: range, cut: Cut) -> range:
    end = None if cut.step < 0 and cut.end < -len(kept) else cut.end
    return kept[slice(cut.start, end, cut.step)]


def _known(size: Dim) -> int:
    if not isinstance(size, int):
        raise ValueError(f"{size} is not an integer")
    return size
