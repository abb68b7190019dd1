"""Make a draft fit: change its leaf types and attributes until the terms are well typed and conditions hold.

A walk from the result towards the leaves seldom gets types that agree where variables are shared; hill
climbing over single changes soon does. Draws nothing anew and knows nothing of data.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Operator, infer_fact
from tensaur.ir.rule import Rule
from tensaur.ir.term import AttrVar, Bindings, NotApplicable, Tree, Var, resolve, subterms
from tensaur.ir.types import DType, Fact, Known, TensorType
from tensaur.synth.drafts import Draft, Drafting
from tensaur.synth.hints import Hint
from tensaur.synth.settle import Proposal

_STEPS = 40
_TRIED = 300  # drafts that may make nothing before that is taken to lie in the data

Shape = tuple[int, ...]


class Repair:
    """Repairs drafts of one one-way rule."""

    def __init__(
        self,
        rule: Rule,
        rng: Random,
        hints: Mapping[str, Hint],
        drafting: Drafting,
        sizes: Sequence[int],
    ) -> None:
        self.rule = rule
        self.rng = rng
        self._hints = hints
        self._conditions = drafting.conditions
        self._every_condition = range(len(rule.when))
        self._fact = drafting.fact
        self._sizes = sizes
        found = [item for term in rule.finds for item in subterms(term)]
        self._attributes = sorted({item.name for item in found if isinstance(item, AttrVar)})
        self._types: dict[tuple[Operator, tuple[Fact | None, ...]], Fact | None] = {}
        self._failures = 0
        self._keeps_ranks = False
        self._seen: Counter[Hashable] = Counter()
        self._values: defaultdict[str, set[Hashable]] = defaultdict(set)

    def run(self, draft: Draft, steps: int) -> Draft:
        """Return a draft that fits at least as well, `steps` away from the first one that does.

        What draws make fit is often trivial, such as a padding of nothing; further steps lead to what
        has not been seen.
        """
        faults, novelty = self._faults(draft), self._novelty(draft)
        self._keeps_ranks = self.rng.random() < 0.5  # else climbing ends where it is easiest
        left = steps
        for _ in range(_STEPS):
            left -= not faults
            if left < 0:
                break
            changed = self._changed(draft)
            if changed == draft:
                continue
            new = self._novelty(changed)
            if not faults and new < novelty:
                continue
            count = self._faults(changed, faults)
            if count <= faults:
                draft, faults, novelty = changed, count, new
        return draft

    def related(self, draft: Draft) -> Draft:
        """Give every leaf a shape made of one: rules often speak of values that broadcast together."""
        rank = self.rng.choice((1, 2, 2, 3, 3, 4))
        base = tuple(self.rng.choice(self._sizes) for _ in range(rank))
        leaves = dict(draft.leaves)
        for name, kind in draft.leaves.items():
            if isinstance(kind, TensorType):
                form = self.rng.choice(_RELATED)
                leaves[name] = TensorType(kind.dtype, form(self, (), base))
        return replace(draft, leaves=leaves)

    def note(self, draft: Draft) -> None:
        """Note that a draft gave an instance, so that others are sought."""
        for feature in _features(draft):
            self._seen[feature] += 1
        for name, value in draft.attrs.items():
            self._values[name].add(value)

    def _novelty(self, draft: Draft) -> float:
        return sum(1 / (1 + self._seen[feature]) for feature in _features(draft))

    def _faults(self, draft: Draft, limit: float = math.inf) -> float:
        """Count the operators that are not well typed, and the conditions that do not hold.

        Beyond `limit` the count does not matter and need not be complete.
        """
        facts = {name: self._fact(name, kind) for name, kind in draft.leaves.items()}
        bindings = Bindings(facts, draft.attrs, draft.ops, draft.lengths)
        try:
            trees = [resolve(term, bindings) for term in self.rule.finds]
        except (NotApplicable, TypeError, ValueError, KeyError):
            return math.inf
        count = 2 * sum(self._ill_typed(tree, facts) for tree in trees)
        if count <= limit:
            count += self._conditions.violated(self._every_condition, bindings)
        return count if count > limit else count + self._unmade(bindings)

    def _unmade(self, bindings: Bindings) -> int:
        """Count what is ill typed in what the rule makes; 1 if it makes nothing.

        A rule that makes nothing without data is not asked for ever.
        """
        if self._failures > _TRIED:
            return 0
        try:
            trees = [resolve(term, bindings) for term in self.rule.makes]
        except (NotApplicable, TypeMismatch):
            self._failures += 1
            return 1
        self._failures = -(10**9)
        return sum(self._ill_typed(tree, bindings.facts) for tree in trees)

    def _ill_typed(self, tree: Tree | Var, facts: Mapping[str, Fact]) -> int:
        """Count the operators of a tree whose result has no type."""
        ill = 0

        def typed(item: Tree | Var) -> Fact | None:
            nonlocal ill
            if isinstance(item, Var):
                return facts.get(item.name)
            inputs = tuple(typed(below) for below in item.inputs)
            fact = self._inferred(item.op, inputs)
            ill += fact is None
            return fact

        typed(tree)
        return ill

    def _inferred(self, op: Operator, inputs: tuple[Fact | None, ...]) -> Fact | None:
        key = (op, inputs)
        if key not in self._types:
            known = [item for item in inputs if item is not None]
            try:
                self._types[key] = infer_fact(op, known) if len(known) == len(inputs) else None
            except TypeMismatch:
                self._types[key] = None
        return self._types[key]

    def _changed(self, draft: Draft) -> Draft:
        place = self.rng.random()
        if self._attributes and place < (0.4 if len(self._attributes) < 4 else 0.6):
            weights = [1 / (1 + len(self._values[name])) for name in self._attributes]
            (name,) = self.rng.choices(self._attributes, weights)
            return replace(draft, attrs={**draft.attrs, name: self._attribute(name, draft)})
        if draft.ops and place < (0.7 if self._attributes else 0.3):
            name = self.rng.choice(list(draft.ops))
            return replace(draft, ops={**draft.ops, name: self._operator(draft.ops[name])})
        names = [name for name, kind in draft.leaves.items() if _may_change(kind)]
        if not names:
            return draft
        if place > 0.85:
            return self._one_size_everywhere(draft)
        name = self.rng.choice(names)
        return replace(draft, leaves={**draft.leaves, name: self._leaf(name, draft)})

    def _one_size_everywhere(self, draft: Draft) -> Draft:
        """Give all axes of one size another one, since they may have to be equal."""
        types = {n: k for n, k in draft.leaves.items() if isinstance(k, TensorType)}
        sizes = sorted({dim for kind in types.values() for dim in _static(kind.shape)})
        if not sizes:
            return draft
        old, new = self.rng.choice(sizes), self.rng.choice(self._sizes)
        changed = {
            name: TensorType(
                kind.dtype, tuple(new if dim == old else dim for dim in _static(kind.shape))
            )
            for name, kind in types.items()
        }
        return replace(draft, leaves={**draft.leaves, **changed})

    def _leaf(self, name: str, draft: Draft) -> Proposal:
        kind = draft.leaves[name]
        if isinstance(kind, Known):
            return self._vector(kind)
        others = [item.shape for item in draft.leaves.values() if isinstance(item, TensorType)]
        model = self.rng.choice([_static(shape) for shape in others])
        form = self.rng.choice(_FORMS)
        shape = form(self, _static(kind.shape), model)
        if self._keeps_ranks and len(shape) != kind.rank:
            return kind
        return TensorType(kind.dtype, shape)

    def _vector(self, value: Known) -> Known:
        """Change one item of a vector of sizes, to one that means something or to the next one."""
        assert value.array is not None
        items = value.array.tolist()
        place = self.rng.randrange(len(items))
        items[place] = self.rng.choice((-1, 0, items[place] + 1, self.rng.choice(self._sizes)))
        return Known.of(np.array(items, dtype=np.int64))

    def _attribute(self, name: str, draft: Draft) -> Any:
        value = draft.attrs.get(name)
        alike = [item for item in draft.attrs.values() if type(item) is type(value)]
        hint = self._hints.get(name)
        hinted = [item for item in hint.values if type(item) is type(value)] if hint else []
        if self.rng.random() < 0.4 and (alike or hinted):
            return self.rng.choice(alike + hinted)
        return self._nearby(value)

    def _operator(self, op: Operator) -> Operator:
        names = type(op).field_names()
        if not names:
            return op
        name = self.rng.choice(names)
        try:
            return replace(op, **{name: self._nearby(getattr(op, name))})
        except (TypeError, ValueError):
            return op

    def _nearby(self, value: Any) -> Any:
        """Return a value one step away, the same one for what has no steps."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return value + self.rng.choice((-1, 1))
        if isinstance(value, tuple) and value and all(isinstance(item, int) for item in value):
            place = self.rng.randrange(len(value))
            steps = (1, 1, 2, -1) if value[place] == 0 else (1, -1)
            return (*value[:place], value[place] + self.rng.choice(steps), *value[place + 1 :])
        return value

    # Forms of a leaf's shape, given its own and that of another leaf.

    def same(self, own: Shape, other: Shape) -> Shape:
        """Take the other shape."""
        return other

    def suffix(self, own: Shape, other: Shape) -> Shape:
        """Take the last axes of the other shape."""
        return other[self.rng.randint(0, len(other)) :]

    def stretched(self, own: Shape, other: Shape) -> Shape:
        """Take the other shape with some axes of size 1."""
        return tuple(dim if self.rng.random() < 0.5 else 1 for dim in other)

    def one_size(self, own: Shape, other: Shape) -> Shape:
        """Change one axis, to a size of the other shape or any."""
        if not own:
            return own
        place = self.rng.randrange(len(own))
        size = self.rng.choice((*other, self.rng.choice(self._sizes)))
        return (*own[:place], size, *own[place + 1 :])

    def one_axis(self, own: Shape, other: Shape) -> Shape:
        """Leave out the first axis, or put one before it."""
        return own[1:] if own and self.rng.random() < 0.5 else (self.rng.choice(self._sizes), *own)


_RELATED = (Repair.same, Repair.same, Repair.same, Repair.suffix, Repair.stretched)
_FORMS = (Repair.same, Repair.suffix, Repair.stretched, Repair.one_size, Repair.one_axis)


def _features(draft: Draft) -> Iterator[Hashable]:
    """Yield the values and types of a draft, and which of them are equal."""
    yield from draft.attrs.items()
    yield from draft.ops.items()
    types = {n: k.type if isinstance(k, Known) else k for n, k in draft.leaves.items()}
    yield from types.items()
    for values in (draft.attrs, types):
        pairs = itertools.combinations(values.items(), 2)
        yield from ((a, b, first == second) for (a, first), (b, second) in pairs)


def _may_change(kind: Proposal) -> bool:
    """Tell whether a leaf is a tensor with free data, or a vector of sizes."""
    if isinstance(kind, TensorType):
        return True
    return (
        kind.dtype is DType.INT64
        and kind.array is not None
        and kind.array.ndim == 1
        and bool(kind.array.size)
    )


def _static(shape: Any) -> Shape:
    return tuple(dim for dim in shape or () if isinstance(dim, int))
