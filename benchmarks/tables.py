"""The latency table as text and as Markdown: one row a model, geometric means below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.environment import environment_text
from benchmarks.measure import Measured


@dataclass(frozen=True, slots=True)
class Row:
    """One model: its group, what timing gave, and the seconds that each optimiser took."""

    name: str
    group: str
    measured: Measured
    seconds: Mapping[str, float]

    def is_sound(self, contestant: str) -> bool:
        """Tell whether a contestant gave a model that runs and has equal outputs."""
        found = self.measured.ratios.get(contestant)
        return found is not None and found.equal


def as_text(rows: Sequence[Row], names: Sequence[str], about: Mapping[str, str]) -> str:
    """Return the table as aligned text, with notes on what went wrong."""
    head = ["model", "ms", *names]
    body = [head, *_body(rows, names), *_means(rows, names)]
    widths = [max(len(line[column]) for line in body) for column in range(len(head))]
    lines = ["  ".join(_pad(line, widths)).rstrip() for line in body]
    return "\n".join([environment_text(about), "", *lines, "", *_notes(rows)]).rstrip()


def as_markdown(rows: Sequence[Row], names: Sequence[str], about: Mapping[str, str]) -> str:
    """Return the table as Markdown."""
    head = ["model", "unchanged, ms", *names]
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *_body(rows, names), *_means(rows, names)]
    table = ["| " + " | ".join(line) + " |" for line in lines]
    notes = [f"- {note}" for note in _notes(rows)]
    return "\n".join(["```", environment_text(about), "```", "", *table, "", *notes]).rstrip()


def _body(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    return [
        [row.name, f"{row.measured.seconds * 1e3:.3f}", *(_cell(row, name) for name in names)]
        for row in rows
    ]


def _cell(row: Row, name: str) -> str:
    found = row.measured.ratios.get(name)
    if found is None:
        return "failed"
    text = f"{found.ratio:.3f} ({found.low:.2f}-{found.high:.2f})"
    return text if found.equal else f"{text} differs"


def _means(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """Return geometric means by group and over all; what failed or differs counts as unchanged."""
    groups = list(dict.fromkeys(row.group for row in rows))
    parts = {f"mean of {group}": [row for row in rows if row.group == group] for group in groups}
    if len(groups) > 1:
        parts["mean of all"] = list(rows)
    return [
        [title, "", *(f"{geometric_mean(_gain(row, name) for row in part):.3f}" for name in names)]
        for title, part in parts.items()
    ]


def _gain(row: Row, name: str) -> float:
    return row.measured.ratios[name].ratio if row.is_sound(name) else 1.0


def _notes(rows: Sequence[Row]) -> list[str]:
    notes = []
    for row in rows:
        notes += [f"{row.name}, {name}: {fault}" for name, fault in row.measured.faults.items()]
        notes += [
            f"{row.name}, {name}: outputs differ: {ratio.reason}"
            for name, ratio in row.measured.ratios.items()
            if not ratio.equal
        ]
    return notes


def _pad(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if column == 0 else text.rjust(width)
        for column, (text, width) in enumerate(zip(line, widths, strict=True))
    ]
