"""How often the gate decides wrongly: models with a known share of work more or less than the original.

Run as ``python -m benchmarks.power``. Original and candidate are chains of equal layers that differ in
their number, so that the true ratio of their times is known by construction (and checked with one long
race, printed beside). Every trial is the whole decision as `tensaur optimize` makes it: replicated
sessions in this process, then a fresh one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.special import betaincinv

from benchmarks.environment import environment, environment_text
from benchmarks.models.builder import Network, to_model
from benchmarks.tables import Table
from tensaur.gate import MARGIN
from tensaur.ops import MatMul
from tensaur.runtime.timing import Limits, race
from tensaur.runtime.verdict import faster

LAYERS = 100
# Layers that a candidate has more than the original; each is one per cent of it.
CHANGES = (5, 3, 1, 0, -1, -3, -5, -8)
ROWS, WIDTH = 48, 64


@dataclass(frozen=True, slots=True)
class Power:
    """The trials of one candidate: how many were accepted, and the ratio that a long race gives."""

    change: int
    trials: int
    accepted: int
    ratio: str
    seconds: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the 95 % interval (Clopper and Pearson) of the rate of acceptance."""
        hit, miss = self.accepted, self.trials - self.accepted
        low = float(betaincinv(hit, miss + 1, 0.025)) if hit else 0.0
        high = float(betaincinv(hit + 1, miss, 0.975)) if miss else 1.0
        return low, high


def chain(layers: int) -> Any:
    """Return a model of equal layers, each a matrix product with weights of its own."""
    network = Network(seed=0)
    value = network.input("x", ROWS, WIDTH)
    for _ in range(layers):
        value = network.apply(MatMul(), value, network.weight(WIDTH, WIDTH))
    return to_model(network.build([value]))


def power(change: int, trials: int, seconds: float, quick: bool) -> Power:
    """Judge a candidate with so many layers more than the original, again and again."""
    original, candidate = (chain(count).SerializeToString() for count in (LAYERS, LAYERS + change))
    feeds = [{"x": np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)}]
    limits = Limits(seconds=5.0 if quick else 60.0, replicates=8 if quick else 60)
    ratio = race([original, candidate], feeds, limits=limits).estimate(1)
    start = time.perf_counter()
    accepted = 0
    for trial in range(trials):
        verdict = faster(original, candidate, feeds, margin=MARGIN, seconds=seconds, seed=trial)
        accepted += verdict.accepted
        _say(f"{change:+d} % work: {accepted} of {trial + 1} accepted ({verdict.reason})")
    return Power(change, trials, accepted, str(ratio), (time.perf_counter() - start) / trials)


def noise(trials: int) -> tuple[float, float]:
    """Return the spread of one replicate's ratio of the original to itself, and of its seconds."""
    model = chain(LAYERS).SerializeToString()
    feeds = [{"x": np.zeros((ROWS, WIDTH), np.float32)}]
    result = race([model, model], feeds, limits=Limits(seconds=600.0, replicates=trials))
    return float(np.std(result.logs[1][0], ddof=1)), float(np.median(result.seconds[0][0]))


def table(rows: Sequence[Power], spread: float, run: float) -> Table:
    """Return rates of acceptance by change of work."""
    body = [
        [
            f"{row.change:+d} %",
            row.ratio,
            f"{row.accepted} of {row.trials}",
            f"{row.accepted / row.trials:.1%}",
            f"{row.bounds[0]:.1%} to {row.bounds[1]:.1%}",
            f"{row.seconds:.1f}",
        ]
        for row in rows
    ]
    notes = [
        f"One run takes {run * 1e3:.2f} ms. Two sessions of one model differ by {spread:.2%} (standard "
        f"deviation of one replicate), the mean of twelve by {spread / sqrt(12):.2%}.",
        f"Accepted is what is faster by more than {MARGIN:.0%}, with confidence.",
    ]
    head = ["work", "original / candidate", "accepted", "rate", "95 % interval", "seconds"]
    return Table(head, body, notes, "Power of the gate")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three trials each, as a check")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=6.0, help="for one decision")
    parser.add_argument("--changes", type=int, nargs="*", default=CHANGES)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args(arguments)
    trials = 3 if given.quick else given.trials
    changes = (3, -5) if given.quick else given.changes
    spread, run = noise(10 if given.quick else 60)
    rows = [power(change, trials, given.seconds, given.quick) for change in changes]
    found = table(rows, spread, run)
    about = environment_text(environment(("tensaur", "onnxruntime", "numpy")))
    print(
        f"```\n{about}\n```\n\n{found.markdown()}"
        if given.markdown
        else f"{about}\n\n{found.text()}"
    )
    return 0


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
