"""The tiers of testing: with which numbers two sides of a rule are compared, and on what data.

Three tiers are exact. Polynomials, and quotients of them, are compared over a large prime field: agreement
on random arguments is identity but for a stated error. What orders numbers or rounds them to integers is
compared over the rationals. The rest is compared in 50-digit reals, over ranges chosen so that a dropped
epsilon shows. The fourth tier is the arithmetic of the element type itself: to the bit for exact rules and
for integers, up to rounding for the others. An instance is decided by the first exact tier that has all of
its operations, and in the element type as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

from tensaur.errors import EmptySpace
from tensaur.ir.term import Tree, Var
from tensaur.ir.types import Array, Fact
from tensaur.synth.counterexample import Difference
from tensaur.synth.data import Kind, fill
from tensaur.synth.evaluation import ExactRun, objects
from tensaur.synth.exact.element import UNDEFINED, Element, OutOfTier
from tensaur.synth.exact.rational import rational
from tensaur.synth.exact.real import CONTEXT, Real, real
from tensaur.synth.exact.residue import PRIME, Residue, degree, residue
from tensaur.synth.settle import Leaf

_ADMISSIBLE = 6  # draws of data, of which one should lie where the found side is defined


class Tier(Enum):
    """What decided an instance; see the module."""

    PRIME = "prime field"
    RATIONAL = "exact rationals"
    REAL = "50 digits"
    OWN = "own arithmetic"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an exact tier found: the results on the last data, and how they differ if they do.

    `error` is a bound of the probability that two different functions agree like this; None where the
    tier has no such bound. `data` are the leaves. `telling` is false if no element had a value, so
    that agreement says nothing.
    """

    tier: Tier
    data: Mapping[str, Array]
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    difference: Difference | None
    error: float | None
    telling: bool = True


@dataclass(frozen=True, slots=True)
class _Numbers:
    """One exact kind of numbers: how plain ones become elements, random data, and equality."""

    tier: Tier
    number: Callable[[Any], Element]
    draw: Callable[[tuple[int, ...], np.random.Generator], Array]
    differ: Callable[[Any, Any], bool]
    draws: int


def decide(
    finds: Sequence[Tree],
    makes: Sequence[Tree | Var],
    leaves: Mapping[str, Leaf],
    rng: np.random.Generator,
) -> Outcome | None:
    """Compare two sides in the first exact tier that has their operations; None if none has.

    None also stands for a left side that is defined for no data that were drawn.
    """
    if not any(leaf.type.dtype.is_float for leaf in leaves.values()):
        return None
    for numbers in _EXACT:
        try:
            with localcontext(CONTEXT):
                return _Comparison(numbers, finds, makes, leaves, rng).run()
        except (OutOfTier, TypeError):
            continue  # TypeError: NumPy has no loop for the elements
    return None


