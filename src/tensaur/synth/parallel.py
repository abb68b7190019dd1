"""Verify many rules, several at a time. Knows nothing of verification itself."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from tensaur.ir.rule import Rule
from tensaur.synth.verify import TRIALS, Verification, verify

_rules: Sequence[Rule] = ()  # what a worker may be asked for, by its place


def verify_all(
    rules: Sequence[Rule], seed: int = 0, trials: int = TRIALS, workers: int = 1
) -> Iterator[Verification]:
    """Yield the verdicts on rules in their order; they do not depend on the number of workers.

    Workers are copies of this process, since the functions in rules cannot be sent to others; where
    processes cannot be copied, there is one.
    """
    workers = min(workers, len(rules))
    if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from (verify(rule, seed, trials) for rule in rules)
        return
    global _rules
    _rules = tuple(rules)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        count = len(rules)
        yield from pool.map(_verify, range(count), [seed] * count, [trials] * count)


def _verify(place: int, seed: int, trials: int) -> Verification:
    return verify(_rules[place], seed, trials)
