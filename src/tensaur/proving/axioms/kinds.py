"""Groups of operator classes that one axiom covers at once."""

from __future__ import annotations

from tensaur.ops import Erf, Exp, Relu, Sigmoid, Softplus, Tanh
from tensaur.rules.kinds import Kinds

# Defined for every number, and never falling: they commute with the choice of the greatest.
GROWING: Kinds = (Relu, Sigmoid, Tanh, Exp, Erf, Softplus)
