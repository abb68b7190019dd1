"""What the multipliers of a relaxation prove: a bound, and which columns no good solution uses.

Any multipliers of the right sign prove a bound, optimal or not (weak duality), and since every column
lies in [0, 1], rounding in the solver cannot make it wrong (Neumaier and Shcherbina 2004); only the sums
here round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensaur.extract.model import Constraints, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A lower bound on the objective, and by how much it rises where a column is 1 instead of 0."""

    bound: float
    rise: FloatArray


def proof(
    cost: FloatArray, lower: FloatArray, constraints: Constraints, multiplier: FloatArray
) -> Proof:
    """Return what one multiplier a constraint proves; columns lie between `lower` and 1."""
    low, high = np.array(constraints.lower), np.array(constraints.upper)
    weight = np.where(np.isinf(low), np.minimum(multiplier, 0.0), multiplier)
    weight = np.where(np.isinf(high), np.maximum(weight, 0.0), weight)
    side = np.where(weight > 0, low, high)
    used = weight != 0
    rows = np.repeat(np.arange(len(low)), np.diff(constraints.start))
    column = np.array(constraints.column, dtype=np.int64)
    paid = np.bincount(column, np.array(constraints.value) * weight[rows], minlength=len(cost))
    rest = cost - paid
    bound = float((weight[used] * side[used]).sum() + np.minimum(rest * lower, rest).sum())
    return Proof(bound, np.where(lower < 1.0, np.maximum(rest, 0.0), 0.0))
