"""What TASO requires of types on both sides of an equation, as conditions, each thing said once.

Conditions are written of the rule's inputs where that says the same. None is added to make an equation
true: that it is, verification has to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensaur.ir.term import Derived, Term
from tensaur.rules.conditions import alike_but, rank_is, same_size, same_type
from tensaur.taso.conditions import has_kernel, stacked_alike
from tensaur.taso.equation import Equation, Expression, Name, Operation, operations

PAIRWISE = ("add", "mul")
LIKE_THEIR_INPUT = (*PAIRWISE, "relu", "sigmoid", "tanh")

Written = Callable[[Expression], Term]


def typed_like(item: Expression) -> Expression:
    """Return a simpler expression that has the same type."""
    while isinstance(item, Operation) and item.kind in LIKE_THEIR_INPUT:
        item = item.inputs[0]
    return item


def ranked_like(item: Expression) -> Name:
    """Return the rule input that has as many axes as an expression."""
    while not isinstance(item, Name):
        item = item.inputs[0]
    return item


def _stacked_like(item: Expression) -> Expression:
    """Return a simpler expression that is a stack of matrices with the same leading axes."""
    while isinstance(item, Operation):
        inside = item.kind == "concat" and item.axis >= item.rank - 2
        if not (inside or item.kind == "matmul" or item.kind in LIKE_THEIR_INPUT):
            break
        item = item.inputs[0]
    return item


def _kernel_like(item: Expression) -> Expression:
    """Return a simpler expression that has the same axes after the first two."""
    while isinstance(item, Operation):
        joined = item.kind == "concat" and item.axis < 2
        if not (joined or item.kind in LIKE_THEIR_INPUT):
            break
        item = item.inputs[0]
    return item


def _like_in(item: Expression, position: int) -> Expression:
    """Return a simpler expression with as many rows (position 0) or columns (1)."""
    while isinstance(item, Operation):
        across = item.kind == "concat" and item.axis == item.rank - 1 - position
        if item.kind == "matmul":
            item = item.inputs[position]
        elif across or item.kind in LIKE_THEIR_INPUT:
            item = item.inputs[0]
        else:
            break
    return item


class _Classes:
    """Sets of expressions that have something in common, in order of appearance."""

    def __init__(self) -> None:
        self._sets: dict[Expression, dict[Expression, None]] = {}

    def join(self, items: Iterable[Expression]) -> None:
        """Put expressions and everything they are together with into one set."""
        joined: dict[Expression, None] = {}
        for item in items:
            joined |= self._sets.get(item, {item: None})
        self._sets |= dict.fromkeys(joined, joined)

    def first(self, item: Expression) -> Expression:
        """Return the first of an expression's set."""
        return next(iter(self._sets.get(item, (item,))))

    def sets(self) -> list[tuple[Expression, ...]]:
        """Return all sets."""
        return [tuple(each) for each in {id(each): each for each in self._sets.values()}.values()]


def type_conditions(equation: Equation, written: Written) -> tuple[Derived, ...]:
    """Return the conditions of both sides; `written` gives the terms of expressions."""
    types = _Types(equation, written)
    every = [*types.kernels(), *types.ranks(), *types.stacks(), *types.alike(), *types.joins()]
    return tuple(dict.fromkeys([*every, *types.products()]))


