"""Make the data of a counterexample simple: small whole numbers, and zeros where they still differ.

Changes no shape: the smallest of several instances is chosen before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tensaur.ir.types import Array
from tensaur.synth.data import Kind, fill
from tensaur.synth.settle import Leaf
from tensaur.synth.tiers import Outcome

_MOST_ELEMENTS = 64  # that are made simpler one by one
_DRAWS = 6
_SIMPLE = (0, 1)

Judge = Callable[[Mapping[str, Array]], Outcome | None]


def shrink(
    outcome: Outcome, leaves: Mapping[str, Leaf], judge: Judge, rng: np.random.Generator
) -> Outcome:
    """Return an outcome with simpler data on which the sides differ too; `judge` compares them.

    The outcome itself is returned where only its own data tell the sides apart.
    """
    free = [name for name, leaf in leaves.items() if leaf.data is None]
    whole = _whole_numbers(leaves, free, judge, rng)
    if whole is None:
        return outcome
    if sum(whole.data[name].size for name in free) > _MOST_ELEMENTS:
        return whole
    for name in free:
        for place in range(whole.data[name].size):
            whole = _simpler_at(whole, name, place, judge)
    return whole


def _whole_numbers(
    leaves: Mapping[str, Leaf], free: list[str], judge: Judge, rng: np.random.Generator
) -> Outcome | None:
    given = {
        name: leaf.data.array
        for name, leaf in leaves.items()
        if leaf.data is not None and leaf.data.array is not None
    }
    for kind in (Kind.ZEROS,) * _DRAWS + (Kind.INTEGERS,) * _DRAWS:
        data = {name: fill(kind, leaves[name].type, rng) for name in free}
        found = judge({**given, **data})
        if found is not None and found.difference is not None:
            return found
    return None


def _simpler_at(outcome: Outcome, name: str, place: int, judge: Judge) -> Outcome:
    array = outcome.data[name]
    for number in _SIMPLE:
        if array.flat[place] == number and not np.signbit(array.flat[place]):
            return outcome
        changed = array.copy()
        changed.flat[place] = number
        found = judge({**outcome.data, name: changed})
        if found is not None and found.difference is not None:
            return found
    return outcome
