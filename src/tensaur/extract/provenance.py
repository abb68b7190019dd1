"""Which rule instances an extracted graph owes something to, read from the e-graph's provenance."""

from __future__ import annotations

from collections import Counter

from tensaur.egraph.unions import LOADED
from tensaur.extract.space import Option, Space


def instances_used(space: Space, picked: dict[int, Option]) -> frozenset[int]:
    """Return the rule instances that made a chosen e-node or connect it with the original's e-node."""
    loaded: dict[int, list[int]] = {}
    for row, (cls, origin) in enumerate(zip(space.rows.cls, space.rows.origin, strict=True)):
        if origin == LOADED:
            loaded.setdefault(int(cls), []).append(row)
    used: set[int] = set()
    for cls, option in picked.items():
        used |= {int(space.rows.origin[row]) for row in option.rows if space.rows.origin[row] >= 0}
        if not option.rows:
            continue
        chosen = option.rows[-1]
        for original in loaded.get(cls, ()):
            if original != chosen:
                ids = space.rows.row
                used |= set(space.egraph.causes(int(ids[original]), int(ids[chosen])))
    return frozenset(used)


def rules_used(space: Space, picked: dict[int, Option]) -> list[tuple[str, int]]:
    """Return rule names with the number of their instances in use, most used first."""
    names = Counter(space.egraph.instances[i].rule for i in instances_used(space, picked))
    return sorted(names.items(), key=lambda item: (-item[1], item[0]))
