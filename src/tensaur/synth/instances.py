"""Draw concrete instances of a rule's find side: operators, leaf types, leaf data and what is known of them.

Terms are walked from the result towards the leaves with `Operator.sample`; the types this proposes for
shared variables are only proposals, and typing the whole from the leaves upwards decides. Does not
compare the two sides of a rule: that is `verify`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Absent, Operator, Project, Sample
from tensaur.ir.rule import EXACT, Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Bindings,
    Derived,
    NotApplicable,
    OpVar,
    Seq,
    Term,
    Tree,
    Var,
    evaluate_derived,
    resolve,
    subterms,
    tree_fact,
)
from tensaur.ir.types import DType, Fact, Known, OtherType, TensorType
from tensaur.synth.settle import Hint, Leaf, Proposal, Settling

_RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5)
_SIZES = (1, 2, 2, 3, 3, 4)
_SETTLINGS = 16  # ways to choose constants and symbols for one set of leaf types
_PATIENCE = 6  # failures at one condition that never held before leaf types are given up
_DRAWS = 8  # samples of one operator, of which the one that fits best is taken


@dataclass(frozen=True, slots=True)
class Instance:
    """Concrete trees for the find side, over named leaves; `sizes` gives the value of each symbol."""

    finds: tuple[Tree, ...]
    leaves: Mapping[str, Leaf]
    bindings: Bindings
    sizes: Mapping[str, int]

    @property
    def size(self) -> int:
        """Return the number of elements of all leaves together, as a measure of how simple it is."""
        return sum(int(np.prod(leaf.type.static_shape or ())) for leaf in self.leaves.values())


@dataclass
class _Draft:
    """An instance in the making."""

    leaves: dict[str, Proposal] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    ops: dict[str, Operator] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    samples: list[_Drawn] = field(default_factory=list)
    settled: dict[str, Leaf] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    patience: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A sample, and the type of the result for which it was drawn."""

    kind: TensorType
    sample: Sample


