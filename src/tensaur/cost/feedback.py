"""What running whole models teaches about prices: factors by fusion context, shrunk to the isolated price.

An operator costs something else inside a model than alone: what it reads was just written, its layout
may be kept, the runtime's threads are warm. How much, depends on what it is fused with and on its
neighbours; correcting prices by operator alone makes extraction oscillate. So each observation has a
path, from the general to the particular: kind of the kernel, its exact signature, its neighbours. Every
level explains what the levels above left over, as far as there are observations enough: the mean of n
log-ratios is taken times n / (n + strength), as for a normal prior around no effect (the James-Stein
kind of estimator).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

Path = Sequence[Hashable]

# Observations count in proportion to their time up to this: what is short is noisy, and matters little.
_FULL_SECONDS = 20e-6


@dataclass(frozen=True, slots=True)
class _Observation:
    path: tuple[Hashable, ...]
    log_ratio: float
    weight: float


@dataclass
class Feedback:
    """Factors from isolated prices to those inside models.

    `strength` is the number of observations that a group of them needs for half of its mean to count.
    """

    strength: float = 1.0
    _observations: list[_Observation] = field(default_factory=list)
    _effects: dict[tuple[Hashable, ...], float] | None = None

    def observe(self, path: Path, isolated: float, seen: float) -> None:
        """Note that what costs `isolated` seconds alone took `seen` seconds inside a model."""
        if isolated > 0 and seen > 0:
            weight = min(seen / _FULL_SECONDS, 1.0)
            self._observations.append(_Observation(tuple(path), math.log(seen / isolated), weight))
            self._effects = None

    def factor(self, path: Path) -> float:
        """Return what to multiply the isolated price with; a short path asks for the general case."""
        if self._effects is None:
            self._effects = self._fitted()
        path = tuple(path)
        known = (self._effects.get(path[:level], 0.0) for level in range(len(path) + 1))
        return math.exp(sum(known))

    def _fitted(self) -> dict[tuple[Hashable, ...], float]:
        left = [item.log_ratio for item in self._observations]
        effects: dict[tuple[Hashable, ...], float] = {}
        deepest = max((len(item.path) for item in self._observations), default=0)
        for level in range(deepest + 1):
            sums: defaultdict[tuple[Hashable, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
            for item, rest in zip(self._observations, left, strict=True):
                if len(item.path) >= level:
                    group = sums[item.path[:level]]
                    group[0] += item.weight * rest
                    group[1] += item.weight
            found = {key: total / (count + self.strength) for key, (total, count) in sums.items()}
            left = [
                rest - found.get(item.path[:level], 0.0) if len(item.path) >= level else rest
                for item, rest in zip(self._observations, left, strict=True)
            ]
            effects |= found
        return effects
