"""Every small instance of a rule: all shapes out of a list, all attribute values out of short lists.

Shares no code with the sampler of `verify`. Variables are bound from the leaves upwards, types and
conditions are asked as soon as they can be, and nothing is left out at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from tensaur import ops
from tensaur.errors import TensaurError
from tensaur.ir.operator import Absent, Input, Literal, Operator, Project, infer_fact
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Bindings,
    Derived,
    NotApplicable,
    OpVar,
    Seq,
    Tree,
    Var,
    evaluate_derived,
    resolve,
    subterms,
    tree_fact,
)
from tensaur.ir.types import DType, Fact, Known, TensorType, TupleType
from tensaur.proving.axioms.arrange import ZERO, Arrange
from tensaur.synth.instances import Instance
from tensaur.synth.settle import Leaf

T = TypeVar("T")
Shape = tuple[int, ...]
FAR = 2**31 - 1


@dataclass(frozen=True)
class Domain:
    """What is enumerated: shapes of leaves, lengths of sequences, and the main element type.

    With `known`, every leaf that a condition or a computed value speaks of may be a constant or a number;
    else only those whose elements are looked at, which are numbers then.
    """

    shapes: tuple[Shape, ...]
    lengths: tuple[int, ...] = (1, 2)
    dtype: DType = DType.FLOAT64
    known: bool = False


_WINDOWED = (*ops.CONVOLUTIONS, *ops.POOLS, *ops.GLOBAL_POOLS, ops.LRN, ops.BatchNormalization)
_FLAT = tuple(s for rank in range(3) for s in itertools.product((1, 2), repeat=rank))
_SPACE = tuple(itertools.product((1, 2), (1, 2), (1, 2, 3)))
_VECTOR_SHAPES: tuple[Shape, ...] = ((), (1,), (2,))


def small(rule: Rule, dtype: DType = DType.FLOAT64) -> Domain:
    """Return all shapes up to rank 2 with sizes up to 2, and up to 4 elements for many variables.

    For windows, images of one spatial axis. Rules about many known elements also get a long vector.
    """
    if _classes(rule) & set(_WINDOWED):
        return Domain((*_SPACE, *_VECTOR_SHAPES), dtype=dtype)
    count = _count(rule)
    shapes = _FLAT if count <= 4 else ((1,), (2,), (1, 2))
    extra: tuple[Shape, ...] = ((0,), (3,), (2, 0), (1, 1, 2), (2, 1, 2), (17,))
    return Domain((*shapes, *(extra if count <= 2 else ())), dtype=dtype)


def nearly_nothing(rule: Rule, dtype: DType = DType.FLOAT64) -> Domain:
    """Return a few shapes most of which have no elements."""
    return Domain(((0,), (2, 0), (0, 1), (1,), (1, 0, 2), (0, 1, 2), (1, 1, 2)), dtype=dtype)


def larger(rule: Rule, dtype: DType = DType.FLOAT64) -> Domain:
    """Return more shapes: up to rank 3, and images of two spatial axes."""
    if _classes(rule) & set(_WINDOWED):
        planes = itertools.product((1, 2), (1, 2), (1, 2), (1, 2))
        shapes = (*_SPACE, *(planes if _count(rule) <= 3 else ()), *_VECTOR_SHAPES)
        return Domain(shapes, dtype=dtype)
    cubes = tuple(itertools.product((1, 2), repeat=3))
    count = _count(rule)
    shapes = (*_FLAT, *cubes) if count <= 3 else _FLAT if count <= 4 else _FLAT[1:5]
    extra: tuple[Shape, ...] = ((0,), (3,), (2, 3), (0, 2), (1, 2, 1, 2), (17,))
    return Domain((*shapes, *(extra if count <= 2 else ())), (1, 2, 3), dtype)


def _classes(rule: Rule) -> set[type[Operator]]:
    found: set[type[Operator]] = set()
    for term in (item for root in rule.finds for item in subterms(root)):
        if isinstance(term, Apply) and isinstance(term.op, type):
            found.add(term.op)
        elif isinstance(term, OpVar) and set(term.choices) <= set(_WINDOWED):
            found.update(term.choices)
    return found


def _count(rule: Rule) -> int:
    """Return how many leaves a rule finds, a sequence counted as two."""
    found = {item for root in rule.finds for item in subterms(root)}
    leaves = [i for i in found if isinstance(i, OpVar) and set(i.choices) <= {Input, Literal}]
    single = sum(isinstance(item, Var) for item in found)
    return single + len(leaves) + 2 * sum(isinstance(item, Seq) for item in found)


@dataclass(frozen=True)
class Every:
    """An instance on which a rule applies."""

    instance: Instance
    makes: tuple[Tree | Var, ...]


@dataclass(frozen=True)
class State:
    """What is bound so far."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)
    ops: Mapping[str, Operator] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """Return the variables that are bound, as they are written; sequences with their last item."""
        return frozenset(
            (
                *self.facts,
                *(f"${name}" for name in self.attrs),
                *(f"?{name}" for name in self.ops),
                *(
                    f"*{name}"
                    for name, length in self.lengths.items()
                    if all(f"{name}.{i}" in self.facts for i in range(length))
                ),
            )
        )

    @property
    def bindings(self) -> Bindings:
        """Return what is bound, as terms and conditions are given it."""
        return Bindings(self.facts, self.attrs, self.ops, self.lengths)


