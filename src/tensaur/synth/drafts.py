"""Draw operators and proposals for the leaves below the terms that a rule finds.

Terms are walked from the result towards the leaves with `Operator.sample`; of several samples the one is
taken that fits best what is bound already and what the rule's conditions ask. The types proposed for
shared variables are only proposals: `instances` types the whole from the leaves upwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Absent, Operator, Project, Sample
from tensaur.ir.rule import EXACT, Rule
from tensaur.ir.term import Apply, AttrVar, Bindings, OpVar, Seq, Term, Var, subterms
from tensaur.ir.types import DType, Fact, Known, OtherType, TensorType
from tensaur.synth.hints import Conditions, Hint
from tensaur.synth.settle import Proposal

_RANKS = (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5)
SIZES = (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 1, 2, 3, 2, 0)
_DRAWS = 16  # samples of one operator, of which the one that fits best is taken


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample, and the type of the result for which it was drawn."""

    kind: TensorType
    sample: Sample


@dataclass(slots=True)
class Draft:
    """An instance in the making: operators, and proposals for the leaves."""

    lengths: dict[str, int]
    leaves: dict[str, Proposal] = field(default_factory=dict)
    attrs: dict[str, Any] = field(default_factory=dict)
    ops: dict[str, Operator] = field(default_factory=dict)
    samples: list[Drawn] = field(default_factory=list)


