"""A user's own cost as a cost model: asked about one operator at a time, and checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from tensaur.cost.analytic import PaperCost
from tensaur.cost.model import Price, PriceKind
from tensaur.cost.sizes import static_fact
from tensaur.errors import TensaurError, UsageError, one_line
from tensaur.ir.operator import Operator
from tensaur.ir.types import Fact


@dataclass(frozen=True)
class OwnCost(PaperCost):
    """Prices with `model`, a `CostModel` or a function of operator, inputs and output.

    It sees facts in which every dimension is an integer. UsageError, naming the operator, if it raises or
    returns something else than a finite number >= 0.
    """

    model: Any = None
    name: str = ""

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        facts = [static_fact(fact, self.sizes) for fact in inputs]
        try:
            found = self._ask()(op, facts, static_fact(output, self.sizes))
        except TensaurError as error:
            raise UsageError(f"cost: {self.name} failed on {op}: {one_line(error)}") from error
        except Exception as error:  # it is the user's code: anything can happen
            what = f"{type(error).__name__}: {one_line(error)}"
            raise UsageError(f"cost: {self.name} failed on {op}: {what}") from error
        kind = found.kind if isinstance(found, Price) else PriceKind.EXACT
        amount = found.amount if isinstance(found, Price) else found
        if isinstance(amount, bool) or not isinstance(amount, Real):
            raise UsageError(
                f"cost: {self.name} returned {one_line(repr(amount))} for {op}, expected a number"
            )
        value = float(amount)
        if not (math.isfinite(value) and value >= 0):
            raise UsageError(
                f"cost: {self.name} returned {value:g} for {op}, expected a finite number >= 0"
            )
        return Price(int(value) if value.is_integer() else value, kind)

    def _ask(self) -> Any:
        for method in ("quote", "price"):
            if callable(getattr(self.model, method, None)):
                return getattr(self.model, method)
        return self.model
