"""What is known of costs, as text: the store's figures, what pricing a model took, tables of signatures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tensaur.cost.store import Context, Entry
from tensaur.cost.summary import ContextSummary, Figures
from tensaur.profiling import Profile
from tensaur.report.data import plain
from tensaur.report.text import aligned, amount, duration, table

_HEAD = ("operators and what they read", "price", "spread", "roofline")


def store_text(path: str, found: Sequence[ContextSummary], top: Sequence[Entry]) -> str:
    """Return what the store holds, by runtime, processor and threads, and its dearest entries."""
    if not found:
        return f"{path}\n  empty"
    parts = [path]
    for summary in found:
        parts.append(aligned(_title(summary.context), _summary_rows(summary)))
    if top:
        parts.append(entries_text(top))
    return "\n\n".join(parts)


def entries_text(entries: Sequence[Entry]) -> str:
    """Return a table of measured signatures."""
    return table([_HEAD, *(_cells(entry) for entry in entries)])


def profile_text(found: Profile, source: str, top: Sequence[Entry]) -> str:
    """Return what pricing a model took, and its dearest signatures."""
    counts = f"{found.measured} measured now, {found.stored} from the store"
    rows = [
        ("signatures", f"{found.signatures}: {counts}, {found.estimated} only estimated"),
        ("seconds", f"{found.seconds:.2f}"),
        ("spread", "nothing was measured" if found.spread is None else _shares(found.spread)),
    ]
    if found.predicted is not None:
        rows.append(("predicted", f"{duration(found.predicted)} for one run"))
    sizes = ", ".join(f"{name}={size}" for name, size in sorted(found.sizes.items()))
    if sizes:
        rows.append(("sizes", f"{sizes} (set others with --dim)"))
    text = aligned(source, rows)
    return f"{text}\n\n{entries_text(top)}" if top else text


def store_dict(path: str, found: Sequence[ContextSummary], top: Sequence[Entry]) -> dict[str, Any]:
    """Return what the store holds as plain values."""
    return {"path": path, "contexts": plain(found), "top": plain(top)}


def _title(context: Context) -> str:
    threads = "1 thread" if context.threads == 1 else f"{context.threads} threads"
    return f"{context.runtime}, {context.processor}, {threads}"


def _summary_rows(found: ContextSummary) -> list[tuple[str, str]]:
    rows = [("prices", f"{found.measured} measured, {found.faults} that cannot be")]
    if found.measured:
        rows.append(("measured", f"{_day(found.oldest)} to {_day(found.newest)}"))
    if found.spread is not None:
        rows.append(("spread", _shares(found.spread)))
    machine = found.machine
    if machine is None:
        rows.append(("machine", "not calibrated"))
    else:
        rows.append(
            (
                "machine",
                f"{amount(machine.flops_per_second, 'flops')}/s, "
                f"{amount(machine.bytes_per_second, 'bytes')}/s from memory, "
                f"{amount(machine.cache_bytes_per_second, 'bytes')}/s from cache, "
                f"{duration(machine.launch_seconds)} a launch",
            )
        )
    if found.error is not None and found.ratio is not None:
        rows.append(("roofline", _error_text(found.error, found.ratio)))
    return rows


def _error_text(error: Figures, ratio: float) -> str:
    factors = f"a factor {math.exp(error.median):.2f}, 90 % within {math.exp(error.most):.2f}"
    logs = f"|log ratio| {error.median:.2f} and {error.most:.2f}"
    return f"half of the prices within {factors} ({logs}); measured / estimated is {ratio:.2f}"


def _shares(found: Figures) -> str:
    return f"median {found.median:.1%}, 90 % at most {found.most:.1%}"


def _cells(entry: Entry) -> tuple[str, ...]:
    stored = entry.stored
    return (
        signature_text(entry.signature),
        duration((stored.nanoseconds or 0) * 1e-9),
        f"{stored.spread:.1%}",
        duration(stored.estimate * 1e-9),
    )


def signature_text(signature: str) -> str:
    """Return operators and leaves of a signature in short."""
    operators, leaves = [], []
    for line in signature.rpartition(" @")[0].split("; "):
        kind, _, rest = line.partition(" ")
        if kind in ("input", "weight"):
            leaves.append(rest if kind == "input" else f"{kind} {rest}")
        elif "(%" in line:
            operators.append(line.partition("(%")[0].partition("{")[0])
    text = f"{'+'.join(operators)}({', '.join(leaves)})"
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
