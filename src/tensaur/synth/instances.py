"""Draw concrete instances of a rule's find side: operators, leaf types, leaf data and what is known of them.

`drafts` proposes operators and leaf types, `settle` what is constant or symbolic; here the whole is typed
from the leaves upwards, and the rule's conditions decide. Does not compare the two sides of a rule: that
is `verify`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from random import Random
from typing import NamedTuple

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import Bindings, NotApplicable, Tree, Var, resolve, tree_fact
from tensaur.ir.types import DType, Fact, Known, TensorType, Type
from tensaur.synth.aims import Aim, aims, of_type
from tensaur.synth.drafts import SIZES, Draft, Drafting
from tensaur.synth.hints import collect_hints, forced_constancy, holds
from tensaur.synth.repair import Repair
from tensaur.synth.settle import Leaf, Proposal, Settling

_SETTLINGS = 16  # ways to choose constants and symbols for one set of leaf types
_PATIENCE = 6  # failures at one condition that never held before leaf types are given up
_TELLING = (
    5  # instances on which a rule applied, before one takes what they have in common for needed
)
_KEPT = 24  # drafts that gave an instance, to be tried again with other sizes


@dataclass(frozen=True, slots=True)
class Sizes:
    """Out of which sizes axes are drawn, and by which they are replaced in what worked."""

    drawn: tuple[int, ...]
    others: tuple[int, ...]


USUAL = Sizes(SIZES, (0, 1, 2, 3, 4, 5))
SMALL = Sizes((1, 2, 2, 2), (1, 2, 2, 2))  # equal sizes show a wrong order of elements, not of axes


@dataclass(frozen=True, slots=True)
class Instance:
    """Concrete trees for the find side, over named leaves; `sizes` gives the value of each symbol.

    `result` is the type of the first tree.
    """

    finds: tuple[Tree, ...]
    leaves: Mapping[str, Leaf]
    bindings: Bindings
    sizes: Mapping[str, int]
    result: Type

    @property
    def kinds(self) -> dict[str, TensorType]:
        """Return the types of the leaves."""
        return {name: leaf.type for name, leaf in self.leaves.items()}

    @property
    def seen(self) -> Mapping[str, Fact]:
        """Return what the rule sees of the leaves."""
        return self.bindings.facts

    @property
    def operators(self) -> Mapping[str, Operator]:
        """Return the operators that variables stand for."""
        return self.bindings.ops

    @property
    def size(self) -> int:
        """Return the number of elements of all leaves together, as a measure of how simple it is."""
        return sum(int(np.prod(leaf.type.static_shape or ())) for leaf in self.leaves.values())


class _Way(Enum):
    """How to get a draft: by a walk from the result, with related shapes, or from one that worked."""

    WALK = "walk"
    RELATED = "related"
    AGAIN = "again"


class _Last(NamedTuple):
    """Where an instance came from."""

    way: _Way
    draft: Draft
    leaves: Mapping[str, Leaf]


# How many steps to lead a draft that fits away from what has been seen.
_STEPS = {_Way.WALK: (0, 0, 4, 8, 16), _Way.RELATED: (0, 4, 8), _Way.AGAIN: (8, 16, 24)}
_STEPS_TO_AIM = (0, 0, 8, 16)


class InstanceSampler:
    """Draws well-typed instances of the find side of one one-way rule on which its conditions hold.

    The first result is drawn with no element type of `without`.
    """

    def __init__(
        self, rule: Rule, rng: Random, without: Collection[DType] = (), sizes: Sizes = USUAL
    ) -> None:
        self.rule = rule
        self.rng = rng
        self._hints = collect_hints(rule)
        self._constant = forced_constancy(rule)
        self._drafting = Drafting(rule, rng, self._hints, self._constant, without, sizes.drawn)
        self._repair = Repair(rule, rng, self._hints, self._drafting, sizes.drawn)
        self._others = sizes.others
        self._applied = 0
        self._literals: Counter[str] = Counter()
        self._admitted = rule.dtypes
        self._kept: list[Draft] = []
        self._last: _Last
        self._draws = dict.fromkeys(_Way, 1)
        self._successes = dict.fromkeys(_Way, 1)

    def draw(self, aim: Aim | None = None) -> Iterator[Instance]:
        """Yield instances with one set of operators and leaf types; none if the types contradict.

        They differ in which leaves are constants or literals and in which dimensions are symbolic. With
        an aim, what worked is changed towards it; instances need not be there yet.
        """
        way = _Way.AGAIN if aim else self._way()
        draft = self._aimed(aim) if aim else self._proposed(way)
        if aim is None:
            self._draws[way] += 1
        if draft is None:
            return
        patience = [_PATIENCE] * (len(self.rule.when) + 1)
        for _ in range(_SETTLINGS):
            instance = self._settle(draft, patience, unranked=aim is not None and aim.unranked)
            if instance is not None:
                self._last = _Last(way, draft, instance.leaves)
                yield instance
            if 0 in patience:
                return

    def aims(self, empty: int) -> list[Aim]:
        """Return the corners to try; none if nothing worked yet. `empty` of them with axes of size 0."""
        dtypes = tuple(dict.fromkeys(self._drafting.dtypes))
        return list(aims(self._kept, dtypes, empty)) if self._kept else []

    def _aimed(self, aim: Aim) -> Draft:
        draft = aim.change(self.rng.choice(self._kept), self.rng)
        if not aim.repaired or self.rng.random() < 0.5:
            return draft
        return self._repair.run(draft, self.rng.choice(_STEPS_TO_AIM))

    def _way(self) -> _Way:
        """Choose the fresh way that works more often; vary a draft that worked where neither does."""
        walk, related, _ = (self._successes[way] / self._draws[way] for way in _Way)
        if self._kept and self.rng.random() < _share_of_kept(walk + related):
            return _Way.AGAIN
        return _Way.WALK if self.rng.random() * (walk + related) < walk else _Way.RELATED

    def _proposed(self, way: _Way) -> Draft | None:
        if way is _Way.AGAIN:
            draft = self._resized(self.rng.choice(self._kept))
            draft = self._of_other_type(draft) if self.rng.random() < 0.3 else draft
        else:
            drawn = self._drafting.draw()
            if drawn is None:
                return None
            draft = self._repair.related(drawn) if way is _Way.RELATED else drawn
        return self._repair.run(draft, self.rng.choice(_STEPS[way]))

    def keep(self) -> None:
        """Note that the rule applies to the instance drawn last: more like it are drawn, but not it."""
        way, draft, leaves = self._last
        self._successes[way] += 1
        self._applied += 1
        self._literals.update(n for n, leaf in leaves.items() if leaf.fact.value is not None)
        self._repair.note(draft)
        if len(self._kept) < _KEPT:
            self._kept.append(draft)
        else:
            self._kept[self.rng.randrange(_KEPT)] = draft

    def _resized(self, draft: Draft) -> Draft:
        """Give every leaf other sizes, equal ones where they were equal; operators stay."""
        sizes: dict[int, int] = {}

        def other(size: int) -> int:
            if size not in sizes:
                stays = self.rng.random() < (0.85 if size == 1 else 0.4)
                sizes[size] = size if stays else self.rng.choice(self._others)
            return sizes[size]

        def resize(proposal: Proposal) -> Proposal:
            if isinstance(proposal, Known):
                return _with_sizes(proposal, sizes)
            if proposal.static_shape is None:
                return proposal
            return TensorType(proposal.dtype, tuple(map(other, proposal.static_shape)))

        # Sizes that are data, as the target of a reshape is, follow those of the others.
        order = sorted(draft.leaves, key=lambda name: isinstance(draft.leaves[name], Known))
        resized = {name: resize(draft.leaves[name]) for name in order}
        return replace(draft, leaves={name: resized[name] for name in draft.leaves})

    def _of_other_type(self, draft: Draft) -> Draft:
        """Give the leaves of one element type another one."""
        types = {n: kind for n, kind in draft.leaves.items() if isinstance(kind, TensorType)}
        if not types:
            return draft
        old = self.rng.choice(list(types.values())).dtype
        new = self.rng.choice(self._drafting.dtypes)
        return of_type(draft, old, new)

    def _settle(self, draft: Draft, patience: list[int], unranked: bool) -> Instance | None:
        """Decide what is known of the leaves; None if a condition or a type is against it.

        What stands in the way too often, and so lies in the operators and shapes, ends the patience.
        """
        if None in draft.attrs.values():  # no attribute variable stands for that
            return None
        always = [n for n, count in self._literals.items() if count == self._applied]
        literal = always if self._applied >= _TELLING else ()
        settling = Settling(self.rng, self._hints, self._constant, draft.leaves, literal)
        if unranked:
            settling.hide_ranks()
        leaves = {name: settling.leaf(name, kind) for name, kind in draft.leaves.items()}
        facts = {name: leaf.fact for name, leaf in leaves.items()}
        bindings = Bindings(facts, draft.attrs, draft.ops, draft.lengths)
        for number, condition in enumerate(self.rule.when):
            if not holds(condition, bindings):
                patience[number] -= 1
                return None
            patience[number] = _SETTLINGS
        instance = self._instance(leaves, bindings, settling.sizes)
        patience[-1] -= instance is None
        return instance

    def _instance(
        self, leaves: Mapping[str, Leaf], bindings: Bindings, sizes: Mapping[str, int]
    ) -> Instance | None:
        """Type the found terms from the leaves upwards, concretely and as the rule sees them."""
        concrete = {name: _concrete_fact(leaf) for name, leaf in leaves.items()}
        try:
            finds = tuple(_tree(resolve(term, bindings)) for term in self.rule.finds)
            kinds = [tree_fact(tree, concrete).type for tree in finds]
            for tree in finds:
                tree_fact(tree, bindings.facts)
        except (TypeMismatch, NotApplicable, TypeError, ValueError):
            return None
        if isinstance(kinds[0], TensorType) and kinds[0].dtype not in self._admitted:
            return None
        return Instance(finds, leaves, bindings, sizes, kinds[0])


def _with_sizes(value: Known, sizes: Mapping[int, int]) -> Known:
    """Return integers with other sizes in the place of those they name; anything else as it is."""
    if value.array is None or value.dtype is not DType.INT64 or value.array.ndim != 1:
        return value
    items = value.array.tolist()
    changed = [sizes.get(item, item) for item in items]
    return Known.of(np.array(changed, dtype=np.int64))


def _share_of_kept(success: float) -> float:
    """Return how often to vary a draft that worked, given how often the two fresh ways work."""
    return 0.2 if success > 0.4 else 0.5 if success > 0.1 else 0.8


def _concrete_fact(leaf: Leaf) -> Fact:
    return Fact(leaf.type, leaf.data, constant=leaf.fact.constant)


def _tree(tree: Tree | Var) -> Tree:
    assert isinstance(tree, Tree)
    return tree
