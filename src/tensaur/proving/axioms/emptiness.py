"""Axioms of tensors without elements: all of one type are equal, whatever made them."""

from __future__ import annotations

from tensaur.ir.operator import Input, Operator
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, Const, OpVar, Seq, Var
from tensaur.ops import OPERATORS, Split
from tensaur.proving.axioms.arrange import Arrange
from tensaur.proving.axioms.places import nothing

x, y, z = (Var(name) for name in "xyz")
xs = Seq("x")
_OPERATORS: tuple[type[Operator], ...] = (*(op for op in OPERATORS if op is not Split), Arrange)


def _taking(count: int | None) -> OpVar:
    """An operator of so many inputs, or (None) of any number."""
    return OpVar(
        "f",
        tuple(
            op
            for op in _OPERATORS
            if (op.arity is None) == (count is None) and op.accepts_arity(count or 1)
        ),
    )


_TERMS: dict[str, Apply] = {
    "input": OpVar("f", (Input,))(),
    "of-one": _taking(1)(x),
    "of-two": _taking(2)(x, y),
    "of-three": _taking(3)(x, y, z),
    "of-any": _taking(None)(xs),
}

RULES = tuple(Rule(f"empty-{name}", term, Const(nothing(term))) for name, term in _TERMS.items())
