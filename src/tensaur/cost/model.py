"""The protocol of cost models, prices, and what costs nothing under every model.

Holds no model: `analytic` has those on paper, `measured` the one by stopwatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from tensaur.ir.graph import Graph
from tensaur.ir.operator import STRUCTURAL, Opaque, Operator
from tensaur.ir.types import Fact
from tensaur.ops import Flatten, Reshape, Squeeze, Unsqueeze

# These change only the shape: the runtime hands the same memory on.
VIEWS: tuple[type[Operator], ...] = (Flatten, Reshape, Squeeze, Unsqueeze)


class PriceKind(Enum):
    """Where a price comes from."""

    EXACT = "exact"
    MEASURED = "measured"
    ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Price:
    """A cost >= 0 (nanoseconds for latency, else units of the metric) and where it comes from.

    Only sums with factors that are no whole numbers, and users' own costs, are fractions.
    """

    amount: float
    kind: PriceKind = PriceKind.EXACT

    def __str__(self) -> str:
        return f"{self.amount} ({self.kind.value})"


FREE = Price(0)


class CostModel(Protocol):
    """Prices one operator on inputs of given types.

    A price depends on the operator, the inputs' types, their small known values and on which inputs are
    constant; never on the data of weights.
    """

    def quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        """Return the price with its kind."""

    def price(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> float:
        """Return the amount of `quote`."""


class Pricer(Protocol):
    """Prices small graphs: one operator, or several that the runtime computes together.

    Their leaves are inputs, weights (whose data do not matter) and literals.
    """

    def estimate(self, graph: Graph) -> float:
        """Return a price at once, from a model."""

    def known(self, graph: Graph) -> float | None:
        """Return a price that needs no further measuring, None if there is none yet."""

    def measure(self, graph: Graph) -> float:
        """Return the price, measuring it now if that is how it is found."""

    def refuses(self, graph: Graph) -> bool:
        """Tell whether it is known that the target cannot run the graph at all."""


def sum_prices(model: CostModel, graph: Graph) -> float:
    """Return the sum of the prices of a graph's operators."""
    facts = graph.facts
    return sum(
        model.price(node.op, [facts[item] for item in node.inputs], facts[index])
        for index, node in enumerate(graph.nodes)
        if node.inputs
    )


def runs(op: Operator) -> bool:
    """Tell whether the operator does something at run time (structural operators do not)."""
    return isinstance(op, Opaque) or not isinstance(op, STRUCTURAL)


def is_free(op: Operator, output: Fact) -> bool:
    """Tell whether running the operator costs nothing under any model.

    Structural operators do not run. An operator on constants alone is computed before run time, by
    Tensaur or by the runtime when it loads the model.
    """
    return output.constant or not runs(op)


def is_view(op: Operator) -> bool:
    """Tell whether the operator only gives its input another shape."""
    return isinstance(op, VIEWS)
