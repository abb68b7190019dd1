"""An oracle beside `verify`: do the two sides of a rule differ for some small sizes and values?

Leaf types come first, out of short lists; attributes follow from the types of an operator's inputs, and the
conditions are asked as soon as their variables are bound. That is the other way round from the sampler of
`verify`, with which this shares no code. Both sides are then computed in double precision on fixed data:
numbers without any relation, whole ones with ties, and special ones for rules that claim the same bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from tensaur import ops
from tensaur.errors import TensaurError
from tensaur.ir.operator import Absent, Operator, Project, evaluate, infer_fact
from tensaur.ir.rule import EXACT, FAST, Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Bindings,
    Derived,
    Elem,
    NotApplicable,
    OpVar,
    Seq,
    Var,
    evaluate_derived,
    resolve,
    subterms,
    tree_fact,
)
from tensaur.ir.types import Array, DType, Fact, Known, TensorType, TupleType, Type
from tests.synth.small_attributes import attribute_values

STEPS = 40_000  # operators that are typed for one rule
CHOICES = 12  # leaf types that are weighed at one place
BREADTH = 3  # choices followed at one place before the look starts anew
FROM_ONE_START = 8  # instances that share their first choices
ENOUGH = (
    200  # different types and operators on which both sides agreed; then they are taken to be equal
)
_FAULTS = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, TensaurError)


@dataclass(frozen=True)
class Look:
    """What the oracle saw: how many instances were compared, and one on which the sides differ."""

    compared: int
    difference: str | None


@dataclass(frozen=True)
class _State:
    facts: Mapping[str, Fact] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ops: Mapping[str, Operator] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    @property
    def bindings(self) -> Bindings:
        return Bindings(self.facts, self.attrs, self.ops, self.lengths)

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.facts, *self.attrs, *self.ops, *self.lengths))


def look(rule: Rule, seed: int = 0) -> Look:
    """Look for a small instance on which the two sides of a one-way rule differ."""
    return _Search(rule, seed).run()


class _Search:
    def __init__(self, rule: Rule, seed: int) -> None:
        self.rule = rule
        self._rng = Random(seed)
        self._steps = STEPS
        self._dtypes = _input_dtypes(rule)
        self._numbers = _numbers(rule)
        self._conditions = [(item, _names(item)) for item in rule.when]
        self._floats = rule.exactness is EXACT
        self._main = DType.FLOAT64

    def run(self) -> Look:
        seen: set[Any] = set()
        dtypes = [DType.FLOAT64] * 4 + [DType.FLOAT32, DType.INT32, DType.BOOL, DType.INT64]
        admitted = [dtype for dtype in dtypes if dtype in self.rule.dtypes]
        for dtype in itertools.cycle(admitted):
            self._main = dtype
            before = self._steps
            for state in itertools.islice(self._states(0, self._start()), FROM_ONE_START):
                outcome = self._compare(state)
                if outcome is None:
                    continue
                if outcome:
                    return Look(len(seen), outcome)
                types = tuple((name, fact.type) for name, fact in state.facts.items())
                seen.add((types, *state.attrs.items(), *state.ops.items()))
            if self._steps == before:
                self._steps -= 100  # nothing was typed at all
            if self._steps <= 0 or len(seen) >= ENOUGH:
                return Look(len(seen), None)
        raise AssertionError("no element type")

    def _start(self) -> _State:
        made = (item for root in (*self.rule.makes, *self.rule.when) for item in subterms(root))
        if not self.rule.members:
            return _State()
        return _State(lengths={i.name: self.rule.members for i in made if isinstance(i, Seq)})

    def _states(self, number: int, state: _State) -> Iterator[_State]:
        if number == len(self.rule.finds):
            yield state
            return
        for after, _ in self._term(self.rule.finds[number], state):
            yield from self._states(number + 1, after)

    def _term(self, term: Any, state: _State) -> Iterator[tuple[_State, Fact]]:
        if isinstance(term, Var):
            if term.name in state.facts:
                yield state, state.facts[term.name]
                return
            yield from self._leaf(term.name, state)
            return
        assert isinstance(term, Apply)
        if term.op is Project:
            yield from self._projected(term, state)
            return
        for inner, facts in self._inputs(term, state):
            yield from self._applied(term, inner, facts)

    def _leaf(self, name: str, state: _State) -> Iterator[tuple[_State, Fact]]:
        """Bind a leaf; of several choices most have the rank of a leaf that is bound already."""
        facts = self._facts(name)
        ranks = {fact.rank for fact in state.facts.values()}
        alike = [fact for fact in facts if fact.rank in ranks]
        chosen = self._rng.sample(facts, min(CHOICES, len(facts)))
        chosen += self._rng.sample(alike, min(2 * CHOICES, len(alike)))
        self._rng.shuffle(chosen)
        bound = (replace(state, facts={**state.facts, name: fact}) for fact in chosen)
        fitting = (after for after in bound if self._may_hold(state, after))
        for after in itertools.islice(fitting, BREADTH):
            yield after, after.facts[name]

    def _projected(self, term: Apply, state: _State) -> Iterator[tuple[_State, Fact]]:
        (index,) = (value for _, value in term.attrs)
        for after, fact in self._term(term.inputs[0], state):
            assert isinstance(fact.type, TupleType)
            for number, kind in enumerate(fact.type.items):
                if isinstance(index, AttrVar):
                    if after.attrs.get(index.name, number) != number:
                        continue
                    bound = replace(after, attrs={**after.attrs, index.name: number})
                    if self._may_hold(after, bound):
                        yield bound, Fact(kind)
                elif index == number:
                    yield after, Fact(kind)

    def _inputs(self, term: Apply, state: _State) -> Iterator[tuple[_State, list[Fact]]]:
        items: Sequence[Any] = term.inputs
        states = [(state, items)]
        if len(items) == 1 and isinstance(items[0], Seq):
            seq = items[0]
            given = state.lengths.get(seq.name)
            lengths = [given] if given is not None else self._picked([1, 2, 3])
            states = [
                (
                    replace(state, lengths={**state.lengths, seq.name: n}),
                    [seq.item(i) for i in range(n)],
                )
                for n in lengths
            ]
        for start, terms in states:
            yield from self._each(terms, start, [])

    def _each(
        self, terms: Sequence[Any], state: _State, facts: list[Fact]
    ) -> Iterator[tuple[_State, list[Fact]]]:
        if not terms:
            yield state, facts
            return
        first, *rest = terms
        if isinstance(first, Apply) and first.op is Absent:
            yield from self._each(rest, state, [*facts, infer_fact(Absent(), [])])
            return
        for after, fact in self._term(first, state):
            yield from self._each(rest, after, [*facts, fact])

    def _applied(
        self, term: Apply, state: _State, facts: list[Fact]
    ) -> Iterator[tuple[_State, Fact]]:
        for op, bound in self._operators(term, state, facts):
            self._steps -= 1
            if self._steps <= 0:
                return
            if bound is not state and not self._may_hold(state, bound):
                continue
            try:
                yield bound, infer_fact(op, facts)
            except TensaurError:
                continue

    def _operators(
        self, term: Apply, state: _State, facts: list[Fact]
    ) -> Iterator[tuple[Operator, _State]]:
        if isinstance(term.op, OpVar):
            if term.op.name in state.ops:
                yield state.ops[term.op.name], state
                return
            for cls in self._picked(term.op.choices):
                if not cls.accepts_arity(len(facts)):
                    continue
                for values in self._picked(attribute_values(cls, facts, {}, self._rng)):
                    op = cls(**values)
                    yield op, replace(state, ops={**state.ops, term.op.name: op})
            return
        variables = {name: v.name for name, v in term.attrs if isinstance(v, AttrVar)}
        fixed = {name: v for name, v in term.attrs if not isinstance(v, AttrVar)}
        fixed |= {n: state.attrs[v] for n, v in variables.items() if v in state.attrs}
        defaults = {name: getattr(term.op, name) for name in term.op.field_names()
                    if name not in dict(term.attrs)}  # fmt: skip
        drawn = attribute_values(term.op, facts, {**defaults, **fixed}, self._rng)
        free = [name for name in variables if variables[name] not in state.attrs]
        for values in self._picked(drawn) if free else drawn[:1]:
            new = {variables[name]: values[name] for name in free}
            bound = replace(state, attrs={**state.attrs, **new}) if new else state
            yield term.op(**values), bound

    def _picked(self, items: Sequence[Any]) -> list[Any]:
        return self._rng.sample(list(items), min(BREADTH, len(items)))

    def _may_hold(self, before: _State, after: _State) -> bool:
        """Ask the conditions whose last variable has just been bound."""
        old, new = before.names, after.names
        for condition, names in self._conditions:
            if names <= new and not names <= old and not _holds(condition, after.bindings):
                return False
        return True

    def _facts(self, name: str) -> list[Fact]:
        dtype = self._dtypes.get(name.partition(".")[0], self._main)
        types = [TensorType(dtype, shape) for shape in _SHAPES]
        facts = [Fact(kind, None, flag) for kind in types for flag in (False, True)]
        numbers = self._numbers.get(name, [])
        if name in self._dtypes and dtype is DType.INT64:
            values = [Known.of(vector) for vector in _VECTORS]
            varying = [Fact(v.type, None, False) for v in values]
            return [*(Fact(v.type, v, True) for v in values), *varying]
        shapes = [(), (1,), (1, 1), (2,), (2, 1)] + [()] * 4
        literals = [np.full(shape, number) for number in numbers for shape in shapes]
        if dtype is DType.BOOL:
            literals = [np.full(shape, truth) for shape in shapes for truth in (False, True)]
        known = [Known.of(array, dtype) for array in literals]
        share = max(1, len(facts) // max(1, len(known))) if numbers else 1
        return facts + [Fact(value.type, value, True) for value in known] * share

    def _compare(self, state: _State) -> str | None:
        """Return how the sides differ, "" if they do not, None if the rule does not apply."""
        bindings = state.bindings
        if not all(_holds(condition, bindings) for condition in self.rule.when):
            return None
        try:
            finds = [resolve(term, bindings) for term in self.rule.finds]
            makes = [resolve(term, bindings) for term in self.rule.makes]
            kinds = [tree_fact(tree, state.facts).type for tree in finds]
            made_kinds = [tree_fact(tree, state.facts).type for tree in makes]
        except (NotApplicable, TensaurError):
            return None
        first = kinds[0]
        if isinstance(first, TensorType) and first.dtype not in self.rule.dtypes:
            return None
        compared = None
        for number in range(4 if self.rule.exactness is EXACT else 3):
            data = {
                name: _data(fact, number, i) for i, (name, fact) in enumerate(state.facts.items())
            }
            try:
                expected = [_value(tree, data) for tree in finds]
            except _FAULTS:
                continue
            compared = ""
            if not all(map(_may_agree, kinds, made_kinds)):
                return f"{finds} and {makes} have the types {kinds} and {made_kinds}"
            try:
                actual = [_value(tree, data) for tree in makes]
            except _FAULTS as error:
                return f"{[str(t) for t in makes]}: {error}"
            if any(_differ(a, b, self.rule) for a, b in zip(expected, actual, strict=True)):
                return f"{[str(t) for t in finds]} and {[str(t) for t in makes]} for {data}"
        return compared


def _may_agree(first: Type, second: Type) -> bool:
    a, b = (kind.static_shape if isinstance(kind, TensorType) else None for kind in (first, second))
    return a is None or b is None or first == second


_SHAPES = [
    *(shape for rank in range(4) for shape in itertools.product((1, 2), repeat=rank)),
    (3,), (2, 3), (3, 2), (1, 4), (2, 2, 3), (1, 2, 3),
    (1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 2, 2), (2, 2, 1, 2), (1, 2, 3, 3), (1, 4, 2, 1), (2, 2, 2, 2),
]  # fmt: skip
_VECTORS = [
    np.array(items, dtype=np.int64)
    for items in (0, 1, [0], [1], [-1], [0, 1], [1, 0], [2], [4], [2, 1], [1, 2], [2, 2], [-1, 2],
                  [0, -1], [1, -1], [1, 1, 1], [1, 2, 2], [2, 1, 2], [0, 0, -1], [1, 1, 2, 1])
]  # fmt: skip
_INTEGER_INPUTS = {(ops.Gather, 1), (ops.Reshape, 1), (ops.Expand, 1), (ops.Tile, 1)}
_BOOL_INPUTS = {(ops.Where, 0), (ops.Not, 0), (ops.And, 0), (ops.And, 1), (ops.Or, 0), (ops.Or, 1)}


def _input_dtypes(rule: Rule) -> dict[str, DType]:
    found: dict[str, DType] = {}
    for root in rule.finds:
        for term in subterms(root):
            if not isinstance(term, Apply) or not isinstance(term.op, type):
                continue
            for place, item in enumerate(term.inputs):
                if not isinstance(item, Var):
                    continue
                if (term.op, place) in _INTEGER_INPUTS:
                    found[item.name] = DType.INT64
                if (term.op, place) in _BOOL_INPUTS or _casts_truth(rule, item):
                    found[item.name] = DType.BOOL
    return found


def _casts_truth(rule: Rule, item: Var) -> bool:
    return any(item in c.args and DType.BOOL in c.args for c in rule.when)


def _numbers(rule: Rule) -> dict[str, list[float]]:
    """Return numbers to try for the data of each variable that conditions ask about."""
    found: dict[str, list[float]] = {}
    for root in (*rule.when, *rule.makes):
        for term in subterms(root):
            if not isinstance(term, Derived):
                continue
            numbers = [
                i for i in term.args if isinstance(i, (int, float)) and not isinstance(i, bool)
            ]
            for item in term.args:
                if isinstance(item, Var):
                    usual = [0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 6.0, 1 / 3, 1 / 6]
                    found.setdefault(item.name, usual).extend(numbers * 3)
    return found


def _names(condition: Derived) -> frozenset[str]:
    kinds = (Var, AttrVar, OpVar, Seq)
    found = {item.name for item in subterms(condition) if isinstance(item, kinds)}
    return frozenset(found | {i.seq.name for i in subterms(condition) if isinstance(i, Elem)})


def _holds(condition: Derived, bindings: Bindings) -> bool:
    try:
        return bool(evaluate_derived(condition, bindings))
    except (NotApplicable, TensaurError):
        return False
    except KeyError:
        return True  # a member of a sequence is not bound yet


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
