"""Prove or refute a rule on samples: many shapes, broadcasts, types and kinds of data.

A rule is decided on what it may see (symbolic or unknown dimensions, constants without values) and then
computed on concrete data that agree with it, so a condition that trusts an unknown dimension is caught
as well as a wrong equation. A rule of which no instance is found is not verified.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tensaur.ir.rule import Rule
from tensaur.ir.types import DType
from tensaur.synth.counterexample import Counterexample
from tensaur.synth.tiers import Tier
from tensaur.synth.trial import Tested, Trial, applications

__all__ = ["TRIALS", "Coverage", "Verification", "applications", "directions", "verify"]

# Instances for each direction; those in corners come on top.
TRIALS = 50


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one direction of a rule was tried on: every instance on which both sides agreed."""

    direction: str
    tested: tuple[Tested, ...]

    @property
    def instances(self) -> int:
        """Return the number of instances."""
        return len(self.tested)

    @property
    def symbolic(self) -> int:
        """Return on how many instances the rule saw symbolic dimensions."""
        return sum(item.symbolic for item in self.tested)

    @property
    def tiers(self) -> Mapping[Tier, int]:
        """Return how many instances each tier compared."""
        return Counter(tier for item in self.tested for tier in item.tiers)

    @property
    def error(self) -> float | None:
        """Return the largest error bound of an instance in the prime field, None without such ones."""
        return max((item.error for item in self.tested if item.error is not None), default=None)

    @property
    def ranks(self) -> frozenset[int]:
        """Return the ranks of the leaves."""
        return frozenset(len(kind.shape or ()) for item in self.tested for kind in item.leaves)

    @property
    def dtypes(self) -> frozenset[DType]:
        """Return the element types of the leaves."""
        return frozenset(kind.dtype for item in self.tested for kind in item.leaves)

    @property
    def broadcasts(self) -> frozenset[str]:
        """Return how the shapes of two leaves of one instance were related."""
        pairs = (
            (first.static_shape or (), second.static_shape or ())
            for item in self.tested
            for first in item.leaves
            for second in item.leaves
        )
        return frozenset(_relation(*pair) for pair in pairs)

    def __str__(self) -> str:
        tiers = [f"{count} in {tier.value}" for tier, count in self.tiers.items()]
        text = f"{self.direction}: {self.instances} instances ({', '.join(tiers)})"
        return f"{text}, error of one below {self.error:.0e}" if self.error else text


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
        tried = "; ".join(str(item) for item in self.directions)
        return f"{'verified' if self.verified else 'no instance'}: {tried}"


def verify(rule: Rule, seed: int = 0, trials: int = TRIALS, examples: int = 12) -> Verification:
    """Try a rule, in each of its directions, on `trials` random instances.

    A wrong rule is shown by the simplest of some `examples`; with 1, the first one will do.
    """
    coverages: list[Coverage] = []
    for one_way in directions(rule):
        trial = Trial(one_way, seed, examples)
        trial.run(trials)
        coverages.append(Coverage(one_way.name, tuple(trial.tested)))
        if trial.failures:
            return Verification(rule.name, tuple(coverages), trial.counterexample())
    return Verification(rule.name, tuple(coverages), None)


def directions(rule: Rule) -> tuple[Rule, ...]:
    """Return the one-way rules that a rule stands for; a group rule stands for two and three members."""
    if rule.group is None:
        return rule.directed()
    return tuple(replace(rule.instance(n), name=f"{rule.name}({n})") for n in (2, 3))


def _relation(first: Sequence[int], second: Sequence[int]) -> str:
    if first == second:
        return "equal"
    if len(first) != len(second):
        return "scalar" if not first or not second else "ranks differ"
    return "stretched" if 1 in first or 1 in second else "different"
