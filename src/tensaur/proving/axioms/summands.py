"""Derived places of sums of products: bilinear operators element by element, and orders of summands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tensaur.ir.operator import Operator
from tensaur.ir.term import derived
from tensaur.ir.types import Array, Fact, Known
from tensaur.proving.axioms.arrange import LIMIT, ZERO, Ints, flat, numbered, size_of, unless_same
from tensaur.rules.conditions import static


class Terms:
    """A sum of products of one element of each of two tensors: the places of each product.

    Bilinear operators are evaluated on arrays of these, so that they say themselves what they add up.
    A place of None is not filled yet.
    """

    def __init__(self, pairs: Iterable[tuple[int | None, int | None]]) -> None:
        self.pairs = tuple(pairs)

    def __add__(self, other: Any) -> Terms:
        return Terms((*self.pairs, *other.pairs)) if isinstance(other, Terms) else self

    __radd__ = __add__

    def __mul__(self, other: Any) -> Terms:
        if not isinstance(other, Terms):  # the zero of a padding
            return Terms(())
        ((a, b),), ((c, d),) = self.pairs, other.pairs
        return Terms([(c if a is None else a, d if b is None else b)])

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Products:
    """Places of the factors in both tensors, zeros where there are fewer products than elsewhere."""

    shape: Ints
    first: Ints
    second: Ints


@derived
def product_shape(op: Operator, first: Fact, second: Fact) -> Ints:
    """The shape of a bilinear result with the summands of each element along one more axis."""
    return _products(op, static(first), static(second)).shape


@derived
def left_factors(op: Operator, first: Fact, second: Fact) -> Ints:
    """The places of the first factors."""
    return _products(op, static(first), static(second)).first


@derived
def right_factors(op: Operator, first: Fact, second: Fact) -> Ints:
    """The places of the second factors."""
    return _products(op, static(first), static(second)).second


@lru_cache(maxsize=4096)
def _products(op: Operator, first: Ints, second: Ints) -> Products:
    a, b = _terms(first, 0), _terms(second, 1)
    result = np.asarray(op.evaluate(a, b))
    sums = [item.pairs if isinstance(item, Terms) else () for item in result.ravel()]
    return _filled(sums, result.shape)


def _filled(sums: Sequence[Sequence[tuple[Any, Any]]], shape: Ints) -> Products:
    """Make all sums one length with products of zeros."""
    length = max(1, *(len(item) for item in sums)) if sums else 0
    if not sums or length * len(sums) > LIMIT:
        raise ValueError("no elements, or too many")
    filled = [pair for item in sums for pair in (*item, *[(ZERO, ZERO)] * (length - len(item)))]
    first, second = zip(*filled, strict=True)
    return Products((*shape, length), first, second)


def _terms(shape: Ints, side: int) -> Array:
    result = np.empty(shape, dtype=object)
    for place, index in enumerate(np.ndindex(*shape)):
        result[index] = Terms([(None, place) if side else (place, None)])
    return result


# Orders of summands.


@derived
def order_of_products(shape: Ints, *places: Ints) -> Ints:
    """The order that sorts the summands of each row by the places of all factors; none if it is so."""
    length = shape[-1]
    order: list[int] = []
    for start in range(0, len(places[0]), length):
        row = range(start, start + length)
        order += sorted(row, key=lambda i: tuple(item[i] for item in places))
    return unless_same(tuple(range(len(order))), tuple(order))


@derived
def ordered(places: Ints, order: Ints) -> Ints:
    """The places in another order."""
    return tuple(places[i] for i in order)


@derived
def along_rows(fact: Fact, rows: Fact) -> Ints:
    """The places of a tensor of one element for each row, repeated along the row."""
    (source,) = numbered([fact])
    return flat(np.repeat(source.ravel(), static(rows)[-1]))


# Products with a zero, and products of several sources. The second factor is any tensor.


@derived
def nonzero_shape(shape: Ints, places: Ints) -> Ints:
    """The shape without products whose first factor is a zero."""
    return _nonzero(shape, places).shape


@derived
def nonzero_first(shape: Ints, places: Ints) -> Ints:
    """The places of the first factors without those products."""
    return _nonzero(shape, places).first


@derived
def nonzero_second(shape: Ints, places: Ints) -> Ints:
    """The places of the second factors without those products."""
    return _nonzero(shape, places).second


def _nonzero(shape: Ints, places: Ints) -> Products:
    if ZERO not in places:
        raise ValueError("no zero")
    return _filled(_wanted_rows(shape, places, lambda place: place != ZERO), shape[:-1])


@derived
def source_shape(shape: Ints, places: Ints, *sources: Fact) -> Ints:
    """The shape of the products whose first factor is of the last of some sources."""
    return _of_source(shape, places, sources).shape


@derived
def source_first(shape: Ints, places: Ints, *sources: Fact) -> Ints:
    """The places of their first factors in that source."""
    return _of_source(shape, places, sources).first


@derived
def source_second(shape: Ints, places: Ints, *sources: Fact) -> Ints:
    """The places of their second factors."""
    return _of_source(shape, places, sources).second


def _of_source(shape: Ints, places: Ints, sources: Sequence[Fact]) -> Products:
    *before, source = map(size_of, sources)
    start = sum(before)
    rows = _wanted_rows(shape, places, lambda place: start <= place < start + source)
    moved = [[(place - start, other) for place, other in row] for row in rows]
    return _filled(moved, shape[:-1])


def _wanted_rows(
    shape: Ints, places: Ints, wanted: Callable[[int], bool]
) -> list[list[tuple[int, int]]]:
    length = shape[-1]
    pairs = [(place, position) for position, place in enumerate(places)]
    return [
        [pair for pair in pairs[start : start + length] if wanted(pair[0])]
        for start in range(0, len(pairs), length)
    ]


@derived
def zeros(whole: Fact, fact: Fact) -> Ints:
    """Zeros for the sums of rows without elements."""
    if static(fact)[-1]:
        raise ValueError("there are elements")
    return (ZERO,) * size_of(whole)


# Rows of one element, again and again.


@derived
def outer(shape: Ints) -> Ints:
    """The shape without rows."""
    return shape[:-1]


@derived
def one_of_rows(shape: Ints, places: Ints) -> Ints:
    """The one place that each row holds, beside zeros."""
    found = [set(row) - {ZERO} for row in _places_of_rows(shape, places)]
    if any(len(item) > 1 for item in found):
        raise ValueError("several places in a row")
    return tuple(item.pop() if item else ZERO for item in found)


@derived
def times_in_rows(shape: Ints, places: Ints, fact: Fact) -> Known:
    """How many times each row holds its place."""
    counts = [sum(place != ZERO for place in row) for row in _places_of_rows(shape, places)]
    return Known.of(np.array(counts).reshape(shape[:-1]), fact.dtype)


def _places_of_rows(shape: Ints, places: Ints) -> list[Ints]:
    if not shape[-1]:
        raise ValueError("no rows")
    return [places[i : i + shape[-1]] for i in range(0, len(places), shape[-1])]


# Known factors.


@derived
def factor_of_rows(fact: Fact) -> Known:
    """The one factor of each row of known factors."""
    table = _known_rows(fact)
    if not (table == table[:, :1]).all():
        raise ValueError("several factors in a row")
    return Known.of(table[:, 0].reshape(static(fact)[:-1]), fact.dtype)


@derived
def shape_of_factors(fact: Fact) -> Ints:
    """The shape without products whose known factor is zero."""
    return _with_factors(fact).shape


@derived
def places_of_factors(fact: Fact) -> Ints:
    """The places of the other factors of the products left."""
    return _with_factors(fact).first


@derived
def nonzero_factors(fact: Fact) -> Known:
    """The known factors of the products left; where there is none, any will do."""
    kept = _with_factors(fact)
    table = _known_rows(fact)
    rows = [row[row != 0] for row in table]
    filled = [
        np.resize(row, kept.shape[-1]) if len(row) else np.ones(kept.shape[-1]) for row in rows
    ]
    return Known.of(np.array(filled).reshape(kept.shape), fact.dtype)


def _with_factors(fact: Fact) -> Products:
    table = _known_rows(fact)
    if table.all():
        raise ValueError("no zero")
    length = table.shape[1]
    rows = [
        [(number * length + place, 0) for place in np.flatnonzero(row).tolist()]
        for number, row in enumerate(table)
    ]
    return _filled(rows, static(fact)[:-1])


def _known_rows(fact: Fact) -> Array:
    array = None if fact.value is None else fact.value.array
    if array is None or not array.ndim or not array.size:
        raise ValueError("no known factors")
    return array.reshape(-1, array.shape[-1])


# Linear operators with one weight for each row.


@derived
def mean_shape(op: Operator, fact: Fact) -> Ints:
    """The shape of a mean over windows with the elements of each window along one more axis."""
    return _windows(op, static(fact)).shape


@derived
def mean_places(op: Operator, fact: Fact) -> Ints:
    """The places of the elements of each window, zeros where there are fewer."""
    return _windows(op, static(fact)).first


@derived
def mean_weights(op: Operator, fact: Fact) -> Known:
    """One divided by what each window is divided by."""
    ones = np.ones(static(fact))
    shares = np.asarray(op.evaluate(ones))
    counts = [len(set(row)) for row in _members(op, static(fact))]
    full = np.array(counts).reshape(shares.shape)
    return Known.of(shares / full, fact.dtype)


@lru_cache(maxsize=1024)
def _windows(op: Operator, shape: Ints) -> Products:
    members = _members(op, shape)
    result = np.asarray(op.evaluate(np.ones(shape))).shape
    return _filled([[(place, 0) for place in row] for row in members], result)


@lru_cache(maxsize=1024)
def _members(op: Operator, shape: Ints) -> tuple[Ints, ...]:
    """Tell for each window which elements are in it, by giving one after the other a weight."""
    size = int(np.prod(shape))
    seen = [np.asarray(op.evaluate(row.reshape(shape))).ravel() for row in np.eye(size)]
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in np.array(seen).T)


@derived
def greatest_shape(op: Operator, fact: Fact) -> Ints:
    """The shape of a maximum over windows with the elements of each along one more axis."""
    return _greatest(op, static(fact)).shape


@derived
def greatest_places(op: Operator, fact: Fact) -> Ints:
    """The places of the elements of each window, the last one repeated."""
    return _greatest(op, static(fact)).first


@lru_cache(maxsize=1024)
def _greatest(op: Operator, shape: Ints) -> Products:
    size = int(np.prod(shape))
    seen = [np.asarray(op.evaluate(row.reshape(shape))) for row in np.eye(size)]
    # A window that sees nothing of the input has minus infinity.
    table = np.array([item.ravel() for item in seen]).T == 1
    rows = [np.flatnonzero(column).tolist() for column in table]
    length = max(map(len, rows), default=0)
    if not all(rows) or length * len(rows) > LIMIT:
        raise ValueError("an empty window, or too many elements")
    places = tuple(place for row in rows for place in (*row, *row[-1:] * (length - len(row))))
    return Products((*seen[0].shape, length), places, ())


@derived
def neighbours_shape(fact: Fact, size: int) -> Ints:
    """The shape of a tensor with so many neighbouring channels of each element along one more axis."""
    return (*static(fact), size)


@derived
def neighbours(fact: Fact, size: int) -> Ints:
    """The places of so many neighbouring channels of each element, zeros beyond the first and last."""
    (source,) = numbered([fact])
    before = (size - 1) // 2
    widths = [(0, 0)] * source.ndim
    widths[1] = (before, size - 1 - before)
    wide = np.pad(source, widths, constant_values=ZERO)
    channels = source.shape[1]
    return flat(np.stack([wide[:, i : i + channels] for i in range(size)], axis=-1))
