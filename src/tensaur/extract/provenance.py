"""Which rule instances an extracted graph owes something to, read from the e-graph's provenance."""

from __future__ import annotations

from collections import Counter

from tensaur.egraph.unions import LOADED
from tensaur.extract.option import Option
from tensaur.extract.space import Space


def instances_used(space: Space, picked: dict[int, Option]) -> frozenset[int]:
    """Return the rule instances behind the chosen graph.

    These are the instances that made a chosen e-node (or one from which a chosen constant is folded) or
    connect one with the original's e-node, and in turn those that made what they matched.
    """
    origin = space.egraph.nodes.origin.view
    loaded: dict[int, list[int]] = {}
    for row, cls in zip(space.rows.row.tolist(), space.rows.cls.tolist(), strict=True):
        if origin[row] == LOADED:
            loaded.setdefault(cls, []).append(row)
    waiting: list[int] = []
    for cls, option in picked.items():
        rows = option.rows or _derivation(space, cls)
        made = [int(space.rows.row[row]) for row in rows]
        waiting += origin[made].tolist()
        if option.rows:
            for original in loaded.get(cls, ()):
                waiting += space.egraph.causes(original, made[-1]) if original != made[-1] else ()
    used: set[int] = set()
    while waiting:
        instance = waiting.pop()
        if instance >= 0 and instance not in used:
            used.add(instance)
            waiting += origin[list(space.egraph.instances[instance].found)].tolist()
    return frozenset(used)


def _derivation(space: Space, cls: int) -> list[int]:
    """Return the rows from which a folded constant is computed."""
    rows: dict[int, None] = {}
    stack = [cls]
    while stack:
        row = space.folder.choice[stack.pop()]
        if row not in rows:
            rows[row] = None
            stack.extend(space.children[row])
    return list(rows)


def rules_used(space: Space, picked: dict[int, Option]) -> list[tuple[str, int]]:
    """Return rule names with the number of their instances in use, most used first."""
    names = Counter(space.egraph.instances[i].rule for i in instances_used(space, picked))
    return sorted(names.items(), key=lambda item: (-item[1], item[0]))
