"""Components, spanning forests and neighbours of graphs given as columns of edges, by SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensaur.egraph.relations import IntArray


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The distinct ends of the edges of each node: those of node i are `ends[starts[i] : starts[i + 1]]`."""

    starts: IntArray
    ends: IntArray


def neighbours(first: IntArray, second: IntArray, size: int) -> Neighbours:
    """Sort edges by the node they come from, each once; nodes are numbered below `size`."""
    graph = _sparse(first, second, size)
    return Neighbours(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))


def connected(first: IntArray, second: IntArray, size: int) -> IntArray:
    """Return the number of the connected component of each of `size` nodes."""
    return _components(first, second, size, "weak")


def strongly_connected(parent: IntArray, child: IntArray, size: int) -> IntArray:
    """Return the number of the strongly connected component of each of `size` nodes."""
    return _components(parent, child, size, "strong")


def spanning_forest(first: IntArray, second: IntArray, size: int) -> IntArray:
    """Return the positions of distinct edges that connect what all connect, the earliest if possible."""
    from scipy.sparse import coo_array  # noqa: PLC0415  # heavy: imported when used
    from scipy.sparse.csgraph import minimum_spanning_tree  # noqa: PLC0415

    # The weights make the forest prefer earlier edges, and lead back to their positions.
    weights = np.arange(1.0, len(first) + 1)
    forest = minimum_spanning_tree(
        coo_array((weights, (first, second)), shape=(size, size)).tocsr()
    )
    return np.sort(forest.data.astype(np.int64) - 1)


def _components(first: IntArray, second: IntArray, size: int, connection: str) -> IntArray:
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = _sparse(first, second, size)
    _, component = connected_components(graph, directed=True, connection=connection)
    result: IntArray = component.astype(np.int64)
    return result


def _sparse(first: IntArray, second: IntArray, size: int) -> Any:
    from scipy.sparse import coo_array  # noqa: PLC0415  # heavy: imported when used

    present = np.ones(len(first), np.bool_)
    return coo_array((present, (first, second)), shape=(size, size)).tocsr()
