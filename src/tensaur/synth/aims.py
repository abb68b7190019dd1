"""What verification wants to have tried: every element type, every order of ranks, axes of size 0.

Random draws reach the common cases soon and some corners hardly ever. Each corner is an `Aim`: it tells
whether an instance lies there, and changes a draft that worked towards it. Draws nothing itself.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

import numpy as np

from tensaur.ir.operator import Operator
from tensaur.ir.types import DType, Fact, Known, TensorType, Type
from tensaur.synth.drafts import SIZES, Draft

_SCATTERED = 60
MOST_LEAVES = 6  # leaves whose ranks are compared; more are members of groups, which are alike


class Found(Protocol):
    """What an aim looks at in an instance."""

    @property
    def kinds(self) -> Mapping[str, TensorType]:
        """Return the types of the leaves."""

    @property
    def seen(self) -> Mapping[str, Fact]:
        """Return what the rule sees of the leaves."""

    @property
    def operators(self) -> Mapping[str, Operator]:
        """Return the operators that variables stand for."""

    @property
    def result(self) -> Type:
        """Return the type of the first term that is found."""


class Aim(Protocol):
    """A corner: `wanted` instances of it are enough, found with `attempts` changed drafts at most."""

    @property
    def wanted(self) -> int:
        """Return how many instances are enough."""

    @property
    def attempts(self) -> int:
        """Return how many drafts to change."""

    @property
    def repaired(self) -> bool:
        """Tell whether a changed draft may need other changes to fit."""

    @property
    def unranked(self) -> bool:
        """Tell whether the rule should not see the ranks of some leaves."""

    @property
    def anew(self) -> bool:
        """Tell whether instances do not count that lay there by chance."""

    def met(self, found: Found) -> bool:
        """Tell whether an instance lies in the corner."""

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Return a draft that is nearer to the corner."""


@dataclass(frozen=True, slots=True)
class OfType:
    """The first result has this element type."""

    dtype: DType
    wanted: int = 2
    attempts: int = 6
    repaired: bool = False
    unranked: bool = False
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether the first result has the type."""
        return isinstance(found.result, TensorType) and found.result.dtype is self.dtype

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Give the leaves of one element type this one."""
        types = _types(draft)
        if not types:
            return draft
        return of_type(draft, rng.choice(list(types.values())).dtype, self.dtype)


@dataclass(frozen=True, slots=True)
class OfOneType:
    """Two leaves, most often of different element types, have the same."""

    first: str
    second: str
    wanted: int = 16
    attempts: int = 32
    repaired: bool = False
    unranked: bool = False
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether the types are equal."""
        kinds = [
            found.kinds[name].dtype for name in (self.first, self.second) if name in found.kinds
        ]
        return len(kinds) == 2 and kinds[0] is kinds[1]

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Give the leaves like one of the two the type of the other."""
        types = _types(draft)
        names = [self.first, self.second]
        rng.shuffle(names)
        if not types.keys() >= set(names):
            return draft
        one, other = (types[name].dtype for name in names)
        return of_type(draft, one, other)


@dataclass(frozen=True, slots=True)
class OfRank:
    """One leaf has this rank."""

    name: str
    rank: int
    wanted: int = 1
    attempts: int = 3
    repaired: bool = True
    unranked: bool = False
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether the leaf has the rank."""
        return self.name in found.kinds and found.kinds[self.name].rank == self.rank

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Cut or extend the shape of the leaf."""
        return _of_rank(draft, self.name, self.rank, rng)


@dataclass(frozen=True, slots=True)
class Higher:
    """One leaf has a higher rank than another."""

    name: str
    other: str
    wanted: int = 2
    attempts: int = 10
    repaired: bool = True
    unranked: bool = False
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether the one rank is higher."""
        ranks = [
            _rank(found.kinds[name]) for name in (self.name, self.other) if name in found.kinds
        ]
        return len(ranks) == 2 and ranks[0] > ranks[1]

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Extend the one shape, or cut the other."""
        types = _types(draft)
        if not types.keys() >= {self.name, self.other}:
            return draft
        high, low = _rank(types[self.name]), _rank(types[self.other])
        if high and rng.random() < 0.3:
            return _of_rank(draft, self.other, min(low, high - 1), rng)
        return _of_rank(draft, self.name, max(high, low + 1), rng)


@dataclass(frozen=True, slots=True)
class OfSize:
    """Some leaf has an axis of this size, most often 0 or 1, as other leaves have where that was equal."""

    size: int
    wanted: int
    attempts: int
    repaired: bool = True
    unranked: bool = False
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether some leaf has such an axis."""
        return any(self.size in (kind.static_shape or ()) for kind in found.kinds.values())

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Replace another size everywhere; sizes that are data, as of a reshape, change too."""
        sizes = sorted({dim for kind in _types(draft).values() for dim in kind.static_shape or ()})
        if not sizes:
            return draft
        old = rng.choice(sizes)
        leaves = {n: _resized(kind, old, self.size) for n, kind in draft.leaves.items()}
        return replace(draft, leaves=leaves)


