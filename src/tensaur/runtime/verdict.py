"""Is a candidate faster than the original: judged here, then confirmed in a fresh process.

Holds `faster`. The statistics are in `timing`; whether outputs are equal is `compare`'s matter.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tensaur.errors import RuntimeFailure, one_line
from tensaur.runtime.protocol import Feeds, InFolder, Model, Settings
from tensaur.runtime.stopwatch import Clock, meter_for
from tensaur.runtime.timing import (
    Contestant,
    Estimate,
    Limits,
    Race,
    RaceResult,
    contestant,
)

# Looking at the data after every replicate must not raise the chance of a false acceptance.
_EARLY_CONFIDENCE = 0.995
# A fresh process may need long to start and to open large models; beyond this it hangs.
_GRACE_SECONDS = 300.0
_GRACE_FACTOR = 10.0
# Timeouts have to be finite, time limits do not.
_LONGEST_SECONDS = 7 * 86400.0


@dataclass(frozen=True, slots=True)
class Timing:
    """What one race of original against candidate gave; `worst` is the least favourable workload."""

    estimate: Estimate
    worst: Estimate
    original_seconds: float
    candidate_seconds: float

    @staticmethod
    def of(result: RaceResult) -> Timing:
        """Summarise a race of two."""
        worst = min(result.by_workload(1), key=lambda item: item.ratio)
        return Timing(result.estimate(1), worst, result.time(0), result.time(1))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the candidate replaces the original, and why or why not.

    `timing` is the measurement in this process and `confirmation` that in a fresh one, None if the
    first already spoke against the candidate.
    """

    accepted: bool
    reason: str
    timing: Timing
    confirmation: Timing | None = None

    @property
    def ratio(self) -> float:
        """Return original time / candidate time, the more cautious of the two measurements."""
        ratio = self.timing.estimate.ratio
        return ratio if self.confirmation is None else min(ratio, self.confirmation.estimate.ratio)

    @property
    def interval(self) -> Estimate:
        """Return the estimate that `ratio` is from."""
        both = [self.timing.estimate]
        if self.confirmation is not None:
            both.append(self.confirmation.estimate)
        return min(both, key=lambda item: item.ratio)


Confirm = Callable[[], Timing]


def faster(
    original: Model,
    candidate: Model,
    feeds: Sequence[Feeds],
    *,
    margin: float = 0.01,
    seconds: float = 10.0,
    threads: int = 1,
    seed: int = 0,
) -> Verdict:
    """Judge whether the candidate is faster by more than `margin` on these inputs.

    Half of the seconds go to this process and half to the fresh one.
    """
    settings = Settings(threads=threads)
    entrants = [contestant(model, feeds, settings) for model in (original, candidate)]
    limits = Limits(seconds=seconds / 2)

    def confirm() -> Timing:
        return confirm_in_fresh_process(
            original, candidate, feeds, limits=limits, threads=threads, seed=seed + 1
        )

    return judge(
        entrants,
        confirm,
        margin=margin,
        limits=limits,
        rng=Random(seed),
        meter=meter_for(threads),
    )


def judge(
    entrants: Sequence[Contestant],
    confirm: Confirm,
    *,
    margin: float,
    limits: Limits,
    rng: Random,
    clock: Clock = time.perf_counter,
    meter: Clock = time.perf_counter,
) -> Verdict:
    """Race two contestants, then ask for confirmation; the decision behind `faster`."""

    def settled(result: RaceResult) -> bool:
        return is_settled(result, margin)

    race = Race(entrants, limits, settled, clock, meter, rng)
    timing = Timing.of(race.run())
    reason = objection(timing, margin)
    if reason:
        return Verdict(False, reason, timing)
    try:
        confirmation = confirm()
    except RuntimeFailure as error:  # what cannot be confirmed is not accepted, nor is it an error
        return Verdict(False, f"not confirmed: {error}", timing)
    # The fresh process repeats the question "is it faster at all"; asking for the margin twice would
    # only reject true gains close to it.
    reason = objection(confirmation, 0.0)
    if reason:
        return Verdict(False, f"not confirmed in a fresh process: {reason}", timing, confirmation)
    return Verdict(True, f"faster by {timing.estimate}", timing, confirmation)