def every(rule: Rule, domain: Domain) -> Iterator[Every]:
    """Yield every instance of a one-way rule in a domain, with what the rule makes of it."""
    yield from Search(rule, domain).run()


class Search:
    """The enumeration: of what fits at one place, all that `choices` returns is followed."""

    def __init__(self, rule: Rule, domain: Domain) -> None:
        self.rule = rule
        self.domain = domain
        self._dtypes = _input_dtypes(rule)
        self._ranks = _input_ranks(rule)
        self._numbers = _numbers(rule, domain.known)
        self._conditions = [(item, _names(item)) for item in rule.when]

    def run(self) -> Iterator[Every]:
        """Yield instances on which the rule applies."""
        made = (item for root in (*self.rule.makes, *self.rule.when) for item in subterms(root))
        lengths = {i.name: self.rule.members for i in made if isinstance(i, Seq)}
        for state in self._finds(0, State(lengths=lengths if self.rule.members else {})):
            instance = self._instance(state)
            if instance is not None:
                yield instance

    def choices(self, items: Iterable[T], fits: Callable[[T], bool]) -> Iterable[T]:
        """Return what to follow of all choices at one place, none that does not fit."""
        return filter(fits, items)

    def _finds(self, number: int, state: State) -> Iterator[State]:
        if number == len(self.rule.finds):
            yield state
            return
        for after, _ in self._term(self.rule.finds[number], state):
            yield from self._finds(number + 1, after)

    def _term(self, term: Any, state: State) -> Iterator[tuple[State, Fact]]:
        if isinstance(term, Var):
            if term.name in state.facts:
                yield state, state.facts[term.name]
                return
            facts = self.leaf_facts(term.name, state)
            leaves = (replace(state, facts={**state.facts, term.name: fact}) for fact in facts)
            for bound in self.choices(leaves, lambda after: self._may_hold(state, after)):
                yield bound, bound.facts[term.name]
        elif term.op is Project:
            yield from self._projected(term, state)
        else:
            for inner, facts in self._inputs(term, state):
                yield from self._applied(term, inner, facts)

    def _projected(self, term: Apply, state: State) -> Iterator[tuple[State, Fact]]:
        (index,) = (value for _, value in term.attrs)
        for after, fact in self._term(term.inputs[0], state):
            assert isinstance(fact.type, TupleType)
            for number, kind in enumerate(fact.type.items):
                if isinstance(index, AttrVar):
                    if after.attrs.get(index.name, number) == number:
                        attrs = {**after.attrs, index.name: number}
                        yield replace(after, attrs=attrs), Fact(kind)
                elif index == number:
                    yield after, Fact(kind)

    def _inputs(self, term: Apply, state: State) -> Iterator[tuple[State, list[Fact]]]:
        items: Sequence[Any] = term.inputs
        if len(items) == 1 and isinstance(items[0], Seq):
            seq = items[0]
            given = state.lengths.get(seq.name)
            for length in self.domain.lengths if given is None else (given,):
                bound = replace(state, lengths={**state.lengths, seq.name: length})
                yield from self._each([seq.item(i) for i in range(length)], bound, [])
            return
        yield from self._each(items, state, [])

    def _each(
        self, terms: Sequence[Any], state: State, facts: list[Fact]
    ) -> Iterator[tuple[State, list[Fact]]]:
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
        self, term: Apply, state: State, facts: list[Fact]
    ) -> Iterator[tuple[State, Fact]]:
        operators = self._operators(term, state, facts)
        for op, bound in self.choices(operators, lambda item: self._may_hold(state, item[1])):
            try:
                yield bound, infer_fact(op, facts)
            except TensaurError:
                continue

    def _operators(
        self, term: Apply, state: State, facts: list[Fact]
    ) -> Iterator[tuple[Operator, State]]:
        if isinstance(term.op, OpVar):
            if term.op.name in state.ops:
                yield state.ops[term.op.name], state
                return
            for cls in term.op.choices:
                if cls in (Input, Literal):
                    yield from self._leaves(cls, term.op.name, state)
                elif cls.accepts_arity(len(facts)):
                    for values in attribute_values(cls, facts):
                        op = cls(**values)
                        yield op, replace(state, ops={**state.ops, term.op.name: op})
            return
        given = dict(term.attrs)
        fixed = {name: v for name, v in given.items() if not isinstance(v, AttrVar)}
        variables = {name: v.name for name, v in given.items() if isinstance(v, AttrVar)}
        fixed |= {name: state.attrs[v] for name, v in variables.items() if v in state.attrs}
        for values in attribute_values(term.op, facts, fixed, frozenset(given)):
            bound = {variables[name]: values[name] for name in variables}
            yield term.op(**values), replace(state, attrs={**state.attrs, **bound})

    def _leaves(
        self, cls: type[Operator], name: str, state: State
    ) -> Iterator[tuple[Operator, State]]:
        for shape in self.domain.shapes:
            kind = TensorType(self.domain.dtype, shape)
            if cls is Literal:
                numbers = (np.arange(math.prod(shape)).reshape(shape) + 1) / 3
                op: Operator = Literal(Known.of(numbers, self.domain.dtype))
            else:
                op = Input(f"{name} {shape}", kind)
            yield op, replace(state, ops={**state.ops, name: op})

    def _may_hold(self, before: State, after: State) -> bool:
        """Ask the conditions whose last variable has just been bound."""
        old, new = before.names, after.names
        return all(
            _holds(condition, after.bindings)
            for condition, names in self._conditions
            if names <= new and not names <= old
        )

    def leaf_facts(self, name: str, state: State) -> Iterable[Fact]:
        """Return all that a leaf may be."""
        dtype = self._dtypes.get(name, self.domain.dtype)
        if name in self._dtypes and dtype is DType.INT64:
            for vector in _VECTORS:
                value = Known.of(np.array(vector, dtype=np.int64))
                yield Fact(value.type, value, True)
                if self.domain.known:
                    yield Fact(value.type)
            return
        numbers = self._numbers.get(name)
        ranks = self._ranks.get(name)
        for shape in self.domain.shapes:
            if ranks is not None and len(shape) not in ranks:
                continue
            if not numbers or self.domain.known:
                yield Fact(TensorType(dtype, shape))
            if self.domain.known:
                yield Fact(TensorType(dtype, shape), None, True)
            for number in numbers or ():
                value = Known.of(np.full(shape, number).astype(dtype.numpy), dtype)
                yield Fact(value.type, value, True)

    def _instance(self, state: State) -> Every | None:
        bindings = state.bindings
        if not all(_holds(condition, bindings) for condition in self.rule.when):
            return None
        try:
            finds = tuple(_plain(resolve(term, bindings)) for term in self.rule.finds)
            makes = tuple(_plain(resolve(term, bindings)) for term in self.rule.makes)
            facts = {**state.facts, **_input_facts(state.ops)}
            kind = tree_fact(finds[0], facts).type
            for tree in makes:
                tree_fact(tree, facts)
        except (NotApplicable, TensaurError):
            return None
        if isinstance(kind, TensorType) and kind.dtype not in self.rule.dtypes:
            return None
        leaves = {name: Leaf(fact.tensor, fact.value, fact) for name, fact in facts.items()}
        trees = tuple(tree for tree in finds if isinstance(tree, Tree))
        return Every(Instance(trees, leaves, replace(bindings, facts=facts), {}, kind), makes)


