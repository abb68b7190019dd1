"""How long a model will take for a run, from the prices of the kernels that the runtime makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from tensaur.cost.feedback import Feedback
from tensaur.cost.learning import parts
from tensaur.cost.measured import MeasuredCost
from tensaur.ir.graph import Graph
from tensaur.runtime.protocol import Kernel


def predicted(
    pricer: MeasuredCost, graph: Graph, kernels: Sequence[Kernel], feedback: Feedback | None = None
) -> float:
    """Return the seconds of one run of a graph of which a runtime makes these kernels.

    Each kernel costs what its operators cost together, alone, times what feedback says of kernels like it
    beside such neighbours. What calling the runtime costs is in it too.
    """
    known = feedback or Feedback()
    nanoseconds = 0.0
    for part in parts(graph, kernels):
        path = (*pricer.path(part.graph), part.neighbours)
        nanoseconds += pricer.isolated(part.graph).amount * known.factor(path)
    return nanoseconds * 1e-9 + pricer.stopwatch.overhead(len(graph.inputs))