class InstanceSampler:
    """Draws well-typed instances of the find side of one one-way rule on which its conditions hold."""

    def __init__(self, rule: Rule, rng: Random) -> None:
        self.rule = rule
        self.rng = rng
        self._hints = _hints(rule)
        self._dtypes = _dtypes(rule)
        self._admitted = rule.dtypes
        self._lengths = _member_lengths(rule)

    def draw(self) -> Iterator[Instance]:
        """Yield instances with one set of operators and leaf types; none if the types contradict.

        They differ in which leaves are constants or literals and in which dimensions are symbolic.
        """
        draft = _Draft(lengths=dict(self._lengths))
        output = self._output()
        for term in self.rule.finds:
            if not self._walk(term, output, draft):
                return
            output = self._vary(output)
        draft.patience = [_PATIENCE] * (len(self.rule.when) + 1)
        for _ in range(_SETTLINGS):
            instance = self._settle(draft)
            if instance is not None:
                yield instance
            if 0 in draft.patience:
                return

    # Walking from the result to the leaves.

    def _output(self) -> TensorType:
        rank = self.rng.choice(_RANKS)
        shape = tuple(self.rng.choice(_SIZES) for _ in range(rank))
        return TensorType(self.rng.choice(self._dtypes), shape)

    def _vary(self, output: TensorType) -> TensorType:
        shape = list(output.shape or ())
        if shape and self.rng.random() < 0.7:
            shape[self.rng.randrange(len(shape))] = self.rng.choice(_SIZES)
        return TensorType(output.dtype, tuple(shape))

    def _walk(
        self, term: Term, output: Proposal | OtherType, draft: _Draft, index: int = 0
    ) -> bool:
        """Propose leaves below `term` so that its result has the type `output`."""
        if isinstance(term, Apply) and term.op is Absent:
            return True
        if isinstance(output, OtherType):
            return False
        if isinstance(term, Var):
            draft.leaves.setdefault(term.name, output)
            return True
        assert isinstance(term, Apply)
        if term.op is Project:
            return self._walk(term.inputs[0], output, draft, self._output_index(term, draft))
        kind = output if isinstance(output, TensorType) else output.type
        sample = self._best_sample(term, kind, draft, index)
        if sample is None:
            return False
        draft.samples.append(_Drawn(kind, sample))
        sample = self._nudged(term, sample, draft)
        self._bind(term, sample.op, draft)
        below = list(zip(self._input_terms(term, sample, draft), sample.inputs, strict=False))
        self.rng.shuffle(below)
        return all(self._walk(item, proposal, draft) for item, proposal in below)

    def _output_index(self, term: Apply, draft: _Draft) -> int:
        value = dict(term.attrs)["index"]
        if isinstance(value, AttrVar):
            value = draft.attrs.setdefault(value.name, self.rng.randrange(3))
        assert isinstance(value, int)
        return value

    def _input_terms(self, term: Apply, sample: Sample, draft: _Draft) -> list[Term]:
        if len(term.inputs) == 1 and isinstance(term.inputs[0], Seq):
            seq = term.inputs[0]
            length = draft.lengths.setdefault(seq.name, len(sample.inputs))
            return [seq.item(i) for i in range(length)]
        return list(term.inputs)

    def _best_sample(
        self, term: Apply, kind: TensorType, draft: _Draft, index: int
    ) -> Sample | None:
        best: Sample | None = None
        best_faults = 1_000_000
        for _ in range(_DRAWS):
            sample = self._sample(term, kind, draft, index)
            if sample is None:
                continue
            faults = self._faults(term, sample, draft)
            if faults < best_faults:
                best, best_faults = sample, faults
            if faults == 0:
                break
        return None if best is None else self._conform(term, best, draft)

    def _sample(self, term: Apply, kind: TensorType, draft: _Draft, index: int) -> Sample | None:
        if isinstance(term.op, OpVar):
            bound = draft.ops.get(term.op.name)
            op = self.rng.choice(term.op.choices) if bound is None else type(bound)
        else:
            op = term.op
        # Rules like operands of one shape, which independent draws seldom give.
        like = [d for d in draft.samples if type(d.sample.op) is op and d.kind == kind]
        try:
            if like and self.rng.random() < 0.3:
                sample = self.rng.choice(like).sample
            else:
                sample = op.sample(self.rng, kind, index)
        except TypeMismatch:
            return None
        wanted = len(term.inputs)
        if wanted == 1 and isinstance(term.inputs[0], Seq):
            wanted = draft.lengths.get(term.inputs[0].name, len(sample.inputs))
        return sample if len(sample.inputs) >= wanted else None

    def _faults(self, term: Apply, sample: Sample, draft: _Draft) -> int:
        """Count in how many places a sample disagrees with the term and with what is bound."""
        faults = 0
        for name, wanted in self._wanted(term, draft):
            faults += getattr(sample.op, name) != wanted
        if isinstance(term.op, OpVar):
            faults += draft.ops.get(term.op.name, sample.op) != sample.op
        for item, proposal in zip(term.inputs, sample.inputs, strict=False):
            if isinstance(item, Apply) and item.op is Absent:
                continue
            bound = draft.leaves.get(item.name) if isinstance(item, Var) else None
            faults += bound is not None and _type(bound) != _type(proposal)
            faults += isinstance(proposal, OtherType)
        return faults

    def _wanted(self, term: Apply, draft: _Draft) -> Iterator[tuple[str, Any]]:
        for name, value in term.attrs:
            if not isinstance(value, AttrVar):
                yield name, value
            elif value.name in draft.attrs:
                yield name, draft.attrs[value.name]

    def _conform(self, term: Apply, sample: Sample, draft: _Draft) -> Sample | None:
        """Give the sampled operator the attributes that the term and the bindings ask for."""
        if isinstance(term.op, OpVar):
            bound = draft.ops.get(term.op.name)
            return sample if bound is None else Sample(bound, sample.inputs)
        changes = {}
        given = dict(term.attrs)
        for name in type(sample.op).field_names():
            value = given.get(name)
            if name not in given:
                continue
            if not isinstance(value, AttrVar):
                changes[name] = value
            elif value.name in draft.attrs:
                changes[name] = draft.attrs[value.name]
            else:
                changes.update((name, item) for item in self._suggested(value, draft))
        try:
            return Sample(dataclasses.replace(sample.op, **changes), sample.inputs)
        except (TypeError, ValueError, TypeMismatch):
            return None

    def _suggested(self, value: AttrVar, draft: _Draft) -> list[Any]:
        """Return perhaps one value that the rule's conditions suggest for an attribute."""
        hint = self._hints.get(value.name)
        if hint is None:
            return []
        linked = [draft.attrs[name] for name in hint.linked if name in draft.attrs]
        if hint.values and self.rng.random() < 0.5:
            return [self.rng.choice(hint.values)]
        return [self.rng.choice(linked)] if linked and self.rng.random() < 0.2 else []

    def _nudged(self, term: Apply, sample: Sample, draft: _Draft) -> Sample:
        """Perhaps set items of free list attributes to 0, such as pads, or to sizes of an input.

        Rules like to have such attributes, which independent draws seldom give.
        """
        fixed = {name for name, _ in self._wanted(term, draft)}
        bound = isinstance(term.op, OpVar) and term.op.name in draft.ops
        if bound or self.rng.random() > 0.35:
            return sample
        share = self.rng.choice((0.5, 1.0))
        changes: dict[str, Any] = {}
        for name in type(sample.op).field_names():
            value = getattr(sample.op, name)
            if name in fixed or not isinstance(value, tuple):
                continue
            if 0 in value:
                changes[name] = tuple(0 if self.rng.random() < share else i for i in value)
            elif value and self.rng.random() < 0.25:
                changes[name] = self._tail(sample, len(value)) or value
        return Sample(dataclasses.replace(sample.op, **changes), sample.inputs)

    def _tail(self, sample: Sample, count: int) -> tuple[Any, ...]:
        shapes = [item.shape for item in sample.inputs if isinstance(item, TensorType)]
        fitting = [shape[-count:] for shape in shapes if shape and len(shape) > count]
        return self.rng.choice(fitting) if fitting else ()

    def _bind(self, term: Apply, op: Operator, draft: _Draft) -> None:
        if isinstance(term.op, OpVar):
            draft.ops.setdefault(term.op.name, op)
        for name, value in term.attrs:
            if isinstance(value, AttrVar):
                draft.attrs.setdefault(value.name, getattr(op, name))

    # From proposals to leaves, and typing upwards.

    def _settle(self, draft: _Draft) -> Instance | None:
        """Decide what is known of the leaves; None if a condition or a type is against it.

        What stands in the way too often, and so lies in the operators and shapes, ends the patience.
        """
        settle = Settling(self.rng, self._hints, draft.leaves)
        draft.settled = {name: settle.leaf(name, kind) for name, kind in draft.leaves.items()}
        draft.sizes = settle.sizes
        facts = {name: leaf.fact for name, leaf in draft.settled.items()}
        bindings = Bindings(facts, draft.attrs, draft.ops, draft.lengths)
        for number, condition in enumerate(self.rule.when):
            if not _holds(condition, bindings):
                draft.patience[number] -= 1
                return None
            draft.patience[number] = _SETTLINGS
        instance = self._instance(draft, bindings)
        draft.patience[-1] -= instance is None
        return instance

    def _instance(self, draft: _Draft, bindings: Bindings) -> Instance | None:
        """Type the found terms from the leaves upwards, concretely and as the rule sees them."""
        concrete = {name: _concrete_fact(leaf) for name, leaf in draft.settled.items()}
        try:
            finds = tuple(_tree(resolve(term, bindings)) for term in self.rule.finds)
            kinds = [tree_fact(tree, concrete).type for tree in finds]
            for tree in finds:
                tree_fact(tree, bindings.facts)
        except (TypeMismatch, NotApplicable, TypeError, ValueError):
            return None
        if isinstance(kinds[0], TensorType) and kinds[0].dtype not in self._admitted:
            return None
        return Instance(finds, draft.settled, bindings, draft.sizes)


