"""Representative cases of a rule: what a proof is about, since a rule speaks of all ranks at once.

A case fixes the operators' attributes and the ranks; the elements of the leaves stay open, and where
the rule allows it their sizes too. Cases are chosen among the instances that `verify` draws, so that
they show together whatever these show: ranks, broadcasts, groups, paddings, operators.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensaur.errors import EmptySpace, TypeMismatch
from tensaur.ir.dims import symbol
from tensaur.ir.operator import Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import (
    Bindings,
    NotApplicable,
    Tree,
    Var,
    evaluate_derived,
    resolve,
    tree_fact,
)
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.synth.data import Kind, fill
from tensaur.synth.evaluation import Run
from tensaur.synth.instances import Instance
from tensaur.synth.trial import Application
from tensaur.synth.verify import applications

Applied = tuple[Instance, Application]

MOST = 16
DRAWS = 120
_FEW = 8  # instances for which it is worth to draw more often
_MORE = 20  # how much more often
_PATIENCE = 30  # instances without anything new after which no more are drawn
_SMALL, _LARGE = 64, 2000  # elements of all leaves: no longer small, not looked at


@dataclass(frozen=True, slots=True)
class Case:
    """One instance of a one-way rule without data: found and made trees over leaves of known types.

    `general` is the same case with symbols for sizes, if the rule applies without knowing them.
    """

    rule: str
    finds: tuple[Tree, ...]
    makes: tuple[Tree | Var, ...]
    facts: Mapping[str, Fact]
    traits: frozenset[str]
    general: Case | None = None


@dataclass(frozen=True, slots=True)
class _Drawn:
    traits: frozenset[str]
    instance: Instance
    makes: tuple[Tree | Var, ...]


def cases(
    rule: Rule,
    seed: int = 0,
    most: int = MOST,
    draws: int = DRAWS,
    given: Sequence[Applied] = (),
) -> tuple[Case, ...]:
    """Return at most `most` cases of a one-way rule, the fewest and smallest with all traits drawn.

    They are chosen among instances that are drawn and those that are given. A rule of which few
    instances are found is drawn more often.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is a value here
        found = [*_noted(given), *_draw(rule, seed, draws)]
        chosen = [_case(rule, item) for item in _covering(found, most)]
    return tuple(case for case in chosen if case is not None)


def _draw(rule: Rule, seed: int, draws: int) -> list[_Drawn]:
    """Draw until that shows nothing new for a while."""
    drawn: list[_Drawn] = []
    seen: set[str] = set()
    idle = 0
    for instance, application in applications(rule, seed, _MORE * draws):
        if instance.size > _LARGE:
            continue
        traits = frozenset(_traits(instance))
        idle = 0 if traits - seen else idle + 1
        seen |= traits
        drawn.append(_Drawn(traits, instance, application.makes))
        if idle == _PATIENCE or (application.attempt >= draws and len(drawn) >= _FEW):
            break
    return drawn


def _noted(given: Sequence[Applied]) -> list[_Drawn]:
    return [_Drawn(frozenset(_traits(found)), found, made.makes) for found, made in given]


def _covering(drawn: Sequence[_Drawn], most: int) -> Iterator[_Drawn]:
    """Choose one after the other what shows the most new traits for its size."""
    covered: set[str] = set()

    def worth(item: _Drawn) -> float:
        return len(item.traits - covered) / (1 + item.instance.size / _SMALL)

    for _ in range(min(most, len(drawn))):
        best = max(drawn, key=worth)
        if best.traits <= covered:
            return
        covered |= best.traits
        yield best


def _case(rule: Rule, drawn: _Drawn) -> Case | None:
    """Return the case of an instance, with the sizes that its leaves have; None if those do not fit."""
    instance, traits = drawn.instance, drawn.traits
    sized = {
        name: Fact(leaf.type, leaf.fact.value, leaf.fact.constant)
        for name, leaf in instance.leaves.items()
    }
    case = _resolved(rule, instance, sized, traits)
    if case is None:
        # What the rule makes without knowing the sizes is to be proved for these sizes all the same.
        case = Case(rule.name, instance.finds, drawn.makes, sized, traits)
    if not (_is_typed(case) and _has_value(instance)):
        return None
    for name, fact in sized.items():
        if fact.value is not None:
            # Elements that the rule need not know are not to be known to the proof either.
            unread = {**case.facts, name: replace(fact, value=None)}
            same = _resolved(rule, instance, unread, traits)
            case = same if same is not None and same.makes == case.makes else case
    without_sizes = {name: replace(fact, type=_opened(fact)) for name, fact in case.facts.items()}
    return replace(case, general=_resolved(rule, instance, without_sizes, traits))