class _Comparison:
    """Two sides compared in one exact tier."""

    def __init__(
        self,
        numbers: _Numbers,
        finds: Sequence[Tree],
        makes: Sequence[Tree | Var],
        leaves: Mapping[str, Leaf],
        rng: np.random.Generator,
    ) -> None:
        self._numbers = numbers
        self._finds = finds
        self._makes = makes
        self._leaves = leaves
        self._rng = rng
        self._degree = 0
        self._defined = False  # whether some element was compared on the last data

    def run(self) -> Outcome | None:
        """Compare on several data; None if the found side is defined for none."""
        outcome = None
        done = 0
        for _ in range(self._numbers.draws * _ADMISSIBLE):
            data = {name: self._fill(leaf) for name, leaf in self._leaves.items()}
            found = self._found(data)
            if found is None:
                continue
            self._defined = False
            compared = self._compare(data, found)
            if compared is None or not (self._defined or compared.difference):
                continue
            outcome = compared
            done += 1
            if outcome.difference is not None or done == self._numbers.draws:
                break
        return outcome

    def _fill(self, leaf: Leaf) -> Array:
        shape = leaf.type.static_shape
        assert shape is not None, "leaves are concrete"
        given = None if leaf.data is None else leaf.data.array
        if not leaf.type.dtype.is_float:
            return fill(Kind.INTEGERS, leaf.type, self._rng) if given is None else given
        if given is None:
            return self._numbers.draw(shape, self._rng)
        return objects(given.astype(np.float64), self._numbers.number)

    def _run(self, data: Mapping[str, Array]) -> ExactRun:
        facts = {
            name: Fact(leaf.type, leaf.data, leaf.fact.constant)
            for name, leaf in self._leaves.items()
        }
        return ExactRun(data, facts, self._numbers.number)

    def _found(self, data: Mapping[str, Array]) -> tuple[Array, ...] | None:
        run = self._run(data)
        try:
            return tuple(run.value(tree) for tree in self._finds)
        except (ArithmeticError, ValueError, IndexError, EmptySpace):
            return None  # not defined there

    def _compare(self, data: Mapping[str, Array], found: tuple[Array, ...]) -> Outcome | None:
        run = self._run(data)
        made: list[Array] = []
        difference = None
        for number, tree in enumerate(self._makes):
            try:
                made.append(run.value(tree))
            except (ArithmeticError, EmptySpace):
                return None  # no element has a value, or windows have no space
            except (ValueError, IndexError) as error:
                difference = Difference(number, f"the right side fails: {error}")
                break
            difference = self._difference(number, found[number], made[-1])
            if difference is not None:
                break
        return Outcome(self._numbers.tier, data, found, tuple(made), difference, self._error())

    def _difference(self, output: int, expected: Array, actual: Array) -> Difference | None:
        if expected.shape != actual.shape:
            return Difference(output, f"shapes {expected.shape} and {actual.shape} differ")
        if not expected.size:
            self._defined = True
        for index in np.ndindex(expected.shape):
            if self._differ(expected[index], actual[index]):
                reason = f"{expected[index]} is not {actual[index]} in {self._numbers.tier.value}"
                return Difference(output, reason, index)
        return None

    def _differ(self, first: Any, second: Any) -> bool:
        """Compare two elements; where the found side has no value the made one may have any."""
        if first is UNDEFINED:
            return False
        self._defined = True
        if second is UNDEFINED:
            return True
        if not (isinstance(first, Element) or isinstance(second, Element)) and first == second:
            return False
        a, b = self._numbers.number(first), self._numbers.number(second)
        if isinstance(a, Residue) and isinstance(b, Residue):
            self._degree = max(self._degree, degree(a, b))
        return self._numbers.differ(a, b)

    def _error(self) -> float | None:
        if self._numbers.tier is not Tier.PRIME:
            return None
        return (self._degree / PRIME) ** self._numbers.draws


def _residues(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    result = np.empty(shape, dtype=object)
    flat = result.reshape(-1)
    for i, item in enumerate(rng.integers(0, PRIME, size=flat.size).tolist()):
        flat[i] = Residue(item, 1)
    return result


def _rationals(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw quarters: near 0, so that ties and the usual limits are met, or anywhere."""
    steps = int(rng.choice([8, 40, 40, 4000]))
    low = 0 if rng.random() < 0.2 else -steps
    drawn = rng.integers(low, steps + 1, size=shape)
    whole = 4 if rng.random() < 0.3 else 1
    return objects(drawn, lambda item: rational(Fraction(int(item) * whole, 4)))


# Powers of ten. The small ones are below the epsilons of normalisations, squared as they are there.
_SCALES = (-12, -9, -7, -5, -3, -1, 0, 0, 0, 1, 1, 2, 4)


def _reals(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw numbers of one magnitude, of all, or so near to each other that their variance vanishes."""
    size = int(np.prod(shape))
    form = rng.random()
    scale = rng.choice(_SCALES)
    scales = rng.choice(_SCALES, size=size) if form < 0.2 else np.full(size, scale)
    positive = rng.random() < 0.5
    base = float(rng.normal()) if form > 0.8 else 0.0
    result = np.empty(size, dtype=object)
    for i, item in enumerate(rng.normal(size=size).tolist()):
        value = Decimal(base) + Decimal(item).scaleb(int(scales[i]))
        result[i] = Real(abs(value) if positive else value)
    return result.reshape(shape)


def _reals_differ(first: Real, second: Real) -> bool:
    if first.value.is_infinite() or second.value.is_infinite():
        return first.value != second.value
    return abs(first.value - second.value) > 2 * (first.error + second.error)


_EXACT = (
    _Numbers(Tier.PRIME, residue, _residues, lambda a, b: a.number != b.number, 1),
    _Numbers(Tier.RATIONAL, rational, _rationals, lambda a, b: a.value != b.value, 3),
    _Numbers(Tier.REAL, real, _reals, _reals_differ, 3),
)