def _holds(condition: Derived, bindings: Bindings) -> bool:
    try:
        return bool(evaluate_derived(condition, bindings))
    except (NotApplicable, TypeMismatch):
        return False


def _concrete_fact(leaf: Leaf) -> Fact:
    return Fact(leaf.type, leaf.data, constant=leaf.fact.constant)


def _type(proposal: Proposal | OtherType) -> TensorType | OtherType:
    return proposal.type if isinstance(proposal, Known) else proposal


def _tree(tree: Tree | Var) -> Tree:
    assert isinstance(tree, Tree)
    return tree


def _hints(rule: Rule) -> dict[str, Hint]:
    """Collect what stands beside each variable in the rule's derived values."""
    hints: dict[str, Hint] = {}
    attributes = set(map(id, _attributes(rule)))
    for root in (*rule.when, *rule.makes):
        for term in subterms(root):
            if not isinstance(term, Derived):
                continue
            values = [item for item in term.args if isinstance(item, (int, float, tuple))]
            variables = [item for item in term.args if isinstance(item, (Var, AttrVar))]
            for item in variables:
                hint = hints.setdefault(item.name, Hint())
                hint.values.extend(values)
                hint.linked.extend(v.name for v in variables if v is not item)
                hint.wanted |= id(term) in attributes
    return hints


def _attributes(rule: Rule) -> Iterator[Derived]:
    for root in rule.makes:
        for term in subterms(root):
            if isinstance(term, Apply):
                yield from (value for _, value in term.attrs if isinstance(value, Derived))


def _member_lengths(rule: Rule) -> dict[str, int]:
    """Return the length of the sequence that an instance of a group rule still names."""
    if not rule.members:
        return {}
    made = (term for root in (*rule.makes, *rule.when) for term in subterms(root))
    return {term.name: rule.members for term in made if isinstance(term, Seq)}


def _dtypes(rule: Rule) -> tuple[DType, ...]:
    if rule.exactness is EXACT:
        floats = (DType.FLOAT32,) * 8 + (DType.FLOAT64, DType.FLOAT16)
        return (*floats, DType.INT32, DType.INT64, DType.INT64, DType.UINT8, DType.INT8, DType.BOOL)
    wide = (DType.FLOAT64,) * 4 + (DType.FLOAT32,)
    return (*wide, DType.INT32, DType.UINT8) if rule.integers else wide