class Drafting:
    """Draws drafts for one one-way rule.

    The first result has dimensions out of `sizes`, and no element type of `without`.
    """

    def __init__(
        self,
        rule: Rule,
        rng: Random,
        hints: Mapping[str, Hint],
        constant: Mapping[str, bool],
        without: Collection[DType] = (),
        sizes: Sequence[int] = SIZES,
    ) -> None:
        self.rule = rule
        self.rng = rng
        self._hints = hints
        self._constant = constant
        self._sizes = sizes
        self.dtypes = [dtype for dtype in _dtypes(rule) if dtype not in without]
        self._lengths = _member_lengths(rule)
        self.conditions = Conditions(rule)
        self._about: dict[int, tuple[int, ...]] = {}

    def draw(self) -> Draft | None:
        """Return a draft; None if no operator gives what the one above it wants."""
        draft = Draft(dict(self._lengths))
        output = self._output()
        for term in self.rule.finds:
            if not self._walk(term, output, draft):
                return None
            output = self._vary(output)
        return draft

    def _output(self) -> TensorType:
        rank = self.rng.choice(_RANKS)
        shape = tuple(self.rng.choice(self._sizes) for _ in range(rank))
        return TensorType(self.rng.choice(self.dtypes), shape)

    def _vary(self, output: TensorType) -> TensorType:
        shape = list(output.shape or ())
        if shape and self.rng.random() < 0.7:
            shape[self.rng.randrange(len(shape))] = self.rng.choice(self._sizes)
        return TensorType(output.dtype, tuple(shape))

    def _walk(self, term: Term, output: Proposal | OtherType, draft: Draft, index: int = 0) -> bool:
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
        self._bind(term, sample.op, draft)
        below = list(zip(self._input_terms(term, sample, draft), sample.inputs, strict=False))
        self.rng.shuffle(below)
        return all(self._walk(item, proposal, draft) for item, proposal in below)

    def _output_index(self, term: Apply, draft: Draft) -> int:
        value = dict(term.attrs)["index"]
        if isinstance(value, AttrVar):
            value = draft.attrs.setdefault(value.name, self.rng.randrange(3))
        assert isinstance(value, int)
        return value

    def _input_terms(self, term: Apply, sample: Sample, draft: Draft) -> list[Term]:
        if len(term.inputs) == 1 and isinstance(term.inputs[0], Seq):
            seq = term.inputs[0]
            length = draft.lengths.setdefault(seq.name, len(sample.inputs))
            return [seq.item(i) for i in range(length)]
        return list(term.inputs)

    def _best_sample(
        self, term: Apply, kind: TensorType, draft: Draft, index: int
    ) -> Sample | None:
        best: Sample | None = None
        chosen: Drawn | None = None
        fewest = 1_000_000
        for _ in range(_DRAWS):
            drawn = self._sample(term, kind, draft, index)
            sample = None if drawn is None else self._conform(term, drawn, draft)
            if drawn is None or sample is None:
                continue
            sample = self._nudged(term, sample, draft)
            faults = self._faults(term, drawn, draft) + self._violations(term, sample, draft)
            if faults < fewest:
                best, fewest, chosen = sample, faults, Drawn(kind, drawn)
            if faults == 0:
                break
        if chosen is not None:
            draft.samples.append(chosen)
        return best

    def _sample(self, term: Apply, kind: TensorType, draft: Draft, index: int) -> Sample | None:
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
        except (TypeMismatch, ValueError):  # ValueError: nothing to choose from, at size 0
            return None
        wanted = len(term.inputs)
        if wanted == 1 and isinstance(term.inputs[0], Seq):
            wanted = draft.lengths.get(term.inputs[0].name, len(sample.inputs))
        return sample if len(sample.inputs) >= wanted else None

    def _faults(self, term: Apply, sample: Sample, draft: Draft) -> int:
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

    def _violations(self, term: Apply, sample: Sample, draft: Draft) -> int:
        """Count the conditions that would not hold with this sample."""
        about = self._about.get(id(term))
        if about is None:
            about = self._about[id(term)] = self.conditions.about(term)
        if not about:
            return 0
        leaves = dict(draft.leaves)
        for item, proposal in zip(self._terms(term, sample, draft), sample.inputs, strict=False):
            if isinstance(item, Var) and not isinstance(proposal, OtherType):
                leaves.setdefault(item.name, proposal)
        facts = {name: self.fact(name, proposal) for name, proposal in leaves.items()}
        attrs, ops = dict(draft.attrs), dict(draft.ops)
        if isinstance(term.op, OpVar):
            ops.setdefault(term.op.name, sample.op)
        for name, value in term.attrs:
            if isinstance(value, AttrVar):
                attrs.setdefault(value.name, getattr(sample.op, name))
        return self.conditions.violated(about, Bindings(facts, attrs, ops, draft.lengths))

    def _terms(self, term: Apply, sample: Sample, draft: Draft) -> list[Term]:
        if len(term.inputs) == 1 and isinstance(term.inputs[0], Seq):
            return []  # its length is not bound before the sample is chosen
        return list(term.inputs)

    def fact(self, name: str, proposal: Proposal) -> Fact:
        """Return what a condition may see of a proposal."""
        constant = self._constant.get(name.partition(".")[0], False)
        if isinstance(proposal, Known):
            return Fact(proposal.type, proposal, constant)
        return Fact(proposal, None, constant)

    def _wanted(self, term: Apply, draft: Draft) -> Iterator[tuple[str, Any]]:
        for name, value in term.attrs:
            if not isinstance(value, AttrVar):
                yield name, value
            elif value.name in draft.attrs:
                yield name, draft.attrs[value.name]

    def _conform(self, term: Apply, sample: Sample, draft: Draft) -> Sample | None:
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
        if not changes:
            return sample
        try:
            return Sample(dataclasses.replace(sample.op, **changes), sample.inputs)
        except (TypeError, ValueError, TypeMismatch):
            return None

    def _suggested(self, value: AttrVar, draft: Draft) -> list[Any]:
        """Return perhaps one value that the rule's conditions suggest for an attribute."""
        hint = self._hints.get(value.name)
        if hint is None:
            return []
        linked = [draft.attrs[name] for name in hint.linked if name in draft.attrs]
        if hint.values and self.rng.random() < 0.5:
            return [self.rng.choice(hint.values)]
        return [self.rng.choice(linked)] if linked and self.rng.random() < 0.2 else []

    def _nudged(self, term: Apply, sample: Sample, draft: Draft) -> Sample:
        """Perhaps set items of free list attributes to 0, such as pads, or to sizes of an input.

        Rules like to have such attributes, which independent draws seldom give.
        """
        bound = isinstance(term.op, OpVar) and term.op.name in draft.ops
        if bound or self.rng.random() > 0.35:
            return sample
        fixed = {name for name, _ in self._wanted(term, draft)}
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

    def _bind(self, term: Apply, op: Operator, draft: Draft) -> None:
        if isinstance(term.op, OpVar):
            draft.ops.setdefault(term.op.name, op)
        for name, value in term.attrs:
            if isinstance(value, AttrVar):
                draft.attrs.setdefault(value.name, getattr(op, name))


def _type(proposal: Proposal | OtherType) -> TensorType | OtherType:
    return proposal.type if isinstance(proposal, Known) else proposal


def _member_lengths(rule: Rule) -> dict[str, int]:
    """Return the length of the sequence that an instance of a group rule still names."""
    if not rule.members:
        return {}
    made = (term for root in (*rule.makes, *rule.when) for term in subterms(root))
    return {term.name: rule.members for term in made if isinstance(term, Seq)}


_FLOATS = (DType.FLOAT32,) * 8 + (DType.FLOAT64, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16)
_INTEGERS = (DType.INT32, DType.INT64, DType.INT64, DType.UINT8, DType.INT8)
_RARE = (DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64)


def _dtypes(rule: Rule) -> tuple[DType, ...]:
    """Return the element types to draw the first result from, the important ones repeatedly."""
    if rule.exactness is EXACT:
        return (*_FLOATS, *_INTEGERS, *_RARE, DType.BOOL)
    wide = (DType.FLOAT64,) * 9 + (DType.FLOAT32,) * 3
    return (*wide, *_INTEGERS, *_RARE) if rule.integers else wide
