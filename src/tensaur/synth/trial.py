"""Try one direction of a rule on random instances: each in its own arithmetic and in the exact tiers."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np

from tensaur.errors import TypeMismatch
from tensaur.ir.rule import Rule
from tensaur.ir.term import NotApplicable, Tree, Var, resolve, tree_fact
from tensaur.ir.types import Fact, TensorType, Type
from tensaur.synth.aims import Aim
from tensaur.synth.counterexample import Counterexample
from tensaur.synth.instances import SMALL, USUAL, Instance, InstanceSampler, Sizes
from tensaur.synth.own import OwnArithmetic
from tensaur.synth.shrink import shrink
from tensaur.synth.tiers import Outcome, Tier, decide

ATTEMPTS_PER_TRIAL = 40  # drawn instances for one on which the rule applies, before less will do
FEW_INSTANCES = 8  # what will do then
MOST_ATTEMPTS = 20_000
_SMALL_ATTEMPTS = 150
_TRIALS_PER_EMPTY = 1  # trials for one further draw with axes of size 0
_OF_ONE_RANK = 10  # instances whose leaves have the same ranks, after which another counts less
_FURTHER = 0.7
_TRIVIAL = 0.25  # what an instance counts whose leaves have no more than one element each
# What another instance of the same operators and types counts; further ones are not looked at.
_WORTH = (1.0, 0.3, 0.1)


@dataclass(frozen=True, slots=True)
class Tested:
    """One instance on which both sides agreed: the leaves' types, the tiers, and their error bound.

    `symbolic` says that the rule saw symbols for some dimensions. `error` bounds the probability that
    two different functions agree like this in the prime field.
    """

    leaves: tuple[TensorType, ...]
    symbolic: bool
    tiers: tuple[Tier, ...]
    error: float | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An instance on which the two sides differ."""

    instance: Instance
    application: Application
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Application:
    """What a rule makes of an instance: one tree for each found term, with the facts inferred.

    `attempt` counts the draws before this instance.
    """

    makes: tuple[Tree | Var, ...]
    facts: tuple[Fact, ...]
    attempt: int


def applications(
    rule: Rule, seed: int, attempts: int, sizes: Sizes = USUAL
) -> Iterator[tuple[Instance, Application]]:
    """Yield instances of a one-way rule on which it applies, with what it makes there."""
    yield from _applications(_sampler(rule, seed, sizes), attempts)


def _sampler(rule: Rule, seed: int, sizes: Sizes = USUAL) -> InstanceSampler:
    return InstanceSampler(rule, Random(f"{rule.name}:{seed}"), sizes=sizes)


def _applications(
    sampler: InstanceSampler, attempts: int
) -> Iterator[tuple[Instance, Application]]:
    for attempt in range(attempts):
        for instance in sampler.draw():
            application = _apply(sampler.rule, instance, attempt)
            if application is not None:
                sampler.keep()
                yield instance, application
                break


def _apply(rule: Rule, instance: Instance, attempt: int) -> Application | None:
    bindings = instance.bindings
    try:
        makes = tuple(resolve(term, bindings) for term in rule.makes)
        facts = tuple(tree_fact(tree, bindings.facts) for tree in makes)
    except (NotApplicable, TypeMismatch):
        return None
    return Application(makes, facts, attempt)


