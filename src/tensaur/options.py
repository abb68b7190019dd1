"""What a user can ask of `optimize`, with the defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, get_args

from tensaur.cost.objective import LIMITS, SIZE, Objective, objective
from tensaur.errors import UsageError
from tensaur.ir.rule import Exactness, Rule

Extractor = Literal[
    "ilp", "dag", "tree", "ilp-highs", "ilp-cpsat", "ilp-real", "ilp-integer", "ilp-acyclic"
]
EXTRACTORS: tuple[Extractor, ...] = get_args(Extractor)
CYCLE_FILTERS = ("efficient", "vanilla", "none")
LEAST = {"seconds": 0, "nodes": 1, "iterations": 0, "multi": 0, "threads": 1, "seed": 0}
# Many more threads than processors only stand in each other's way, for minutes a session.
MOST_THREADS = 64
MATHS = {"exact": Exactness.EXACT, "rounding": Exactness.ROUNDING, "fast": Exactness.FAST}


@dataclass(frozen=True, slots=True)
class Options:
    """All settings of one optimisation.

    `cost` is a metric or a weighted sum of some (``latency + 0.1*bytes``), a `CostModel`, or a function of
    an operator, its inputs' facts and its output's that returns a number >= 0.

    `seconds` bounds the whole run (measuring included), `nodes` the e-nodes, `iterations` the rounds of
    exploration, `multi` the rounds in which multi-pattern rules run. `max_growth` is in bytes, None for
    the greater of 1 % and 1 MiB. `limits` are bounds on metrics (peak_memory, size, flops, bytes, launches)
    above which the best candidates are dropped; no better one is searched for. `sizes` gives representative sizes of symbolic dimensions. `rules` are
    added to the library; `trusted` names those of them that nothing has verified. `gate` False skips
    comparing and timing (for tests of the rewriting alone).
    """

    cost: Any = "latency"
    seconds: float = 60.0
    nodes: int = 20_000
    iterations: int = 40
    multi: int = 1
    extract: Extractor = "ilp"
    cycle_filter: str = "efficient"
    math: str = "rounding"
    max_growth: int | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    threads: int = 1
    sizes: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, Any] | None = None
    rules: Sequence[Rule] | None = None
    trusted: frozenset[str] = frozenset()
    seed: int = 0
    gate: bool = True
    store: Path | None = None

    def __post_init__(self) -> None:
        objective(self.cost)
        _one_of("extract", self.extract, EXTRACTORS)
        _one_of("cycle_filter", self.cycle_filter, CYCLE_FILTERS)
        _one_of("math", self.math, tuple(MATHS))
        for name, least in LEAST.items():
            value = getattr(self, name)
            _number(name, value, Real if name == "seconds" else Integral)
            if not value >= least:
                raise UsageError(f"{name}: {value} is below {least}")
        most = max(MOST_THREADS, os.cpu_count() or 1)
        if self.threads > most:
            raise UsageError(f"threads: {self.threads} is above {most}")
        if self.max_growth is not None and _number("max_growth", self.max_growth) < 0:
            raise UsageError(f"max_growth: {self.max_growth} is negative")
        if not all(isinstance(rule, Rule) for rule in self.rules or ()):
            raise UsageError(f"rules: {self.rules!r} are not all rules")
        object.__setattr__(self, "sizes", _sizes(self.sizes))
        object.__setattr__(self, "limits", _limits(self.limits))

    @property
    def objective(self) -> Objective:
        """Return what is to be made small."""
        return objective(self.cost)

    def growth_budget(self, original_nbytes: int) -> int:
        """Return how many bytes the constants of the file may grow by, below 0 if they have to shrink."""
        grown = max(original_nbytes // 100, 1 << 20)
        budget = grown if self.max_growth is None else self.max_growth
        return min(budget, self.limits.get(SIZE, original_nbytes + budget) - original_nbytes)


def _number(name: str, value: Any, kind: type = Integral) -> Any:
    if not isinstance(value, kind):  # NumPy's numbers are some
        raise UsageError(f"{name}: {value!r} is not a {'whole ' if kind is Integral else ''}number")
    return value


def _sizes(given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise UsageError(f"sizes: {given!r} is not a mapping of names to sizes")
    for name, size in given.items():
        if _number(f"size of {name}", size) < 1:
            raise UsageError(f"size of {name}: {size} is below 1")
    return {name: int(size) for name, size in given.items()}


def _limits(given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping):
        raise UsageError(f"limits: {given!r} is not a mapping of metrics to numbers")
    for name, most in given.items():
        _one_of("limit", name, LIMITS)
        if not _number(f"limit of {name}", most, Real) >= 0:
            raise UsageError(f"limit of {name}: {most} is below 0")
        if most == math.inf:
            raise UsageError(f"limit of {name}: {most} is no limit")
    return {name: int(most) for name, most in given.items()}


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name}: {value!r} is not one of {', '.join(allowed)}")