def _plain(tree: Tree | Var) -> Tree | Var:
    """Put variables for inputs, which cannot be computed."""
    if isinstance(tree, Var):
        return tree
    if isinstance(tree.op, Input):
        return Var(tree.op.name)
    return Tree(tree.op, tuple(map(_plain, tree.inputs)))


def _input_facts(operators: Mapping[str, Operator]) -> dict[str, Fact]:
    return {op.name: Fact(op.type) for op in operators.values() if isinstance(op, Input)}


def _holds(condition: Derived, bindings: Bindings) -> bool:
    try:
        return bool(evaluate_derived(condition, bindings))
    except (NotApplicable, TensaurError):
        return False


def _names(condition: Derived) -> frozenset[str]:
    kinds = (Var, AttrVar, OpVar, Seq)
    return frozenset(str(item) for item in subterms(condition) if isinstance(item, kinds))


# Leaves.

_VECTORS: tuple[Any, ...] = (
    0, 1, -1, [], [0], [1], [2], [-1], [3], [1, 1], [1, 2], [2, 1], [2, 2], [-1, 1], [1, -1], [0, -1],
    [0, 1], [1, 0], [4], [1, 4], [3, 1], [1, 3], [1, 1, 2], [2, 1, 1], [1, 2, 2], [-1, 1, 1], [2, 2, 2],
)  # fmt: skip
_INTEGER_INPUTS = {
    (ops.Gather, 1),
    (ops.Reshape, 1),
    (ops.Expand, 1),
    (ops.Tile, 1),
    (ops.OneHot, 0),
}
_BOOL_INPUTS = {(ops.Where, 0), (ops.Not, 0), (ops.And, 0), (ops.And, 1), (ops.Or, 0), (ops.Or, 1)}