class Trial:
    """One direction of a rule under test; every instance passes through `consider`.

    `examples` is how many failures to look at for the simplest one; more than one are also sought
    among small instances.
    """

    def __init__(self, rule: Rule, seed: int, examples: int) -> None:
        self.rule = rule
        self._examples = examples
        self.failures: list[Failure] = []
        self.tested: list[Tested] = []
        self._telling: list[Instance] = []
        self._seed = seed
        self._random = np.random.default_rng(seed)

    def run(self, trials: int) -> None:
        """Draw until enough instances, failures or attempts; then look for smaller failures."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing is a value here
            self._run(trials)
            if self.failures and self._examples > 1:
                self._run_small()

    def _run_small(self) -> None:
        for instance, application in applications(self.rule, self._seed, _SMALL_ATTEMPTS, SMALL):
            self.consider(instance, application)
            readable = any(not _complexity(item)[0] for item in self.failures)
            if len(self.failures) >= 2 * self._examples and readable:
                break

    def _run(self, trials: int) -> None:
        seen: Counter[Hashable] = Counter()
        worth = 0.0
        sampler = _sampler(self.rule, self._seed)
        for instance, application in _applications(sampler, MOST_ATTEMPTS):
            form = (instance.finds, tuple(leaf.type for leaf in instance.leaves.values()))
            tells = seen[form] >= len(_WORTH) or self.consider(instance, application)
            if tells:
                worth += _WORTH[min(seen[form], len(_WORTH) - 1)] * _weight(instance, seen)
            seen[form] += tells
            late = application.attempt > trials * ATTEMPTS_PER_TRIAL
            wanted = FEW_INSTANCES if late else trials
            if worth >= wanted or len(self.failures) >= self._examples:
                break
        if not self.failures:
            self._run_aims(sampler, trials)

    def _run_aims(self, sampler: InstanceSampler, trials: int) -> None:
        """Try the corners that were not reached yet, as far as they can be reached."""
        for aim in sampler.aims(empty=trials // _TRIALS_PER_EMPTY):
            met = 0 if aim.anew else sum(map(aim.met, self._telling))
            for instance, application in islice(
                self._reached(sampler, aim), max(aim.wanted - met, 0)
            ):
                self.consider(instance, application)
                if len(self.failures) >= self._examples:
                    return

    def _reached(
        self, sampler: InstanceSampler, aim: Aim
    ) -> Iterator[tuple[Instance, Application]]:
        """Yield instances in a corner on which the rule applies."""
        for _ in range(aim.attempts):
            for instance in sampler.draw(aim):
                application = _apply(self.rule, instance, 0) if aim.met(instance) else None
                if application is not None:
                    yield instance, application
                    break

    def consider(self, instance: Instance, application: Application) -> bool:
        """Compare both sides in every tier that can, and note a difference or that there is none.

        False if no data were admissible, or no element of the found side had a value.
        """
        own = OwnArithmetic(self.rule.exactness, instance, application.makes, self._random).run()
        if own is None:
            return False
        if own.difference is not None:
            self.failures.append(Failure(instance, application, own))
            return True
        outcome = decide(instance.finds, application.makes, instance.leaves, self._random)
        if outcome is not None and outcome.difference is not None:
            self.failures.append(Failure(instance, application, outcome))
            return True
        if not own.telling and outcome is None:
            return False
        if instance.size > len(instance.leaves) and not _is_empty(instance.result):
            self._telling.append(instance)
        leaves = tuple(leaf.type for leaf in instance.leaves.values())
        if outcome is None:
            self.tested.append(Tested(leaves, bool(instance.sizes), (Tier.OWN,), None))
        else:
            tiers = (outcome.tier, Tier.OWN)
            self.tested.append(Tested(leaves, bool(instance.sizes), tiers, outcome.error))
        return True

    def counterexample(self) -> Counterexample | None:
        """Return the failure that is easiest to read, its data made simple; None without failures."""
        if not self.failures:
            return None
        failure = min(self.failures, key=_complexity)
        instance, makes = failure.instance, failure.application.makes
        own = OwnArithmetic(self.rule.exactness, instance, makes, self._random)
        outcome = shrink(failure.outcome, instance.leaves, own.compare, self._random)
        assert outcome.difference is not None
        return Counterexample(
            self.rule.name,
            instance.finds,
            makes,
            instance.leaves,
            outcome.data,
            outcome.expected,
            outcome.actual,
            outcome.difference,
        )


def _is_empty(kind: Type) -> bool:
    return isinstance(kind, TensorType) and 0 in (kind.static_shape or ())


def _weight(instance: Instance, seen: Counter[Hashable]) -> float:
    """Return what an instance counts, less if it is trivial or many had the same ranks."""
    ranks = tuple(leaf.type.rank for leaf in instance.leaves.values())
    seen[ranks] += 1
    weight = 1.0 if seen[ranks] <= _OF_ONE_RANK else _FURTHER
    return weight if instance.size > len(instance.leaves) else weight * _TRIVIAL


def _complexity(failure: Failure) -> tuple[bool, bool, int]:
    """Order failures: a wrong element before a wrong shape, some elements before none, then by size."""
    difference, size = failure.outcome.difference, failure.instance.size
    return (difference is None or difference.index is None, size == 0, size)