def is_settled(result: RaceResult, margin: float) -> bool:
    """Tell whether more replicates would hardly change the decision."""
    strict = result.estimate(1, _EARLY_CONFIDENCE)
    return strict.low > 1 + margin or result.estimate(1).high < 1 + margin


def objection(timing: Timing, margin: float) -> str:
    """Return why the timing does not show a gain above the margin, empty if it does."""
    found, worst = timing.estimate, timing.worst
    if found.high < 1:
        return f"slower: ratio {found}"
    if not found.low > 1 + margin:
        return f"no gain above {margin:.1%} shown: ratio {found}"
    if worst.ratio < 1 - margin or worst.high < 1:
        return f"slower on one of the inputs: ratio {worst}"
    return ""


def confirm_in_fresh_process(
    original: Model,
    candidate: Model,
    feeds: Sequence[Feeds],
    *,
    limits: Limits,
    threads: int = 1,
    seed: int = 1,
) -> Timing:
    """Race the two models in a new Python process; RuntimeFailure if it fails."""
    with tempfile.TemporaryDirectory(prefix="tensaur-") as folder:
        inputs = Path(folder) / "feeds.pickle"
        inputs.write_bytes(pickle.dumps(list(feeds)))
        job = {
            "models": [
                _on_disk(model, Path(folder) / name)
                for name, model in (("original", original), ("candidate", candidate))
            ],
            "folders": [_data_folder(model) for model in (original, candidate)],
            "feeds": str(inputs),
            "threads": threads,
            "seed": seed,
            "seconds": limits.seconds,
            "replicates": limits.replicates,
        }
        timeout = _GRACE_SECONDS + _GRACE_FACTOR * limits.seconds
        answer = _ask(json.dumps(job), min(timeout, _LONGEST_SECONDS))
    return timing_from_json(answer)


def timing_to_json(timing: Timing) -> str:
    """Return a timing as JSON text."""
    return json.dumps(
        {
            "estimate": _numbers(timing.estimate),
            "worst": _numbers(timing.worst),
            "seconds": [timing.original_seconds, timing.candidate_seconds],
        }
    )


def timing_from_json(text: str) -> Timing:
    """Read what `timing_to_json` wrote."""
    data = json.loads(text)
    return Timing(Estimate(*data["estimate"]), Estimate(*data["worst"]), *data["seconds"])


def _numbers(estimate: Estimate) -> list[float]:
    return [estimate.ratio, estimate.low, estimate.high]


def _ask(job: str, timeout: float) -> str:
    # The folder that holds the package: `-m` then finds it even where it is not installed.
    root = Path(__file__).resolve().parents[2]
    try:
        process = subprocess.run(
            [sys.executable, "-m", "tensaur.runtime.worker"],
            input=job,
            capture_output=True,
            text=True,
            cwd=root,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise RuntimeFailure(f"timing in a fresh process took over {timeout:.0f} s") from error
    if process.returncode != 0:
        last = process.stderr.strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
        raise RuntimeFailure(f"timing in a fresh process failed: {last[0]}")
    return process.stdout.strip().splitlines()[-1]


def _data_folder(model: Model) -> str | None:
    return str(model.folder.resolve()) if isinstance(model, InFolder) else None


def _on_disk(model: Model, folder: Path) -> str:
    if isinstance(model, InFolder):
        model = model.model
    if isinstance(model, (str, os.PathLike)):
        return str(Path(model).resolve())
    folder.mkdir()
    path = folder / "model.onnx"
    if isinstance(model, (bytes, bytearray)):
        path.write_bytes(model)
        return str(path)
    import onnx  # noqa: PLC0415  # heavy: imported when used

    try:
        path.write_bytes(model.SerializeToString())
    except Exception:  # protobuf holds at most 2 GB in one message
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        try:
            onnx.save_model(copy, str(path), save_as_external_data=True, location="model.data")
        except Exception as error:
            raise RuntimeFailure(f"the model cannot be written: {one_line(error)}") from error
    return str(path)