def _input_dtypes(rule: Rule) -> dict[str, DType]:
    """Return the element types of those inputs that can have no other."""
    found: dict[str, DType] = {}
    for classes, place, item in _operands(rule):
        if all((cls, place) in _INTEGER_INPUTS for cls in classes):
            found[item.name] = DType.INT64
        truth = all((cls, place) in _BOOL_INPUTS for cls in classes)
        if truth or (classes == (ops.Cast,) and _is_truth(rule, item)):
            found[item.name] = DType.BOOL
    return found


def _operands(rule: Rule) -> Iterator[tuple[tuple[type[Operator], ...], int, Var]]:
    """Yield the variables that stand directly below operators, with the classes these can have."""
    for term in (item for root in rule.finds for item in subterms(root)):
        if isinstance(term, Apply):
            classes = term.op.choices if isinstance(term.op, OpVar) else (term.op,)
            for place, item in enumerate(term.inputs):
                if isinstance(item, Var):
                    yield classes, place, item


# What else is refused anyway; it only takes long to try.
_RANKS: dict[tuple[type[Operator], int], tuple[int, ...]] = {
    **{(cls, place): (3, 4) for cls in ops.CONVOLUTIONS for place in (0, 1)},
    **{(cls, 2): (1,) for cls in ops.CONVOLUTIONS},
    **{(ops.BatchNormalization, place): (1,) for place in (1, 2, 3, 4)},
    (ops.OneHot, 1): (1,),
    **{(ops.Clip, place): (0,) for place in (1, 2)},
    **{(ops.Gemm, place): (2,) for place in (0, 1)},
}


