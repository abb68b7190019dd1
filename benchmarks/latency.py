"""Latency of real models: unchanged, and as Tensaur, onnxsim and onnxslim leave them.

Run as ``python -m benchmarks.latency``. All versions of a model are timed interleaved, at one thread,
under ONNX Runtime with all of its own optimisations on; a ratio above 1 is faster than the unchanged
model. `control` is the unchanged model once more: what its ratio differs from 1 is the noise.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.environment import environment
from benchmarks.measure import CONTROL, Measured, measure
from benchmarks.models.entry import Entry
from benchmarks.models.networks import PAPERS
from benchmarks.models.real import LIGHT, SHIPPED
from benchmarks.models.wheels import DownloadError
from benchmarks.tables import Row, as_markdown, as_text
from benchmarks.tools import TENSAUR, TOOLS, Job, run_tool
from tensaur.errors import RuntimeFailure

ENTRIES = (*SHIPPED, *LIGHT, *PAPERS)
# Small enough for all steps together to stay under a minute, and nothing to download.
QUICK = ("light-squeezenet", "light-shufflenet", "nasrnn")
_PACKAGES = ("tensaur", "onnxruntime", "onnx", "onnxsim", "onnxslim", "numpy")
_SEEDS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """How long an optimiser may take for a model, and how long its results are timed, in seconds."""

    optimise: float
    time: float


def run(entry: Entry, plan: Plan, folder: Path) -> Row:
    """Optimise one model by every tool and time the results."""
    model = entry.place(folder / "original.onnx")
    feeds = [entry.feeds(seed) for seed in _SEEDS]
    inputs = folder / "inputs.npz"
    np.savez(inputs, **feeds[0])
    written: dict[str, Path] = {}
    faults: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for tool in TOOLS:
        _say(f"{entry.name}: {tool.name}")
        job = Job(entry, model, folder / f"{tool.name}.onnx", inputs, plan.optimise)
        outcome = run_tool(tool, job)
        seconds[tool.name] = outcome.seconds
        if outcome.output is None:
            faults[tool.name] = outcome.fault
            _say(f"{entry.name}: {tool.name}: {outcome.fault}")
        else:
            written[tool.name] = outcome.output
    _say(f"{entry.name}: timing")
    found = measure(model, written, feeds, plan.time)
    return Row(
        entry.name,
        entry.group,
        Measured(found.seconds, found.ratios, {**faults, **found.faults}),
        seconds,
    )


def rows(entries: Iterable[Entry], plan: Plan) -> list[Row]:
    """Run every model; one that cannot be fetched or timed is left out, and said so."""
    found = []
    for entry in entries:
        with tempfile.TemporaryDirectory(prefix="tensaur-bench-") as folder:
            try:
                found.append(run(entry, plan, Path(folder)))
            except (DownloadError, RuntimeFailure) as error:
                _say(f"{entry.name}: left out: {error}")
    return found


def chosen(names: Sequence[str], quick: bool, every: bool) -> list[Entry]:
    """Return the entries of these names, else the quick ones, else all (without the extra ones)."""
    known = {entry.name: entry for entry in ENTRIES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no model {unknown[0]!r}; there are {', '.join(known)}")
    if names or quick:
        return [known[name] for name in names or QUICK]
    return [entry for entry in ENTRIES if every or not entry.extra]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three small models, under a minute")
    parser.add_argument("--all", action="store_true", help="further models and networks too")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these models")
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="per model and optimiser"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the table as JSON")
    form.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    return parser.parse_args(given)


def main() -> int:
    """Print the table; 1 if a model is left out, or Tensaur failed on it or changed its outputs."""
    options = arguments()
    limit = options.time_limit or (5.0 if options.quick else 60.0)
    plan = Plan(optimise=limit, time=2.0 if options.quick else 20.0)
    entries = chosen(options.only, options.quick, options.all)
    table = rows(entries, plan)
    about = environment(_PACKAGES)
    names = (CONTROL, *(tool.name for tool in TOOLS))
    if options.json:
        print(json.dumps({"environment": about, "rows": [asdict(row) for row in table]}, indent=2))
    else:
        print((as_markdown if options.markdown else as_text)(table, names, about))
    sound = [row for row in table if row.is_sound(TENSAUR.name)]
    return 0 if len(sound) == len(entries) else 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
