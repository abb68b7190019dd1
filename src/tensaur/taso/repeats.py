"""Which of TASO's equations say the same: but for the names of inputs and the order of operands.

Our matcher tries both orders of commutative operands, so that one of such equations is enough.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tensaur.taso.equation import Equation, Expression, Name

_COMMUTATIVE = ("add", "mul")
_MOST_ORDERS = 4096  # of all operands of an equation; beyond, it is compared as it stands


def signature(equation: Equation) -> str:
    """Return a text that equations have in common if they say the same."""
    sides = (*equation.finds, *equation.makes)
    orders = [list(_orders(side)) if _count(side) <= _MOST_ORDERS else [side] for side in sides]
    if math.prod(map(len, orders)) > _MOST_ORDERS:
        return repr(_renamed(sides))
    return min(repr(_renamed(choice)) for choice in itertools.product(*orders))


def _count(item: Expression) -> int:
    """Return in how many orders the operands of an expression may be."""
    if isinstance(item, Name):
        return 1
    return (1 + (item.kind in _COMMUTATIVE)) * math.prod(map(_count, item.inputs))


def _orders(item: Expression) -> Iterator[Expression]:
    """Yield an expression with the operands of commutative operators in every order."""
    if isinstance(item, Name):
        yield item
    else:
        for inputs in itertools.product(*map(_orders, item.inputs)):
            yield replace(item, inputs=inputs)
            if item.kind in _COMMUTATIVE:
                yield replace(item, inputs=inputs[::-1])


def _renamed(items: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return expressions with their inputs numbered in order of appearance."""
    names: dict[str, Name] = {}

    def rename(item: Expression) -> Expression:
        if isinstance(item, Name):
            return names.setdefault(item.name, Name(str(len(names))))
        return replace(item, inputs=tuple(map(rename, item.inputs)))

    return tuple(map(rename, items))
