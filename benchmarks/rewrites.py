"""Rows of the design's tables of rewrites: does Tensaur find each by itself, and what does it gain.

Run as ``python -m benchmarks.rewrites``. Every model is built in its unrewritten form, optimised with
default options and an empty store of prices at one thread, and then timed against the result, interleaved
under ONNX Runtime with all of its own optimisations on. A ratio above 1 is faster than unrewritten; in
brackets its 95 % interval. `form` says whether the intended form was reached (where rewriting loses: kept
away from). "not faster" stands where it was extracted, but the original was kept, since the runtime does as
much by itself or has no better kernel; the form is then that of what was extracted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from benchmarks.apart import apart
from benchmarks.environment import environment
from benchmarks.measure import Ratio, measure
from benchmarks.models.builder import to_model
from benchmarks.models.entry import Feeds
from benchmarks.models.exports import channels_last, encoder_read_once
from benchmarks.models.recurrent import nasrnn
from benchmarks.models.unrewritten import NOT, SHAPES, Form, Shape
from benchmarks.tables import Table, tables_markdown, tables_text
from tensaur.errors import RuntimeFailure
from tensaur.ir.graph import Graph
from tensaur.ir.types import DType, TensorType
from tensaur.options import Options
from tensaur.pipeline import optimize

_WHOLE_NETWORK = "whole network"
_WHOLE = (
    Shape("NasRNN", nasrnn, Form(most={"MatMul": 48}), _WHOLE_NETWORK),
    Shape("NHWC export, 50 transposes", channels_last, Form(most={"Transpose": 2}), _WHOLE_NETWORK),
    Shape("encoder read at one token", encoder_read_once, Form(work=0.95), _WHOLE_NETWORK),
)
ROWS = (*SHAPES, *_WHOLE)
QUICK = ("x*A*B, square", "x*A*B, rank 64")
_PACKAGES = ("tensaur", "onnxruntime", "onnx", "numpy")
_TENSAUR = "tensaur"
# Rules named in a cell of the table.
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """Seconds for optimising a small model and a whole network, and for timing it against the result."""

    optimise: float
    whole: float
    time: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one optimisation came to: rules with their instances, operators, e-nodes, and why it ended."""

    rules: tuple[tuple[str, int], ...]
    counts: dict[str, int]
    work: float
    kept: bool
    reason: str
    enodes: int
    stop: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    group: str
    seconds: float
    ratio: Ratio
    reached: bool
    found: Found


def feeds(graph: Graph, seed: int) -> Feeds:
    """Return seeded inputs: normally distributed floats, truth values, and integers below 100."""
    rng = np.random.default_rng(seed)
    drawn = {}
    for port in graph.inputs:
        assert isinstance(port.type, TensorType) and port.type.static_shape is not None
        shape = port.type.static_shape
        if port.type.dtype is DType.BOOL:
            drawn[port.name] = rng.random(shape) < 0.5
        elif port.type.dtype.is_integer:
            drawn[port.name] = rng.integers(0, 100, shape).astype(port.type.dtype.numpy)
        else:
            drawn[port.name] = rng.standard_normal(shape).astype(port.type.dtype.numpy)
    return drawn


def run(shape: Shape, plan: Plan, folder: Path) -> Row:
    """Optimise and time one model; RuntimeFailure if either fails."""
    graph = shape.build()
    original, result = folder / "original.onnx", folder / "result.onnx"
    onnx.save(to_model(graph), original)
    limit = plan.whole if shape.group == _WHOLE_NETWORK else plan.optimise
    options = Options(seconds=limit, math=shape.math, store=folder / "prices")
    found = apart(_optimised, original, result, options)
    inputs = [feeds(graph, seed) for seed in range(3)]
    timed = measure(original, {_TENSAUR: result}, inputs, plan.time)
    if _TENSAUR in timed.faults:
        raise RuntimeFailure(timed.faults[_TENSAUR])
    reached = shape.form.reached(found.counts, found.work)
    return Row(shape.name, shape.group, timed.seconds, timed.ratios[_TENSAUR], reached, found)


def _optimised(original: Path, result: Path, options: Options) -> Found:
    found = optimize(original, options=options)
    found.save(result)
    chosen = found
    if found.kept_original:
        chosen = optimize(original, options=replace(options, gate=False))
    before, after = chosen.metrics_before, chosen.metrics_after
    assert before is not None and after is not None, "the model was read"
    counts = Counter(node.op_type for node in chosen.model.graph.node)
    return Found(
        tuple((item.rule, item.count) for item in chosen.rewrites),
        dict(counts),
        after.flops / before.flops if before.flops else 0.0,
        found.kept_original,
        found.reason,
        max((record.nodes for record in found.records), default=0),
        found.stop,
        sum(found.seconds.values()),
    )


def rows(shapes: Iterable[Shape], plan: Plan) -> list[Row]:
    """Run every model; one that fails is left out, and said so."""
    found = []
    for shape in shapes:
        with tempfile.TemporaryDirectory(prefix="tensaur-bench-") as folder:
            try:
                row = run(shape, plan, Path(folder))
            except RuntimeFailure as error:
                _say(f"{shape.name}: left out: {error}")
                continue
        _say(f"{row.name}: {row.ratio.ratio:.3f}, {_verdict(row)}; {row.found.reason}")
        found.append(row)
    return found


def table(found: Sequence[Row]) -> Table:
    """Return the table of all rows."""
    body = [
        [
            row.name,
            row.group,
            f"{row.seconds * 1e3:.3f}",
            f"{row.ratio.ratio:.2f} ({row.ratio.low:.2f}-{row.ratio.high:.2f})",
            _verdict(row),
            f"{row.found.enodes:,}",
            _rules(row.found),
        ]
        for row in found
    ]
    head = ["row", "group", "unrewritten, ms", "ratio", "form", "e-nodes", "rules"]
    return Table(head, body)


def _verdict(row: Row) -> str:
    if not row.ratio.equal:
        return "differs"
    if row.reached:
        kept = row.found.kept and row.group != NOT
        return "reached, not faster" if kept else "reached"
    return "not reached"


def _rules(found: Found) -> str:
    named = [f"{rule} x{count}" if count > 1 else rule for rule, count in found.rules[:_NAMED]]
    rest = len(found.rules) - len(named)
    return ", ".join([*named, f"{rest} more"] if rest else named) or "none"


def chosen(names: Sequence[str], quick: bool) -> list[Shape]:
    """Return the rows of these names, else the quick ones, else all."""
    known = {shape.name: shape for shape in ROWS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no row {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names or (QUICK if quick else known)]


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rewrites", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rows, under a minute")
    parser.add_argument("--only", nargs="+", default=[], metavar="ROW", help="only these rows")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="per model")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the table as JSON")
    form.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a row is left out or its outputs differ."""
    options = arguments(given)
    limit = options.time_limit or (8.0 if options.quick else 20.0)
    whole = options.time_limit or Options().seconds
    shapes = chosen(options.only, options.quick)
    found = rows(shapes, Plan(limit, whole, 2.0 if options.quick else 5.0))
    about = environment(_PACKAGES)
    if options.json:
        print(json.dumps({"environment": about, "rows": [asdict(row) for row in found]}, indent=2))
    else:
        as_form: Callable[..., str] = tables_markdown if options.markdown else tables_text
        print(as_form([table(found)], about))
    return 0 if len(found) == len(shapes) and all(row.ratio.equal for row in found) else 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
