"""Derived shapes and places of arrangements: movements, their algebra, operands and rows of reductions."""

from __future__ import annotations

import math

import numpy as np

from tensaur.ir.operator import Operator, evaluate
from tensaur.ir.term import derived
from tensaur.ir.types import KNOWN_LIMIT, Array, Fact, Known
from tensaur.proving.axioms.arrange import (
    ZERO,
    Ints,
    flat,
    numbered,
    picked_from,
    size_of,
    unless_same,
)
from tensaur.rules.axes import normal_axes
from tensaur.rules.conditions import static

# Movements.


@derived
def sizes(fact: Fact) -> Ints:
    """The shape of a tensor of known sizes."""
    return static(fact)


@derived
def moved(op: Operator, *facts: Fact) -> Ints:
    """The places of a movement of the first input, steered by the known others."""
    (source,) = numbered(facts[:1])
    return flat(op.evaluate(source, *map(_known, facts[1:])))


@derived
def joined(op: Operator, facts: tuple[Fact, ...]) -> Ints:
    """The places of a concatenation."""
    return flat(op.evaluate(*numbered(facts)))


@derived
def part(axis: int, parts: Ints, index: int, fact: Fact) -> Ints:
    """The places of one output of a Split."""
    (source,) = numbered([fact])
    return flat(np.split(source, np.cumsum(parts)[:-1], axis=axis)[index])


@derived
def padded(op: Operator, fact: Fact) -> Ints:
    """The places of a Pad with zeros, or with what is there."""
    (source,) = numbered([fact])
    return flat(op.evaluate(source, np.array(ZERO)))


@derived
def surrounded(op: Operator, fact: Fact) -> Ints:
    """The places of a Pad whose filling is one element after those of the first input."""
    (source,) = numbered([fact])
    return flat(op.evaluate(source, np.array(source.size)))


# The algebra of arrangements.


@derived
def composed(outer: Ints, inner: Ints) -> Ints:
    """The places of an arrangement of an arrangement."""
    return picked_from(inner, outer)


@derived
def inlined(outer: Ints, inner: Ints, facts: tuple[Fact, ...], *before: Fact) -> Ints:
    """The places when an arrangement among the inputs, after `before`, gives way to its own inputs."""
    start = sum(map(size_of, before))
    end, longer = start + len(inner), sum(map(size_of, facts)) - len(inner)

    def put(place: int) -> int:
        if place < start:
            return place
        if place >= end:
            return place + longer
        return start + inner[place - start] if inner[place - start] != ZERO else ZERO

    return tuple(map(put, outer))


@derived
def is_in_place(shape: Ints, places: Ints, fact: Fact) -> bool:
    """Whether an arrangement of one input leaves everything as it is."""
    return shape == static(fact) and places == tuple(range(len(places)))


@derived
def only_input(places: Ints, facts: tuple[Fact, ...]) -> int:
    """The number of the one input, of several, that an arrangement uses."""
    if not places or len(facts) < 2:
        raise ValueError("nothing to leave out")
    used = set(places) - {ZERO}
    start = 0
    for number, fact in enumerate(facts):
        end = start + size_of(fact)
        if all(start <= place < end for place in used):
            return number
        start = end
    raise ValueError("several inputs")


@derived
def in_input(places: Ints, facts: tuple[Fact, ...], number: int) -> Ints:
    """The places in one input alone."""
    start = sum(map(size_of, facts[:number]))
    return tuple(place - start if place != ZERO else ZERO for place in places)


@derived
def swapped(places: Ints, first: Fact, second: Fact) -> Ints:
    """The places when two inputs change places; none if the first is used first."""
    a, b = size_of(first), size_of(second)
    used = next((place for place in places if place != ZERO), 0)
    if used < a:
        raise ValueError("in order")
    return tuple(
        place if place == ZERO else place + b if place < a else place - a for place in places
    )


@derived
def is_open(fact: Fact) -> bool:
    """Whether the elements of a value are not known."""
    return fact.value is None


@derived
def without_zeros(places: Ints) -> bool:
    """Whether an arrangement puts in no zeros."""
    return ZERO not in places


@derived
def once(places: Ints, fact: Fact, *before: Fact) -> Ints:
    """The places when an input that stands twice, after `before`, stands once."""
    start, size = sum(map(size_of, before)), size_of(fact)
    return tuple(place if place < start + size else place - size for place in places)


@derived
def zeros_after(places: Ints, fact: Fact) -> Ints:
    """The places in one input of an arrangement of it and of something that is all zeros."""
    return tuple(place if place < size_of(fact) else ZERO for place in places)


@derived
def picked(places: Ints, shape: Ints, *facts: Fact) -> Known:
    """The known elements that an arrangement picks."""
    zero = np.zeros(1, dtype=facts[0].dtype.numpy)
    elements = np.concatenate([*(_known(fact).ravel() for fact in facts), zero])
    return Known.of(elements[list(places)].reshape(shape), facts[0].dtype)


@derived
def computed(op: Operator, *facts: Fact) -> Known:
    """The result of an operator on known elements, if they are not so few that it is known anyway."""
    if max(map(size_of, facts)) <= KNOWN_LIMIT:
        raise ValueError("few elements")
    return Known.of(evaluate(op, [_known(fact) for fact in facts]))


# Operands that are broadcast.


@derived
def is_spread(whole: Fact, *facts: Fact) -> bool:
    """Whether an operand is not as large as the result, so that it is broadcast."""
    return any(static(fact) != static(whole) for fact in facts)


