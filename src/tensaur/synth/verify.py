"""Prove or refute a rule on samples: many shapes, broadcasts, types and kinds of data.

A rule is decided on what it may see (symbolic or unknown dimensions, constants without values) and then
computed on concrete data that agree with it, so a condition that trusts an unknown dimension is caught
as well as a wrong equation. A rule of which no instance is found is not verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.dims import evaluate as evaluate_dim
from tensaur.ir.dims import symbols
from tensaur.ir.operator import Absent, Project, evaluate
from tensaur.ir.rule import EXACT, FAST, ROUNDING, Rule
from tensaur.ir.term import NotApplicable, Tree, Var, resolve, tree_fact
from tensaur.ir.types import Array, DType, Fact, TensorType, meet
from tensaur.synth.counterexample import Counterexample, Difference, array_text
from tensaur.synth.data import Kind, far, fill, unlike
from tensaur.synth.instances import Instance, InstanceSampler

ATTEMPTS_PER_TRIAL = 60  # drawn instances for one on which the rule applies, before less will do
FEW_INSTANCES = 8  # what will do then
MOST_ATTEMPTS = 20_000
_FAILURES = 12  # how many counterexamples to look at for the smallest

_KINDS = {
    EXACT: (Kind.INTEGERS, Kind.REALS, Kind.ZEROS, Kind.SPECIAL, Kind.SPECIAL),
    ROUNDING: (Kind.INTEGERS, Kind.REALS, Kind.SMALL, Kind.LARGE, Kind.ZEROS),
    FAST: (Kind.INTEGERS, Kind.REALS, Kind.SMALL, Kind.LARGE, Kind.ZEROS),
}


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one direction of a rule was tried on."""

    direction: str
    instances: int
    symbolic: int
    ranks: frozenset[int]
    dtypes: frozenset[DType]
    broadcasts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on a rule, and what it rests on."""

    rule: str
    directions: tuple[Coverage, ...]
    counterexample: Counterexample | None

    @property
    def verified(self) -> bool:
        """Tell whether every direction was tried on some instance and none was refuted."""
        return self.counterexample is None and all(item.instances for item in self.directions)

    @property
    def instances(self) -> int:
        """Return the number of instances of the direction that was tried least."""
        return min(item.instances for item in self.directions)

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"refuted: {self.counterexample}"
        tried = ", ".join(f"{item.direction}: {item.instances}" for item in self.directions)
        return f"{'verified' if self.verified else 'no instance'} ({tried})"


def verify(rule: Rule, seed: int = 0, trials: int = 60) -> Verification:
    """Try a rule, in each of its directions, on `trials` random instances."""
    coverages: list[Coverage] = []
    for one_way in directions(rule):
        trial = _Trial(one_way, seed)
        coverages.append(trial.run(trials))
        if trial.failures:
            smallest = min(trial.failures, key=lambda item: item.size)
            return Verification(rule.name, tuple(coverages), smallest)
    return Verification(rule.name, tuple(coverages), None)


def directions(rule: Rule) -> tuple[Rule, ...]:
    """Return the one-way rules that a rule stands for; a group rule stands for two and three members."""
    if rule.group is None:
        return rule.directed()
    return tuple(replace(rule.instance(n), name=f"{rule.name}({n})") for n in (2, 3))


def applications(rule: Rule, seed: int, attempts: int) -> Iterator[tuple[Instance, Application]]:
    """Yield instances of a one-way rule on which it applies, with what it makes there."""
    sampler = InstanceSampler(rule, Random(f"{rule.name}:{seed}"))
    for attempt in range(attempts):
        for instance in sampler.draw():
            application = _apply(rule, instance, attempt)
            if application is not None:
                yield instance, application
                break


@dataclass(frozen=True, slots=True)
class Application:
    """What a rule makes of an instance: one tree for each found term, with the facts inferred.

    `attempt` counts the draws before this instance.
    """

    makes: tuple[Tree | Var, ...]
    facts: tuple[Fact, ...]
    attempt: int


def _apply(rule: Rule, instance: Instance, attempt: int) -> Application | None:
    bindings = instance.bindings
    try:
        makes = tuple(resolve(term, bindings) for term in rule.makes)
        facts = tuple(tree_fact(tree, bindings.facts) for tree in makes)
    except (NotApplicable, TypeMismatch):
        return None
    return Application(makes, facts, attempt)


class _Trial:
    """One direction of a rule under test; every instance passes through `consider`."""

    def __init__(self, rule: Rule, seed: int) -> None:
        self.rule = rule
        self.failures: list[Counterexample] = []
        self._seed = seed
        self._random = np.random.default_rng(seed)
        self._instances = 0
        self._symbolic = 0
        self._ranks: set[int] = set()
        self._dtypes: set[DType] = set()
        self._broadcasts: set[str] = set()

    def run(self, trials: int) -> Coverage:
        """Draw until enough instances, failures or attempts."""
        for instance, application in applications(self.rule, self._seed, MOST_ATTEMPTS):
            self.consider(instance, application)
            late = application.attempt > trials * ATTEMPTS_PER_TRIAL
            wanted = FEW_INSTANCES if late else trials
            if self._instances >= wanted or len(self.failures) >= _FAILURES:
                break
        return Coverage(
            self.rule.name,
            self._instances,
            self._symbolic,
            frozenset(self._ranks),
            frozenset(self._dtypes),
            frozenset(self._broadcasts),
        )

    def consider(self, instance: Instance, application: Application) -> None:
        """Compute both sides on several data sets and note a difference."""
        ran = False
        for kind in self._kinds(instance):
            leaves = self._data(instance, kind)
            try:
                found = [_Run(leaves).value(tree) for tree in instance.finds]
            except (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError):
                continue  # the data are not admissible, such as an index out of range
            ran = True
            found_wrong = self._judge(instance, application, leaves, found)
            if found_wrong is not None:
                self.failures.append(found_wrong)
                break
        if ran:
            self._note(instance)

    def _kinds(self, instance: Instance) -> Sequence[Kind]:
        kinds: Sequence[Kind] = _KINDS[self.rule.exactness]
        first = tree_fact(instance.finds[0], instance.bindings.facts)
        if first.dtype.is_integer:
            kinds = (Kind.INTEGERS, Kind.ZEROS, Kind.SPECIAL)
        elif self.rule.exactness is not EXACT and first.dtype is DType.FLOAT32:
            # Underflow and cancellation there are not what equality over the reals is about.
            kinds = (Kind.INTEGERS, Kind.REALS, Kind.ZEROS)
        picked = self._random.choice(len(kinds), size=min(3, len(kinds)), replace=False)
        return [kinds[i] for i in picked]

    def _data(self, instance: Instance, kind: Kind) -> dict[str, Array]:
        data = {}
        for name, leaf in instance.leaves.items():
            given = None if leaf.data is None else leaf.data.array
            data[name] = fill(kind, leaf.type, self._random) if given is None else given
        return data

    def _judge(
        self,
        instance: Instance,
        application: Application,
        leaves: Mapping[str, Array],
        found: Sequence[Array],
    ) -> Counterexample | None:
        """Compute the made side and compare."""
        run = _Run(leaves)
        made: list[Array] = []
        difference = None
        for number, tree in enumerate(application.makes):
            try:
                made.append(run.value(tree))
            except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
                difference = Difference(number, f"the right side fails: {error}")
                break
            difference = self._difference(instance, application, leaves, found[number], made)
            if difference is not None:
                break
        if difference is None:
            return None
        return Counterexample(
            self.rule.name,
            instance.finds,
            application.makes,
            instance.leaves,
            leaves,
            tuple(found),
            tuple(made),
            difference,
        )

    def _difference(
        self,
        instance: Instance,
        application: Application,
        leaves: Mapping[str, Array],
        expected: Array,
        made: Sequence[Array],
    ) -> Difference | None:
        number = len(made) - 1
        source, value = instance.finds[number], made[number]
        seen = tree_fact(source, instance.bindings.facts)
        reason = _type_difference(seen, application.facts[number], value, instance.sizes)
        if reason is None and (expected.shape, expected.dtype) != (value.shape, value.dtype):
            reason = f"{array_text(expected, limit=12)} is not {array_text(value, limit=12)}"
        if reason is not None:
            return Difference(number, reason)
        places = np.argwhere(self._differing(expected, value, leaves, source))
        if not len(places):
            return None
        reason = f"{array_text(expected, limit=12)} is not {array_text(value, limit=12)}"
        return Difference(number, reason, tuple(int(i) for i in places[0]))

    def _differing(
        self, expected: Array, made: Array, leaves: Mapping[str, Array], source: Tree
    ) -> Array:
        if self.rule.exactness is EXACT:
            return unlike(expected, made)
        run = _Run(leaves)
        run.value(source)
        return far(expected, made, run.scale, self.rule.exactness is FAST)

    def _note(self, instance: Instance) -> None:
        self._instances += 1
        self._symbolic += bool(instance.sizes)
        shapes = [leaf.type.static_shape or () for leaf in instance.leaves.values()]
        self._ranks.update(len(shape) for shape in shapes)
        self._dtypes.update(leaf.type.dtype for leaf in instance.leaves.values())
        for first in shapes:
            self._broadcasts.update(_relation(first, second) for second in shapes)


class _Run:
    """Computes trees on given leaves, remembering equal subtrees and the largest magnitude met."""

    def __init__(self, leaves: Mapping[str, Array]) -> None:
        self.leaves = leaves
        self.scale = 1.0
        self._values: dict[Tree, Any] = {}

    def value(self, tree: Tree | Var) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, Var):
            self._look(self.leaves[tree.name])
            return self.leaves[tree.name]
        if isinstance(tree.op, Absent):
            return None
        value = self._values.get(tree)
        if value is None:
            inputs = [self.value(item) for item in tree.inputs]
            value = evaluate(tree.op, inputs)
            if isinstance(value, tuple):
                value = tuple(np.ascontiguousarray(item).reshape(item.shape) for item in value)
            elif not isinstance(tree.op, Project):
                value = np.ascontiguousarray(value).reshape(np.shape(value))
            self._values[tree] = value
            self._look(value)
        return value

    def _look(self, value: Any) -> None:
        if isinstance(value, tuple) or value.dtype.kind not in "f" or not value.size:
            return
        finite = value[np.isfinite(value)]
        if finite.size:
            self.scale = max(self.scale, float(np.max(np.abs(finite))))


def _type_difference(found: Fact, made: Fact, value: Array, sizes: Mapping[str, int]) -> str | None:
    try:
        meet(found, made)
    except ValueError as error:
        return str(error)
    kind = made.type
    if not isinstance(kind, TensorType):
        return f"the right side is a {kind}"
    if kind.shape is None:
        return None
    for dim, size in zip(kind.shape, value.shape, strict=False):
        known = not any(name.startswith("?") for name in symbols(dim))
        if known and evaluate_dim(dim, sizes) != size:
            return f"inferred {kind}, but the shape is {list(value.shape)}"
    return None if len(kind.shape) == value.ndim else f"inferred {kind}, but got {value.shape}"


def _relation(first: Sequence[int], second: Sequence[int]) -> str:
    if first == second:
        return "equal"
    if len(first) != len(second):
        return "scalar" if not first or not second else "ranks differ"
    return "stretched" if 1 in first or 1 in second else "different"