class _Types:
    """The requirements of one equation, kind by kind."""

    def __init__(self, equation: Equation, written: Written) -> None:
        self._written = written
        self._finds = operations(equation.finds)
        self._makes = operations(equation.makes)
        both = dict.fromkeys((*self._finds, *self._makes))
        self._by_kind: dict[str, list[Operation]] = {}
        for item in both:
            self._by_kind.setdefault(item.kind, []).append(item)
        self._same = _Classes()

    def _all(self, *kinds: str) -> list[Operation]:
        return [item for kind in kinds for item in self._by_kind.get(kind, ())]

    def kernels(self) -> list[Derived]:
        """Return what convolutions require of their weights."""
        alike = _Classes()
        for item in self._all("add", "mul", "concat"):
            if item.kind != "concat" or item.axis < 2:
                alike.join(map(_kernel_like, item.inputs))
        found = []
        for item in self._all("conv"):
            weight = self._written(alike.first(_kernel_like(item.inputs[1])))
            kernel = None if item.window is None else item.window.kernel
            found.append(rank_is(weight, 4) if kernel is None else has_kernel(weight, *kernel))
        return found

    def ranks(self) -> list[Derived]:
        """Return the ranks that joins ask for, where no kernel has said them."""
        alike = _Classes()
        for item in self._all("add", "mul", "matmul", "concat", "conv"):
            alike.join(ranked_like(entry) for entry in item.inputs)
        said = {(alike.first(ranked_like(item)), 4) for item in self._all("conv")}
        found = []
        for item in self._all("concat"):
            key = (alike.first(ranked_like(item)), item.rank)
            if key not in said:
                found.append(rank_is(self._written(ranked_like(item)), item.rank))
            said.add(key)
        return found

    def stacks(self) -> list[Derived]:
        """Return that the operands of products are stacks of matrices that are alike."""
        alike = _Classes()
        for item in self._all("matmul"):
            alike.join(map(_stacked_like, item.inputs))
        return [stacked_alike(*map(self._written, members)) for members in alike.sets()]

    def alike(self) -> list[Derived]:
        """Return that the operands of sums and elementwise products have one type."""
        found = []
        for item in self._all(*PAIRWISE):
            first, second = map(typed_like, item.inputs)
            if not self._same_type(first, second):
                first = self._same.first(first)
                found.append(same_type(self._written(first), self._written(second)))
            self._same.join((first, second))
        return found

    def joins(self) -> list[Derived]:
        """Return what the right side's joins need; those of the left side are there already."""
        found = []
        for item in self._makes:
            parts = tuple(dict.fromkeys(map(typed_like, item.inputs)))
            if item.kind != "concat" or item in self._finds:
                continue
            if not all(self._same_type(parts[0], part) for part in parts):
                found.append(alike_but(item.axis, *map(self._written, parts)))
        return found

    def products(self) -> list[Derived]:
        """Return that the right side's products fit, where the left side has not the same operands."""
        known = {_meeting(item) for item in self._finds if item.kind == "matmul"}
        found = []
        for item in self._makes:
            if item.kind == "matmul":
                first, second = _meeting(item)
                if not _fits(first, second, known):
                    found.append(same_size(self._written(first), -1, self._written(second), -2))
        return found

    def _same_type(self, first: Expression, second: Expression) -> bool:
        """Tell whether two expressions have one type, by what was said so far."""
        if first == second or self._same.first(first) == self._same.first(second):
            return True
        if not isinstance(first, Operation) or not isinstance(second, Operation):
            return False
        if first.bare != second.bare or len(first.inputs) != len(second.inputs):
            return False
        pairs = zip(first.inputs, second.inputs, strict=True)
        return all(self._same_type(typed_like(a), typed_like(b)) for a, b in pairs)


Meeting = tuple[Expression, Expression]


def _meeting(item: Operation) -> Meeting:
    """Return what has the columns of a product's first operand, and what has the rows of its second."""
    first, second = item.inputs
    return _like_in(first, 1), _like_in(second, 0)


def _fits(first: Expression, second: Expression, known: set[Meeting]) -> bool:
    if (first, second) in known:
        return True
    joined = [item for item in (first, second) if isinstance(item, Operation)]
    if len(joined) < 2 or any(item.kind != "concat" for item in joined):
        return False
    pairs = zip(joined[0].inputs, joined[1].inputs, strict=False)
    return len(joined[0].inputs) == len(joined[1].inputs) and all(pair in known for pair in pairs)
