"""Reports as text for people: one line for each thing worth knowing, tables where there are many."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tensaur.comparison import SideBySide
from tensaur.cost.metrics import Metrics
from tensaur.inspection import Inspection, OperatorRow
from tensaur.result import Advice, ExtractionSummary, Result, Rewrite
from tensaur.runtime.compare import Comparison, Difference
from tensaur.runtime.timing import Estimate

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_AMOUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_UNITS = {"": "", "launches": "launches", "flops": "FLOP"}
_UNITS |= dict.fromkeys(("bytes", "size", "peak_memory"), "B")


def result_text(result: Result, source: str = "model", target: str = "") -> str:
    """Return the report of an optimisation."""
    rows = [(name, line) for name, line in _rows(result) if line]
    if target:
        rows.append(("written", target))
    return aligned(source, rows)


def _rows(result: Result) -> Iterator[tuple[str, str]]:
    yield "result", _verdict(result)
    yield "latency", _latency_line(result)
    unit = result.cost_unit
    before, after = amount(result.cost_before, unit), amount(result.cost_after, unit)
    priced = result.records or result.cost_before
    yield "cost", f"{before} -> {after} (estimated)" if priced else "not estimated"
    if result.metrics_before is not None and result.metrics_after is not None:
        yield "metrics", _metrics_line(result.metrics_before, result.metrics_after)
    yield from (("limit", line) for line in result.limits)
    yield "nodes", f"{result.nodes_before} -> {result.nodes_after}"
    yield "rewrites", ", ".join(map(_rewrite, result.rewrites)) or "none"
    yield "trusted", ", ".join(f"{name} (used unverified)" for name in result.trusted)
    yield from (("advice", _advice_line(item)) for item in result.advice)
    yield "explored", _exploration_line(result)
    yield "extracted", _extraction_line(result)
    yield "checked", _comparison_line(result.comparison)
    sizes = ", ".join(f"{name}={size}" for name, size in sorted(result.sizes.items()))
    yield "sizes", sizes and f"{sizes} (set others with --dim)"
    yield "seconds", ", ".join(f"{name} {value:.1f}" for name, value in result.seconds.items())


def _rewrite(rewrite: Rewrite) -> str:
    share = "" if rewrite.share is None else f" ({rewrite.share:.0%} of the gain lost without it)"
    return f"{rewrite.rule} x{rewrite.count}{share}"


def _verdict(result: Result) -> str:
    if result.kept_original:
        return f"the original is kept: {result.reason}"
    if result.speedup_interval is not None and result.speedup_interval[0] > 1:
        return "a faster model, confirmed in a fresh process"
    return f"a new model: {result.reason}"


def _latency_line(result: Result) -> str:
    before, after = result.latency_before, result.latency_after
    if before is None or after is None:
        return "not measured"
    if result.kept_original or result.speedup_interval is None:
        return duration(before)
    low, high = result.speedup_interval
    gain = f"{result.speedup:.2f}x as fast (95 % interval {low:.2f} to {high:.2f})"
    return f"{duration(before)} -> {duration(after)}, {gain}"


def _metrics_line(before: Metrics, after: Metrics) -> str:
    pairs = ((name, value, getattr(after, name)) for name, value in asdict(before).items())
    units = {"launches": ""}  # the name says it
    return ", ".join(
        f"{name.replace('_', ' ')} {amount(was, units.get(name, name))}"
        + (f" -> {amount(now, units.get(name, name))}" if now != was else "")
        for name, was, now in pairs
    )


def _advice_line(advice: Advice) -> str:
    low, high = advice.interval
    gain = f"{advice.ratio:.2f}x as fast (95 % interval {low:.2f} to {high:.2f})"
    return f"{gain} when opened with {advice.option}"


def _exploration_line(result: Result) -> str:
    rounds = len(result.records)
    plural = "" if rounds == 1 else "s"
    return f"{rounds} iteration{plural}, ended by: {result.stop}"


def _extraction_line(result: Result) -> str:
    summary = result.extraction
    if summary is None:
        return ""
    cost = amount(summary.cost, result.cost_unit)
    return f"{summary.method}, cost {cost}, {_quality(summary)}, {summary.seconds:.1f} s"


def _quality(summary: ExtractionSummary) -> str:
    """Return how good the graph is known to be among those of the e-graph."""
    if summary.proved:
        return "proved optimal under this cost model"
    if summary.bound <= 0:
        return "not known how far from optimal"
    # Rounded up: the optimum is nowhere further off.
    above = math.ceil((summary.cost / summary.bound - 1.0) * 1e4) / 100
    return f"within {above:g} % of optimal under this cost model"


def _comparison_line(comparison: Comparison | None) -> str:
    if comparison is None:
        return "outputs were not compared"
    verdict = "outputs equal" if comparison.equal else "outputs differ"
    errors = f"greatest error {comparison.max_abs:.2g} ({comparison.max_rel:.1g} of the scale)"
    return "; ".join(part for part in (f"{verdict}, {errors}", comparison.reason) if part)


def duration(seconds: float) -> str:
    """Return a time with three or four digits and its unit."""
    for scale, unit in _TIMES:
        if abs(seconds) >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds / 1e-9:.2f} ns"


def amount(value: float, unit: str = "") -> str:
    """Return a cost in its unit: nanoseconds as a time, launches as they are, else with a prefix.

    The unit of a combination is its text, in parentheses.
    """
    if unit == "ns":
        return duration(value * 1e-9)
    if unit not in _UNITS:
        return f"{amount(value)} ({unit})"
    name = _UNITS[unit]
    for scale, prefix in _AMOUNTS if unit != "launches" else ():
        if abs(value) >= scale:
            return f"{value / scale:.2f} {prefix}{name}"
    return f"{value:g} {name}".rstrip()


def side_by_side_text(found: SideBySide, first: str, second: str) -> str:
    """Return the report of a comparison."""
    if found.interface:
        return aligned(f"{first} and {second}", [("result", f"not equal: {found.interface}")])
    rows = [("result", "equal" if found.equal else "not equal")]
    if found.outputs is not None:
        rows += [(f"output {item.name}", _difference(item)) for item in found.outputs.outputs]
    if found.ratio is not None and found.first_seconds and found.second_seconds:
        times = f"{duration(found.first_seconds)} and {duration(found.second_seconds)}"
        rows.append(("latency", f"{times}, {_ratio_text(found.ratio)}"))
    return aligned(f"{first} and {second}", rows)


def _difference(item: Difference) -> str:
    verdict = "equal" if item.equal else "differs"
    errors = f"greatest error {item.max_abs:.2g} ({item.max_rel:.1g} of the scale)"
    return "; ".join(part for part in (f"{verdict}, {errors}", item.reason) if part)


def _ratio_text(ratio: Estimate) -> str:
    interval = f"95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    if ratio.low <= 1 <= ratio.high:
        return f"no difference shown: first / second {ratio.ratio:.3f} ({interval})"
    which = "second" if ratio.ratio > 1 else "first"
    return f"the {which} is faster: first / second {ratio.ratio:.3f} ({interval})"


def inspection_text(found: Inspection, source: str) -> str:
    """Return what a model consists of: interface, then a table of operators, dearest first."""
    rows = [("opset", str(found.opset))]
    rows += [("input", f"{item.name} {item.type}") for item in found.inputs]
    rows += [("output", f"{item.name} {item.type}") for item in found.outputs]
    rows.append(("parameters", f"{found.parameters:,} ({amount(found.parameter_nbytes, 'bytes')})"))
    sizes = ", ".join(f"{name}={size}" for name, size in sorted(found.sizes.items()))
    if sizes:
        rows.append(("sizes", f"{sizes} (set others with --dim)"))
    cells: list[tuple[str, ...]] = [
        ("operator", "count", "FLOP", "bytes", "cost", "share", "priced")
    ]
    cells += [_operator_cells(row, found) for row in found.rows]
    flops, nbytes = sum(row.flops for row in found.rows), sum(row.nbytes for row in found.rows)
    total = (str(found.nodes), amount(flops), amount(nbytes), amount(found.cost, found.cost_unit))
    cells.append(("all", *total, "", ""))
    return f"{aligned(source, rows)}\n\n{table(cells)}"


def _operator_cells(row: OperatorRow, found: Inspection) -> tuple[str, ...]:
    share = f"{row.cost / found.cost:.1%}" if found.cost else ""
    priced = f"{row.measured}/{row.count} measured" if row.measured else "on paper"
    return (
        row.operator if row.known else f"{row.operator} (kept as is)",
        str(row.count),
        amount(row.flops),
        amount(row.nbytes),
        amount(row.cost, found.cost_unit),
        share,
        priced,
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns, the first on the left and the others on the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([f"  {row[0]:<{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)


def aligned(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return a title and, below it, names and what belongs to them."""
    width = max(len(name) for name, _ in rows)
    return "\n".join([title, *(f"  {name:<{width}}  {line}" for name, line in rows)])
