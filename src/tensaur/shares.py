"""Each rule's share of the gain: what the cheapest graph costs when explored and extracted without that rule.

Knows how to explore and to price only as functions. Nothing is measured: forms without a measured price,
which nobody has wanted so far, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tensaur.errors import TensaurError
from tensaur.result import Rewrite

# The cost of the cheapest graph that is found without the rule of this name; None if it took too long.
Without = Callable[[str], float | None]


def with_shares(
    rewrites: Iterable[Rewrite], before: float, after: float, without: Without
) -> tuple[Rewrite, ...]:
    """Return the rewrites, each with its share of the gain from `before` to `after` as far as there is time.

    Shares do not add up to 1: what two rules do only together is lost without either, and what either does
    alone is lost without neither.
    """
    if after >= before:
        return tuple(rewrites)
    found = []
    over = False
    for rewrite in rewrites:
        cost = None if over else _cost(without, rewrite.rule)
        over = over or cost is None
        if cost is not None:
            share = min(1.0, max(0.0, (cost - after) / (before - after)))
            rewrite = replace(rewrite, share=share)
        found.append(rewrite)
    return tuple(found)


def _cost(without: Without, rule: str) -> float | None:
    try:
        return without(rule)
    except TensaurError:  # an explanation is no reason to lose the result
        return None
