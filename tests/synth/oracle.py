"""An oracle beside `verify`: do the two sides of a rule differ for some small sizes and values?

Leaf types come first, then attributes that fit them, which is the other way round from the sampler of
`verify`; the two share no code, and neither do the comparisons. Both sides are computed in double
precision: on whole numbers, where sums and products are exact, on numbers without any relation, and on
special ones for rules that claim the same bits.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

import numpy as np

from tensaur.errors import TensaurError
from tensaur.ir.operator import Absent, evaluate
from tensaur.ir.rule import EXACT, FAST, Rule
from tensaur.ir.term import Tree, Var, tree_fact
from tensaur.ir.types import Array, DType, Fact, TensorType, Type
from tests.proving.every import Domain, Every, Search, State, small

ENOUGH = 100  # different drawn instances on which both sides agreed
DRAWS = 600  # drawn places at which choices are followed, for one element type
FOLLOWED = 3_000  # choices of the full enumeration that are looked at
_STALE = 60  # starts without anything new, after which there is nothing
_BREADTH = 3  # choices followed at one place before the look starts anew
_FROM_ONE_START = 8  # instances that share their first choices
_FAULTS = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, TensaurError)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Look:
    """What the oracle saw: how many instances were compared, and one on which the sides differ.

    `complete` says that these were all the small ones.
    """

    compared: int
    difference: str | None
    complete: bool = False


def look(rule: Rule, seed: int = 0) -> Look:
    """Look for a small instance on which the two sides of a one-way rule differ."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        drawn = _drawn(rule, Random(f"{rule.name}:{seed}"))
        if drawn.difference is not None:
            return drawn
        return _enumerated(rule, drawn.compared)


def _drawn(rule: Rule, rng: Random) -> Look:
    """Compare instances drawn out of many shapes, for every element type."""
    seen: set[Any] = set()
    stale = 0
    searches = [_Drawing(rule, dtype, rng) for dtype in _MAIN_TYPES if dtype in rule.dtypes]
    for search in itertools.cycle(searches):
        before = len(seen)
        for item in itertools.islice(search.run(), _FROM_ONE_START):
            bindings = item.instance.bindings
            types = tuple((n, f.type, f.constant, f.value) for n, f in bindings.facts.items())
            form = (types, *bindings.attrs.items(), *bindings.ops.items())
            difference = None if form in seen else _compare(rule, item)
            if difference:
                return Look(len(seen), difference)
            if difference is not None:
                seen.add(form)
        stale = 0 if len(seen) > before else stale + 1
        spent = all(other.draws >= DRAWS for other in searches)
        if len(seen) >= ENOUGH or (seen and stale >= _STALE) or spent:
            break
    return Look(len(seen), None)


def _enumerated(rule: Rule, compared: int) -> Look:
    """Compare the smallest instances, all of them if there are not too many."""
    search = _Enumeration(rule)
    if search.domain.dtype not in rule.dtypes:
        return Look(compared, None)
    for item in search.run():
        difference = _compare(rule, item)
        if difference:
            return Look(compared, difference)
        compared += difference is not None
    return Look(compared, None, complete=search.left > 0)


class _Enumeration(Search):
    """Follows every choice, as long as there are not too many."""

    def __init__(self, rule: Rule) -> None:
        domain = small(rule)
        super().__init__(rule, Domain(domain.shapes, domain.lengths, domain.dtype, known=True))
        self.left = FOLLOWED

    def choices(self, items: Iterable[_T], fits: Callable[[_T], bool]) -> Iterator[_T]:
        """Return what fits until enough has been looked at."""
        for item in items:
            self.left -= 1
            if self.left <= 0:
                return
            if fits(item):
                yield item


class _Drawing(Search):
    """Follows few choices at each place, drawn at random; most leaves have a rank that was met before."""

    def __init__(self, rule: Rule, dtype: DType, rng: Random) -> None:
        super().__init__(rule, Domain(_SHAPES, (1, 2, 3), dtype, known=True))
        self.draws = 0
        self._rng = rng
        self._facts: dict[str, list[Fact]] = {}

    def leaf_facts(self, name: str, state: State) -> Iterable[Fact]:
        """Return all that a leaf may be, first those that are as likely to fit."""
        if name not in self._facts:
            self._facts[name] = list(super().leaf_facts(name, state))
        facts = self._facts[name]
        ranks = {fact.rank for fact in state.facts.values()}
        if self._rng.random() < 0.7:
            return [fact for fact in facts if fact.rank in ranks] or facts
        return facts

    def choices(self, items: Iterable[_T], fits: Callable[[_T], bool]) -> Iterator[_T]:
        """Return some choices that fit."""
        drawn = list(items)
        self._rng.shuffle(drawn)
        self.draws += 1
        return itertools.islice(filter(fits, drawn), _BREADTH)


