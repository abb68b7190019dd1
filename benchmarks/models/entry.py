"""What a benchmark needs to know of a model: its name, how to get the file, and realistic inputs.

Does not run anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Feeds = Mapping[str, Any]
Draw = Callable[[np.random.Generator], Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the benchmark.

    `place` puts the model at the path it is given (or returns where it already lies) and returns the
    path. `inputs` draw one value for each model input. `sizes` are the symbolic dimensions that the
    file names, at the sizes of these inputs. `extra` models are run on request only.
    """

    name: str
    group: str
    place: Callable[[Path], Path]
    inputs: Mapping[str, Draw]
    sizes: Mapping[str, int] = field(default_factory=dict)
    extra: bool = False

    def feeds(self, seed: int = 0) -> Feeds:
        """Return seeded inputs."""
        rng = np.random.default_rng(seed)
        return {name: draw(rng) for name, draw in self.inputs.items()}


def uniform(*shape: int, low: float = -1.0, high: float = 1.0) -> Draw:
    """Return a draw of 32-bit floats between `low` and `high`, as a normalised picture or sound has."""
    return lambda rng: rng.uniform(low, high, shape).astype(np.float32)


def normal(*shape: int) -> Draw:
    """Return a draw of normally distributed 32-bit floats."""
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def tokens(*shape: int, count: int) -> Draw:
    """Return a draw of 32-bit integers in [0, count)."""
    return lambda rng: rng.integers(0, count, shape).astype(np.int32)


def zeros(*shape: int) -> Draw:
    """Return zeros, as the state of a recurrent network has at the start."""
    return lambda rng: np.zeros(shape, np.float32)


def number(value: int) -> Draw:
    """Return a 64-bit integer scalar."""
    return lambda rng: np.array(value, np.int64)