def _input_ranks(rule: Rule) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for classes, place, item in _operands(rule):
        ranks = [_RANKS.get((cls, place)) for cls in classes]
        if None not in ranks:
            found[item.name] = tuple({rank for each in ranks for rank in each or ()})
    return found


def _is_truth(rule: Rule, item: Var) -> bool:
    return any(item in c.args and DType.BOOL in c.args for c in rule.when)


_USUAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 0.75, 0.25, -0.5, -2.0)
_LOOK_AT_NUMBERS = frozenset({
    "filled", "near", "nonzero", "between", "is_in_order", "one_number", "is_power_of_two",
    "less_by_one", "less_a_half", "halved_exponent", "opposite_number", "rounded", "lowest_filled",
    "picked", "computed", "factor_of_rows", "places_of_factors", "is_identity_matrix",
    "is_identity_kernel", "nonzero_factors", "shape_of_factors",
})  # fmt: skip


def _numbers(rule: Rule, known: bool) -> dict[str, tuple[float, ...]]:
    """Return numbers to try for each variable whose elements the rule looks at, or may if `known`."""
    found: dict[str, tuple[float, ...]] = {}
    roots = [*rule.when, *rule.makes]
    for term in (item for root in roots for item in subterms(root)):
        if not isinstance(term, Derived):
            continue
        if known or term.function.__name__ in _LOOK_AT_NUMBERS:
            extra = tuple(i for i in term.args if isinstance(i, float))
            for item in (sub for arg in term.args for sub in subterms(arg)):
                if isinstance(item, Var):
                    others = found.get(item.name, _USUAL)
                    found[item.name] = tuple(dict.fromkeys((*others, *extra)))
    return found


# Attributes.

Values = dict[str, Any]


def attribute_values(
    cls: type[Operator],
    facts: Sequence[Fact],
    fixed: Values | None = None,
    named: frozenset[str] | None = None,
) -> Iterator[Values]:
    """Yield attribute values of a class for inputs; those not `named` keep their defaults."""
    fixed = fixed or {}
    names = [name for name in cls.field_names() if named is None or name in named]
    special = _SPECIAL.get(cls)
    if special is not None:
        drawn = special(facts, fixed) if set(fixed) != set(names) else iter([fixed])
    else:
        rank = _rank(facts)
        choices = [[fixed[name]] if name in fixed else _BY_NAME[name](rank) for name in names]
        drawn = (dict(zip(names, item, strict=True)) for item in itertools.product(*choices))
    for item in drawn:
        if all(item[name] == value for name, value in fixed.items()):
            yield item


def _rank(facts: Sequence[Fact]) -> int:
    return (facts[0].rank or 0) if facts else 0


def _axes(rank: int) -> list[Any]:
    subsets = [s for n in range(1, rank + 1) for s in itertools.combinations(range(rank), n)]
    return [None, *subsets, *((axis,) for axis in range(-rank, 0))]


def _spatial(values: Sequence[int]) -> Callable[[int], list[Any]]:
    def make(rank: int) -> list[Any]:
        count = max(rank - 2, 1)
        mixed = tuple(values[i % len(values)] for i in range(count))
        return list(dict.fromkeys([*((value,) * count for value in values), mixed]))

    return make


def _window_pads(rank: int) -> list[Any]:
    count = max(rank - 2, 1)
    ones, zeros = (1,) * count, (0,) * count
    return [(), zeros + zeros, ones + zeros, zeros + ones, ones + ones]