_MAIN_TYPES = (DType.FLOAT64, DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL)
_SHAPES = (
    *(shape for rank in range(4) for shape in itertools.product((1, 2), repeat=rank)),
    (3,), (2, 3), (3, 2), (1, 4), (2, 2, 3), (1, 2, 3), (0,), (2, 0),
    (1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (2, 2, 1, 2), (1, 2, 3, 3), (1, 4, 2, 1), (2, 2, 2, 2),
)  # fmt: skip


# The comparison.


def _compare(rule: Rule, item: Every) -> str | None:
    """Return how the sides differ, "" if they do not, None if no data were admissible."""
    finds, makes, facts = item.instance.finds, item.makes, item.instance.bindings.facts
    kinds = [tree_fact(tree, facts).type for tree in finds]
    made_kinds = [tree_fact(tree, facts).type for tree in makes]
    compared = None
    for number in range(4 if rule.exactness is EXACT else 3):
        data = {name: _data(fact, number, i) for i, (name, fact) in enumerate(facts.items())}
        try:
            expected = [_value(tree, data) for tree in finds]
        except _FAULTS:
            continue
        compared = ""
        if not all(map(_may_agree, kinds, made_kinds)):
            return f"{_text(finds)} and {_text(makes)} have the types {kinds} and {made_kinds}"
        try:
            actual = [_value(tree, data) for tree in makes]
        except _FAULTS as error:
            return f"{_text(finds)} and {_text(makes)} for {facts}: {error}"
        if any(_differ(a, b, rule) for a, b in zip(expected, actual, strict=True)):
            return f"{_text(finds)} and {_text(makes)} for {data}"
    return compared


def _text(trees: Iterable[Tree | Var]) -> list[str]:
    return [str(tree) for tree in trees]


def _may_agree(first: Type, second: Type) -> bool:
    a, b = (kind.static_shape if isinstance(kind, TensorType) else None for kind in (first, second))
    return a is None or b is None or first == second


def _data(fact: Fact, number: int, salt: int) -> Array:
    if fact.value is not None:
        assert fact.value.array is not None
        return fact.value.array
    shape = fact.tensor.static_shape
    assert shape is not None
    size = math.prod(shape)
    places = np.arange(1, size + 1, dtype=np.float64) + 37 * salt
    dtype = fact.dtype.numpy
    if fact.dtype is DType.BOOL:
        return (places.astype(int) * (number + 3) % 7 < 4).reshape(shape)
    if fact.dtype.is_integer:
        limit = 2 if fact.dtype is DType.INT64 else 11  # indices are int64, and should be in range
        return (places.astype(int) * (2 * number + 3) % limit).reshape(shape).astype(dtype)
    if number == 0:  # no relation between any two, all positive
        drawn = np.sqrt(places + 0.37) % 1 + 0.4
    elif number == 1:  # both signs, larger
        drawn = 5 * np.sin(places * places + 1.7)
    elif number == 2:  # ties, zeros, the usual limits
        drawn = places * 5 % 13 - 6
    else:
        special = (np.nan, 1.0, np.inf, -0.0, -1.0, -np.inf, 0.0, 0.5)
        drawn = np.array([special[int(place * 3) % len(special)] for place in places])
    return drawn.reshape(shape).astype(dtype)


def _value(tree: Any, data: Mapping[str, Array]) -> Any:
    if isinstance(tree, Var):
        return data[tree.name]
    if isinstance(tree.op, Absent):
        return None
    value = evaluate(tree.op, [_value(item, data) for item in tree.inputs])
    return value if isinstance(value, tuple) else np.array(value)


def _differ(expected: Array, actual: Array, rule: Rule) -> bool:
    if (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
        return True
    if expected.dtype.kind in "iub":
        return not np.array_equal(expected, actual)
    a, b = expected.astype(np.float64), actual.astype(np.float64)
    if rule.exactness is EXACT:
        same = (a == b) & (np.signbit(a) == np.signbit(b))
        return not bool(np.all(same | (np.isnan(a) & np.isnan(b))))
    with np.errstate(all="ignore"):
        tolerance = 1e-4 if expected.dtype.itemsize < 8 else 1e-7
        near = np.abs(a - b) <= tolerance * (1 + np.abs(a))
    equal = near | (a == b) | ~np.isfinite(a)
    return not bool(np.all(equal if rule.exactness is FAST else equal | np.isnan(b)))
