"""What the multipliers of a relaxation prove: a bound, and which columns no good solution uses.

Any multipliers of the right sign prove a bound, optimal or not (weak duality), and since every column
has bounds, rounding in the solver cannot make it wrong (Neumaier and Shcherbina 2004); only the sums
here round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensaur.extract.model import FloatArray, Program


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A lower bound on the objective, and by how much it rises where a column is 1 instead of 0."""

    bound: float
    rise: FloatArray


def proof(program: Program, unit: float, multiplier: FloatArray) -> Proof:
    """Return what one multiplier a constraint proves; they are in units of the objective."""
    cost, lower, constraints = program.cost / unit, program.lower, program.constraints
    low, high = np.array(constraints.lower), np.array(constraints.upper)
    weight = np.where(np.isinf(low), np.minimum(multiplier, 0.0), multiplier)
    weight = np.where(np.isinf(high), np.maximum(weight, 0.0), weight)
    side = np.where(weight > 0, low, high)
    used = weight != 0
    rows = np.repeat(np.arange(len(low)), np.diff(constraints.start))
    column = np.array(constraints.column, dtype=np.int64)
    paid = np.bincount(column, np.array(constraints.value) * weight[rows], minlength=len(cost))
    rest = cost - paid
    least = np.minimum(rest * lower, rest * program.upper)
    bound = float((weight[used] * side[used]).sum() + least.sum())
    rise = np.where(lower < 1.0, np.maximum(rest, 0.0), 0.0)
    return Proof(bound * unit, rise * unit)