def _resolved(
    rule: Rule, instance: Instance, facts: Mapping[str, Fact], traits: frozenset[str]
) -> Case | None:
    """Return the case with other facts of its leaves, None if the rule does not apply then."""
    bindings: Bindings = replace(instance.bindings, facts=facts)
    try:
        if not all(evaluate_derived(condition, bindings) for condition in rule.when):
            return None
        makes = tuple(resolve(term, bindings) for term in rule.makes)
    except (NotApplicable, TypeMismatch):
        return None
    case = Case(rule.name, instance.finds, makes, facts, traits)
    return case if _is_typed(case) else None


def _has_value(instance: Instance) -> bool:
    """Tell whether the found side has a value; the mean of nothing has none, whatever the data are."""
    rng = np.random.default_rng(0)
    data = {
        name: fill(Kind.ZEROS if leaf.type.dtype.is_integer else Kind.REALS, leaf.type, rng)
        if leaf.data is None or leaf.data.array is None
        else leaf.data.array
        for name, leaf in instance.leaves.items()
    }
    try:
        values = [Run(data).value(tree) for tree in instance.finds]
    except (ValueError, IndexError, ArithmeticError, EmptySpace):
        return False
    return not all(value.size and np.all(value != value) for value in values)


def _is_typed(case: Case) -> bool:
    try:
        for tree in (*case.finds, *case.makes):
            tree_fact(tree, case.facts)
    except TypeMismatch:
        return False
    return True


def _opened(fact: Fact) -> TensorType:
    """Put one symbol for every size above 1, the same for equal sizes."""
    kind = fact.tensor
    if fact.value is not None or kind.shape is None:
        return kind
    dims = (dim if dim in (0, 1) else symbol(f"n{dim}") for dim in kind.shape)
    return TensorType(kind.dtype, tuple(dims))


# Traits: what makes one case unlike another, as words that a report can show.


def _traits(instance: Instance) -> Iterator[str]:
    shapes = {name: leaf.type.static_shape or () for name, leaf in instance.leaves.items()}
    if any(0 in shape for shape in shapes.values()):
        yield "an empty leaf"  # which is easily proved, and shows nothing of what it has beside that
        return
    for name, leaf in instance.leaves.items():
        yield f"rank of {name}: {len(shapes[name])}"
        yield f"value of {name}: {'known' if leaf.fact.value is not None else 'open'}"
        yield f"element type: {_dtype_kind(leaf.type.dtype)}"
    for first, second in itertools.combinations(sorted(shapes), 2):
        yield f"shapes of {first} and {second}: {relation(shapes[first], shapes[second])}"
        ranks = (len(shapes[first]), len(shapes[second]))
        if min(ranks) < 2:
            yield f"ranks of {first} and {second}: {' and '.join(map(_rank, ranks))}"
    for tree in instance.finds:
        yield from _operator_traits(tree)


def _rank(rank: int) -> str:
    """Return a rank as far as it matters beside a number or a vector."""
    return str(rank) if rank < 2 else "more"


def _operator_traits(tree: Tree | Var) -> Iterator[str]:
    if isinstance(tree, Var):
        return
    name = type(tree.op).__name__
    yield name
    for field in tree.op.field_names():
        yield f"{name} {field}: {_attribute_kind(tree.op, field)}"
    for item in tree.inputs:
        yield from _operator_traits(item)


def _attribute_kind(op: Operator, field: str) -> str:
    value: Any = getattr(op, field)
    if not isinstance(value, tuple):
        return str(value)
    if not value:
        return "none"
    return f"all {value[0]}" if len(set(value)) == 1 else f"{len(value)} items"


def _dtype_kind(dtype: DType) -> str:
    return "float" if dtype.is_float else "integer" if dtype.is_integer else dtype.value


def relation(first: tuple[int, ...], second: tuple[int, ...]) -> str:
    """Return how two shapes lie to each other as operands: equal, broadcast or unlike."""
    if first == second:
        return "equal"
    short, long = sorted((first, second), key=len)
    tail = long[len(long) - len(short) :]
    if all(1 in pair or pair[0] == pair[1] for pair in zip(short, tail, strict=True)):
        return "ranks differ" if len(short) < len(long) else "broadcast"
    return "unlike"
