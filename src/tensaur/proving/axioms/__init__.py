"""Axioms: equations that proofs start from, as ordinary rules, by family.

TASO's families and those that Tensaur's operators need. Each is checked by the tests on all small
sizes. Not what is optimised with: that is `tensaur.rules`.
"""

from __future__ import annotations

from tensaur.proving.axioms import (
    emptiness,
    functions,
    joining,
    layout,
    movements,
    products,
    reductions,
    ring,
    sums,
    windows,
)

_ARITHMETIC = (*ring.RULES, *functions.RULES, *products.RULES)
_MOVING = (*emptiness.RULES, *windows.RULES, *layout.RULES, *joining.RULES, *reductions.RULES)

# These hold whatever the sizes are, ...
GENERAL = (*_ARITHMETIC, *_MOVING)
# ... these need to know them.
ELEMENTS = (*movements.RULES, *sums.RULES)
AXIOMS = (*GENERAL, *ELEMENTS)
# What moves, and definitions, without the arithmetic that has no end.
PLAIN = (*functions.DEFINITIONS, *_MOVING, *ELEMENTS)

__all__ = ["AXIOMS", "ELEMENTS", "GENERAL", "PLAIN"]