@derived
def any_spread(whole: Fact, facts: tuple[Fact, ...]) -> bool:
    """Whether one of several operands is not as large as the result."""
    return any(static(fact) != static(whole) for fact in facts)


@derived
def nothing(fact: Fact) -> Known:
    """The tensor of a type without elements."""
    if size_of(fact):
        raise ValueError("there are elements")
    return Known.of(np.empty(static(fact), dtype=fact.dtype.numpy), fact.dtype)


@derived
def spread(fact: Fact, whole: Fact) -> Ints:
    """The places of an operand broadcast to the result."""
    (source,) = numbered([fact])
    return flat(np.broadcast_to(source, static(whole)))


@derived
def through(places: Ints, whole: Fact, fact: Fact) -> Ints:
    """The places in an operand of what an arrangement picks from an elementwise result."""
    (source,) = numbered([fact])
    return picked_from(flat(np.broadcast_to(source, static(whole))), places)


@derived
def same_sizes(first: Fact, second: Fact) -> bool:
    """Whether two tensors of known sizes have one shape."""
    return static(first) == static(second)


# Reductions of the last axis, to which all others are brought.


@derived
def is_not_of_rows(axes: Ints | None, keepdims: bool) -> bool:
    """Whether a reduction is not yet of the last axis alone, or keeps it."""
    return axes != (-1,) or keepdims


@derived
def rows(axes: Ints | None, fact: Fact) -> Ints:
    """The places with the reduced axes brought together at the end."""
    (source,) = numbered([fact])
    kept, gone = _kept_and_gone(axes, source.ndim)
    return flat(source.transpose((*kept, *gone)))


@derived
def rows_shape(axes: Ints | None, fact: Fact) -> Ints:
    """The shape with the reduced axes brought together at the end."""
    shape = static(fact)
    kept, gone = _kept_and_gone(axes, len(shape))
    return (*(shape[axis] for axis in kept), math.prod(shape[axis] for axis in gone))


@derived
def all_places(fact: Fact) -> Ints:
    """The places of all elements in order."""
    return flat(numbered([fact])[0])


@derived
def picked_rows(places: Ints, fact: Fact) -> Ints:
    """The places of the rows that are reduced to the elements picked."""
    (source,) = numbered([fact])
    if not source.shape[-1]:
        raise ValueError("empty rows")
    table = source.reshape(-1, source.shape[-1])
    zeros = np.full((1, source.shape[-1]), ZERO)
    return flat(np.concatenate([table, zeros])[list(places)])


@derived
def with_rows(shape: Ints, fact: Fact) -> Ints:
    """A shape with the last axis of a tensor after it."""
    return (*shape, static(fact)[-1])


@derived
def merged(fact: Fact) -> Ints:
    """The shape with the last two axes made one."""
    *outer, a, b = static(fact)
    return (*outer, a * b)


@derived
def sorted_rows(shape: Ints, places: Ints) -> Ints:
    """The places with each row in ascending order; none if they are."""
    return unless_same(places, flat(np.sort(_table(shape, places), axis=1)))


@derived
def distinct_rows(shape: Ints, places: Ints) -> Ints:
    """The places with each row in ascending order and repetitions at its end; none if they are."""
    return unless_same(
        places, _repeating([sorted(set(row)) for row in _rows(shape, places)], shape)
    )


@derived
def rows_without(shape: Ints, places: Ints, fact: Fact) -> Ints:
    """The places with the element after a tensor's replaced by another one of its row."""
    end = size_of(fact)
    left = [[place for place in row if place != end] for row in _rows(shape, places)]
    return unless_same(places, _repeating(left, shape))


@derived
def narrowed(shape: Ints, places: Ints) -> Ints:
    """A shape with rows as long as the longest has distinct places; none if that is no shorter."""
    longest = max((len(set(row)) for row in _rows(shape, places)), default=0)
    if not 0 < longest < shape[-1]:
        raise ValueError("no shorter")
    return (*shape[:-1], longest)


@derived
def cut_rows(shape: Ints, places: Ints, length: Ints) -> Ints:
    """The places with each row cut off at a length, the last of a shape."""
    return flat(_table(shape, places)[:, : length[-1]])


@derived
def is_in_rows(shape: Ints, places: Ints) -> bool:
    """Whether each row is in ascending order with repetitions at its end."""
    return all(_repeating([sorted(set(row))], shape) == tuple(row) for row in _rows(shape, places))


def _repeating(found: list[list[int]], shape: Ints) -> Ints:
    if not all(found):
        raise ValueError("an empty row")
    return tuple(place for row in found for place in (*row, *row[-1:] * (shape[-1] - len(row))))


def _rows(shape: Ints, places: Ints) -> list[list[int]]:
    result: list[list[int]] = _table(shape, places).tolist()
    return result


def _table(shape: Ints, places: Ints) -> Array:
    if not shape or not shape[-1]:
        raise ValueError("no rows")
    return np.array(places, dtype=np.int64).reshape(-1, shape[-1])


def _kept_and_gone(axes: Ints | None, rank: int) -> tuple[list[int], Ints]:
    gone = normal_axes(axes, rank)
    return [axis for axis in range(rank) if axis not in gone], gone


def _known(fact: Fact) -> Array:
    array = None if fact.value is None else fact.value.array
    if array is None:
        raise ValueError("elements unknown")
    return array
