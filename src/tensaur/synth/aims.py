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

    def met(self, found: Found) -> bool:
        """Tell whether the first result has the type."""
        return isinstance(found.result, TensorType) and found.result.dtype is self.dtype

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Give the leaves of one element type this one."""
        types = _types(draft)
        if not types:
            return draft
        return _of_type(draft, rng.choice(list(types.values())).dtype, self.dtype)


@dataclass(frozen=True, slots=True)
class OfOneType:
    """Two leaves, most often of different element types, have the same."""

    first: str
    second: str
    wanted: int = 16
    attempts: int = 32
    repaired: bool = False
    unranked: bool = False

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
        return _of_type(draft, one, other)


@dataclass(frozen=True, slots=True)
class OfRank:
    """One leaf has this rank."""

    name: str
    rank: int
    wanted: int = 1
    attempts: int = 6
    repaired: bool = True
    unranked: bool = False

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
    attempts: int = 8
    repaired: bool = True
    unranked: bool = False

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
class Empty:
    """Some leaf has no elements."""

    wanted: int
    attempts: int
    repaired: bool = True
    unranked: bool = False

    def met(self, found: Found) -> bool:
        """Tell whether some leaf is empty."""
        return any(0 in (kind.static_shape or ()) for kind in found.kinds.values())

    def change(self, draft: Draft, rng: Random) -> Draft:
        """Replace one size by 0 everywhere; sizes that are data, as of a reshape, change too."""
        sizes = sorted({dim for kind in _types(draft).values() for dim in kind.static_shape or ()})
        if not sizes:
            return draft
        size = rng.choice(sizes)
        leaves = {name: _without(kind, size) for name, kind in draft.leaves.items()}
        return replace(draft, leaves=leaves)


@dataclass(frozen=True, slots=True)
class Unstated:
    """Operators leave out an attribute whose meaning depends on the rank, which the rule does not see."""

    wanted: int = 8
    attempts: int = 32
    repaired: bool = True
    unranked: bool = True

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
    yield Empty(empty, empty)


def _optional(op: Operator) -> list[str]:
    """Return the attributes of an operator that may be left out."""
    return [field.name for field in dataclasses.fields(op) if field.default is None]


def _leaves_out(op: Operator) -> bool:
    return any(getattr(op, name) is None for name in _optional(op))


def _with_left_out(op: Operator) -> Operator:
    return replace(op, **dict.fromkeys(_optional(op)))


def _types(draft: Draft) -> dict[str, TensorType]:
    return {name: kind for name, kind in draft.leaves.items() if isinstance(kind, TensorType)}


def _rank(kind: TensorType) -> int:
    return kind.rank or 0


def _of_type(draft: Draft, old: DType, new: DType) -> Draft:
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


def _without(proposal: TensorType | Known, size: int) -> TensorType | Known:
    """Return a leaf with 0 for one size; what was inferred beside it (-1) is any size then."""
    if isinstance(proposal, TensorType):
        shape = proposal.static_shape or ()
        return TensorType(proposal.dtype, tuple(0 if dim == size else dim for dim in shape))
    if proposal.array is None or proposal.dtype is not DType.INT64 or proposal.array.ndim != 1:
        return proposal
    items = [0 if i == size else 2 if i == -1 else i for i in proposal.array.tolist()]
    return Known.of(np.array(items, dtype=np.int64))
