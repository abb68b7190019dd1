"""Whether an explored e-graph is fit for extraction, worked out from its rows alone.

Shares no code with the engine's cycle filter, so that it can check that.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tensaur.egraph.egraph import Rows


def is_acyclic(rows: Rows) -> bool:
    """Tell whether no unbanned rows lead from a class back to it: every component is a single class."""
    parent, child = rows.cls[_owner(rows)], rows.child
    kept = ~rows.banned[_owner(rows)]
    parent, child = parent[kept], child[kept]
    size = int(rows.cls.max(initial=0)) + 1
    graph = coo_array((np.ones(len(parent), np.bool_), (parent, child)), shape=(size, size))
    count, _ = connected_components(graph.tocsr(), directed=True, connection="strong")
    return count == size and not (parent == child).any()


def is_extractable(rows: Rows) -> bool:
    """Tell whether every class can be computed by unbanned rows."""
    owner = _owner(rows)
    computed = np.zeros(int(rows.cls.max(initial=0)) + 1, np.bool_)
    while True:
        missing = np.bincount(owner[~computed[rows.child]], minlength=len(rows))
        new = rows.cls[(missing == 0) & ~rows.banned]
        if computed[new].all():
            return bool(computed[rows.cls].all())
        computed[new] = True


def _owner(rows: Rows) -> np.ndarray:
    """Return the position of the row that has each child."""
    return np.repeat(np.arange(len(rows)), np.diff(rows.child_start))
