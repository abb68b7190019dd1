"""How long a model will take for a run, from the prices of the kernels that the runtime makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tensaur.cost.feedback import Feedback
from tensaur.cost.learning import parts
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.query import Query
from tensaur.ir.graph import Graph
from tensaur.ir.types import Fact, TensorType
from tensaur.ops import Transpose
from tensaur.runtime.protocol import Kernel


def predicted(
    pricer: MeasuredCost, graph: Graph, kernels: Sequence[Kernel], feedback: Feedback | None = None
) -> float:
    """Return the seconds of one run of a graph of which a runtime makes these kernels.

    Each kernel costs what its operators cost together, alone, times what feedback says of kernels like it
    beside such neighbours. What the runtime adds to change a layout costs as much as transposing the value.
    What calling the runtime costs is in it too.
    """
    known = feedback or Feedback()
    nanoseconds = sum(_carrying(pricer, graph, kernel) for kernel in kernels)
    for part in parts(graph, kernels):
        path = (*pricer.path(part.graph), part.neighbours)
        nanoseconds += pricer.isolated(part.graph).amount * known.factor(path)
    return nanoseconds * 1e-9 + pricer.stopwatch.overhead(len(graph.inputs))


def _carrying(pricer: MeasuredCost, graph: Graph, kernel: Kernel) -> float:
    """Return the nanoseconds of bringing a value into another form, 0 for kernels that compute."""
    place = next((at for at, node in enumerate(graph.nodes) if node.name == kernel.carries), None)
    kind = None if place is None or not kernel.carries else graph.facts[place].type
    if not isinstance(kind, TensorType) or kind.rank is None:
        return 0.0
    batch, *rest = range(kind.rank)
    moved = Transpose((batch, *rest[1:], *rest[:1]))
    return pricer.isolated(Query((moved,), ((0,),), (Fact(kind),)).graph()).amount
