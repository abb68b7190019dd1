"""Class data: interned facts, with inference and meets memoised on their numbers."""

from __future__ import annotations

from tensaur.egraph.symbols import Symbols
from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Literal, infer_fact
from tensaur.ir.types import Fact, meet


class Facts:
    """Gives every distinct fact a number; a class holds the number of its fact.

    There are a few hundred distinct facts and inferences in a run, however many e-nodes there are.
    """

    def __init__(self, symbols: Symbols) -> None:
        self.facts: list[Fact] = []
        self._symbols = symbols
        self._ids: dict[Fact, int] = {}
        self._inferred: dict[tuple[int, ...], int | TypeMismatch] = {}
        self._met: dict[tuple[int, int], int] = {}
        self._literals: list[int] = []

    def intern(self, fact: Fact) -> int:
        """Return the number of a fact."""
        number = self._ids.get(fact)
        if number is None:
            number = self._ids[fact] = len(self.facts)
            self.facts.append(fact)
            self._literals.append(self._literal_of(fact))
        return number

    def infer(self, symbol: int, inputs: tuple[int, ...]) -> int:
        """Return the number of the fact of a symbol applied to facts; TypeMismatch if refused."""
        key = (symbol, *inputs)
        known = self._inferred.get(key)
        if known is None:
            try:
                op = self._symbols.operators[symbol]
                known = self.intern(infer_fact(op, [self.facts[item] for item in inputs]))
            except TypeMismatch as error:
                known = error.with_traceback(None)
            self._inferred[key] = known
        if isinstance(known, TypeMismatch):
            raise known
        return known

    def meet(self, first: int, second: int) -> int:
        """Return the number of what two facts say together; ValueError if they contradict."""
        if first == second:
            return first
        known = self._met.get((first, second))
        if known is None:
            known = self.intern(meet(self.facts[first], self.facts[second]))
            self._met[first, second] = known
        return known

    def literal(self, fact: int) -> int:
        """Return the symbol of the literal that a value with this fact equals, -1 if not known."""
        return self._literals[fact]

    def _literal_of(self, fact: Fact) -> int:
        if not fact.constant or fact.value is None or fact.value.raw is None:
            return -1
        # A broadcasted or declared type may be less precise than the value itself; the literal is not.
        return self._symbols.intern(Literal(fact.value))