@dataclass(frozen=True, slots=True)
class Unstated:
    """Operators leave out an attribute whose meaning depends on the rank, which the rule does not see."""

    wanted: int = 12
    attempts: int = 80
    repaired: bool = True
    unranked: bool = True
    anew: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether the rule sees such an operator, and some leaf without its rank."""
        unranked = any(fact.rank is None for fact in found.seen.values())
        return unranked and any(map(_leaves_out, found.operators.values()))

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Leave out what may be left out; ranks may differ then."""
        changed = {name: _with_left_out(op) for name, op in draft.ops.items()}
        draft = replace(draft, ops=changed)
        names = list(_types(draft))
        return _of_rank(draft, rng.choice(names), rng.randrange(4), rng) if names else draft


@dataclass(frozen=True, slots=True)
class Scattered:
    """Lists of numbers that operators have, as windows do, are drawn without regard to what usually fits.

    A window that is stretched, beside an axis of size 1, may see nothing but padding.
    """

    wanted: int
    attempts: int
    repaired: bool = False
    unranked: bool = False
    anew: bool = True

    def met(self, found: Found) -> bool:
        """Tell whether there are such operators."""
        return any(map(_lists, found.operators.values()))

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Draw the lists anew, and perhaps make one size 1."""
        scattered = {name: _scattered(op, rng) for name, op in draft.ops.items()}
        draft = replace(draft, ops=scattered)
        return OfSize(1, 1, 1).change(draft, rng) if rng.random() < 0.5 else draft


def aims(drafts: Sequence[Draft], dtypes: Sequence[DType], empty: int) -> Iterator[Aim]:
    """Yield what is to be tried of a rule, of which `drafts` are some that worked.

    Results may have the element types `dtypes`; `empty` is how often to try axes of size 0.
    """
    yield from map(OfType, dtypes)
    types = _types(drafts[0])  # groups have members in some drafts only
    names = [name for name in types if all(name in draft.leaves for draft in drafts)][:MOST_LEAVES]
    for first, second in itertools.combinations(names, 2):
        if types[first].dtype is not types[second].dtype:
            yield OfOneType(first, second)
    for name in names:
        yield from (OfRank(name, rank) for rank in range(4))
    yield from itertools.starmap(Higher, itertools.permutations(names, 2))
    if any(_optional(op) for draft in drafts for op in draft.ops.values()):
        yield Unstated()
    if any(_lists(op) for draft in drafts for op in draft.ops.values()):
        yield Scattered(_SCATTERED, 2 * _SCATTERED)
    yield OfSize(0, empty, empty)
    yield OfSize(1, empty // 3, empty // 3)


def _optional(op: Operator) -> list[str]:
    """Return the attributes of an operator that may be left out."""
    return [field.name for field in dataclasses.fields(op) if field.default is None]


def _lists(op: Operator) -> list[str]:
    """Return the attributes of an operator that are lists of whole numbers."""
    values = {name: getattr(op, name) for name in type(op).field_names()}
    return [
        name
        for name, value in values.items()
        if isinstance(value, tuple) and value and all(type(item) is int for item in value)
    ]


def _scattered(op: Operator, rng: Random) -> Operator:
    changes = {}
    for name in _lists(op):
        value = getattr(op, name)
        numbers = (0, 1, 1) if 0 in value else (1, 2, 2, 3)
        if rng.random() < 0.6:
            changes[name] = tuple(rng.choice(numbers) for _ in value)
    return replace(op, **changes)


def _leaves_out(op: Operator) -> bool:
    return any(getattr(op, name) is None for name in _optional(op))


def _with_left_out(op: Operator) -> Operator:
    return replace(op, **dict.fromkeys(_optional(op)))


def _types(draft: Draft) -> dict[str, TensorType]:
    return {name: kind for name, kind in draft.leaves.items() if isinstance(kind, TensorType)}


def _rank(kind: TensorType) -> int:
    return kind.rank or 0


def of_type(draft: Draft, old: DType, new: DType) -> Draft:
    """Give the leaves of one element type another one."""
    changed = {
        name: TensorType(new, kind.shape)
        for name, kind in _types(draft).items()
        if kind.dtype is old
    }
    return replace(draft, leaves={**draft.leaves, **changed})


def _of_rank(draft: Draft, name: str, rank: int, rng: Random) -> Draft:
    kind = _types(draft).get(name)
    if kind is None or kind.static_shape is None:
        return draft
    shape = kind.static_shape
    more = max(0, rank - len(shape))
    sizes = (1,) if rng.random() < 0.5 else SIZES
    longer = (*(rng.choice(sizes) for _ in range(more)), *shape)
    changed = TensorType(kind.dtype, longer[len(longer) - rank :])
    return replace(draft, leaves={**draft.leaves, name: changed})


def _resized(proposal: TensorType | Known, old: int, new: int) -> TensorType | Known:
    """Return a leaf with another size; beside 0, what was inferred (-1) is any size."""
    if isinstance(proposal, TensorType):
        shape = proposal.static_shape or ()
        return TensorType(proposal.dtype, tuple(new if dim == old else dim for dim in shape))
    if proposal.array is None or proposal.dtype is not DType.INT64 or proposal.array.ndim != 1:
        return proposal
    items = [new if i == old else 2 if i == -1 and not new else i for i in proposal.array.tolist()]
    return Known.of(np.array(items, dtype=np.int64))
