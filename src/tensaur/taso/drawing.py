"""Instances of TASO's equations on which its own type rules probably hold: shapes that fit each other.

Verification draws instances of any rule, and so seldom ones of several convolutions with groups or with
different numbers of filters. Here operands are alike with few exceptions, and the rule's conditions decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from tensaur.egraph.signature import holds
from tensaur.errors import TypeMismatch
from tensaur.ir.rule import Rule
from tensaur.ir.term import Bindings, NotApplicable, Tree, evaluate_derived, resolve, tree_fact
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.synth.instances import Instance
from tensaur.synth.settle import Leaf
from tensaur.synth.trial import Application
from tensaur.taso.equation import Equation, Expression, Name, Operation, operations

_EXCEPTIONS = 0.15  # the share of dimensions that are drawn anew
_OWN_FILTERS = 0.4  # how often weights have numbers of filters of their own
_SIZES = (1, 1, 2, 2, 3, 4)
_KERNEL = (2, 3)  # where a convolution may have any
_MOST_ELEMENTS = 150  # of all inputs: exact arithmetic is slow

Shape = tuple[int, ...]


def drawn(
    rule: Rule, values: Mapping[str, Any], equation: Equation, seed: int, attempts: int
) -> Iterator[tuple[Instance, Application]]:
    """Yield instances on which a rule applies; `values` give the rule's attributes."""
    rng = Random(seed)
    shapes = _Shapes(equation, rng)
    for attempt in range(attempts):
        dtype = rng.choice((DType.FLOAT64, DType.FLOAT64, DType.FLOAT32))
        chosen = shapes.draw()
        if sum(map(math.prod, chosen.values())) > _MOST_ELEMENTS:
            continue
        kinds = {name: TensorType(dtype, shape) for name, shape in chosen.items()}
        leaves = {name: Leaf(kind, None, Fact(kind)) for name, kind in kinds.items()}
        try:
            found = _apply(rule, leaves, values, attempt)
        except (NotApplicable, TypeMismatch):
            continue
        if found is not None:
            yield found


def _apply(
    rule: Rule, leaves: Mapping[str, Leaf], values: Mapping[str, Any], attempt: int
) -> tuple[Instance, Application] | None:
    facts = {name: leaf.fact for name, leaf in leaves.items()}
    attributes: dict[str, Any] = {}
    bindings = Bindings(facts, attributes)
    for name, value in values.items():
        attributes[name] = evaluate_derived(value, bindings)
    if not all(holds(condition, bindings) for condition in rule.when):
        return None
    finds = tuple(resolve(term, bindings) for term in rule.finds)
    kinds = [tree_fact(tree, facts).type for tree in finds]
    makes = tuple(resolve(term, bindings) for term in rule.makes)
    trees = tuple(item for item in finds if isinstance(item, Tree))
    found = Instance(trees, leaves, bindings, {}, kinds[0])
    return found, Application(makes, tuple(tree_fact(tree, facts) for tree in makes), attempt)


class _Shapes:
    """Draws shapes for the inputs of an equation."""

    def __init__(self, equation: Equation, rng: Random) -> None:
        self._rng = rng
        every = operations((*equation.finds, *equation.makes))
        self._names = sorted(
            {item.name for each in every for item in each.inputs if isinstance(item, Name)}
        )
        self._convolutions = [item for item in every if item.kind == "conv"]
        self._ranks = sorted({item.rank for item in every if item.kind == "concat"})
        self._least = 2 if any(item.kind == "matmul" for item in every) else 0
        self._weights = {
            name: item for item in self._convolutions for name in _below(item.inputs[1])
        }

    def draw(self) -> dict[str, Shape]:
        """Return a shape for each input."""
        rng = self._rng
        if not self._convolutions:
            rank = rng.choice(self._ranks) if self._ranks else rng.randint(self._least, 4)
            base = [rng.choice(_SIZES) for _ in range(rank)]
            return {name: self._varied(base) for name in self._names}
        channels, groups = rng.choice((1, 2)), rng.choice((1, 1, 2, 3))
        data = [rng.choice((1, 1, 2)), channels * groups, rng.randint(1, 3), rng.randint(1, 3)]
        filters = groups * rng.choice((1, 2))
        own = rng.random() < _OWN_FILTERS
        shapes = {}
        for name in self._names:
            if name in self._weights:
                kernel = self._kernel(self._weights[name])
                count = groups * rng.choice((1, 2, 3)) if own else filters
                shapes[name] = (count, *self._varied([channels]), *kernel)
            else:
                shapes[name] = self._varied(data)
        return shapes

    def _kernel(self, convolution: Operation) -> Shape:
        kernel = None if convolution.window is None else convolution.window.kernel
        return kernel or (self._rng.choice(_KERNEL), self._rng.choice(_KERNEL))

    def _varied(self, base: list[int]) -> Shape:
        rng = self._rng
        return tuple(rng.choice(_SIZES) if rng.random() < _EXCEPTIONS else size for size in base)


def _below(item: Expression) -> Iterator[str]:
    if isinstance(item, Name):
        yield item.name
        return
    for entry in item.inputs:
        yield from _below(entry)