_BY_NAME: dict[str, Callable[[int], list[Any]]] = {
    "axis": lambda rank: list(range(-rank, rank)),
    "axes": _axes,
    "perm": lambda rank: list(itertools.permutations(range(rank))),
    "keepdims": lambda rank: [True, False],
    "strides": _spatial((1, 2)),
    "dilations": _spatial((1, 2)),
    "kernel": _spatial((1, 2)),
    "pads": _window_pads,
    "output_padding": _spatial((0,)),
    "group": lambda rank: [1, 2],
    "ceil_mode": lambda rank: [False, True],
    "count_include_pad": lambda rank: [False, True],
    "epsilon": lambda rank: [0.5, 1e-5],
    "alpha": lambda rank: [1.0, 0.25],
    "beta": lambda rank: [1.0, 0.5],
    "bias": lambda rank: [1.0],
    "size": lambda rank: [1, 2, 3],
    "trans_a": lambda rank: [False, True],
    "trans_b": lambda rank: [False, True],
    "depth": lambda rank: [1, 2],
    "blocksize": lambda rank: [1, 2],
    "mode": lambda rank: ["DCR", "CRD"],
    "approximate": lambda rank: ["none", "tanh"],
    "to": lambda rank: [DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.BOOL],
    "allowzero": lambda rank: [False, True],
    "start": lambda rank: [0, -1],
    "end": lambda rank: [None],
}


def _paddings(facts: Sequence[Fact], fixed: Values) -> Iterator[Values]:
    rank = _rank(facts)
    single = [tuple(n * (i == place) for i in range(2 * rank)) for place in range(2 * rank)
              for n in (0, 1, 2, -1)]  # fmt: skip
    space = [(0, 0, *(1,) * (rank - 2)) * 2] if rank > 2 else []
    for pads in dict.fromkeys([*single, *space, (1,) * (2 * rank)]):
        for mode in ("constant", "edge"):
            yield {"pads": pads, "mode": mode, "axes": None}


def _slices(facts: Sequence[Fact], fixed: Values) -> Iterator[Values]:
    rank = _rank(facts)
    for start, end, step in itertools.product((0, 1, -1), (0, 1, 2, -1, FAR, -FAR - 1), (1, 2, -1)):
        for axis in range(-rank, rank):
            yield {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": (step,)}
    for axes in itertools.permutations(range(rank), 2):
        yield {"starts": (0, 1), "ends": (1, FAR), "axes": axes, "steps": (1, 1)}


def _splits(facts: Sequence[Fact], fixed: Values) -> Iterator[Values]:
    shape = facts[0].tensor.static_shape or ()
    for axis in range(-len(shape), len(shape)):
        for count in (1, 2, 3, 4):
            for sizes in itertools.product(range(shape[axis] + 1), repeat=count):
                if sum(sizes) == shape[axis]:
                    yield {"axis": axis, "sizes": sizes}


_TARGETS: tuple[Shape, ...] = (
    (),
    (0,),
    (1,),
    (2,),
    (3,),
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (1, 2, 1),
)
_MOST_PLACES = 3


def _arrangements(facts: Sequence[Fact], fixed: Values) -> Iterator[Values]:
    """Yield every way to pick at most three elements, and some to pick four."""
    total = sum(math.prod(fact.tensor.static_shape or ()) for fact in facts)
    for shape in _TARGETS if "shape" not in fixed else [fixed["shape"]]:
        size = math.prod(shape)
        for places in itertools.product(range(ZERO, total), repeat=min(size, _MOST_PLACES)):
            yield {"shape": shape, "places": (*places, *places[::-1])[:size]}


_SPECIAL: dict[type[Operator], Callable[[Sequence[Fact], Values], Iterator[Values]]] = {
    ops.Slice: _slices,
    ops.Split: _splits,
    ops.Pad: _paddings,
    Arrange: _arrangements,
}
