"""Tables as aligned text and as Markdown, and the one of latencies: a row a model, means below."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from benchmarks.environment import environment_text
from benchmarks.measure import Measured


@dataclass(frozen=True, slots=True)
class Table:
    """Cells by row, numbers to the right but for the first column; what to know before, and notes."""

    head: Sequence[str]
    body: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    title: str = ""
    remark: str = ""

    def text(self) -> str:
        """Return the table as aligned text."""
        lines = [self.head, *self.body]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.head))]
        table = "\n".join("  ".join(_pad(line, widths)).rstrip() for line in lines)
        remark = textwrap.fill(self.remark, WIDTH)
        return _joined([self.title, remark, table, "\n".join(self.notes)])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.body]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        title = self.title and f"### {self.title}"
        remark = textwrap.fill(self.remark, WIDTH)
        return _joined([title, remark, table, "\n".join(f"- {note}" for note in self.notes)])


# Of lines of running text.
WIDTH = 110


def tables_text(tables: Sequence[Table], about: Mapping[str, str]) -> str:
    """Return tables as text, below what they rest on."""
    return _joined([environment_text(about), *(table.text() for table in tables)])


def tables_markdown(tables: Sequence[Table], about: Mapping[str, str]) -> str:
    """Return tables as Markdown, below what they rest on."""
    head = f"```\n{environment_text(about)}\n```"
    return _joined([head, *(table.markdown() for table in tables)])


def _joined(paragraphs: Sequence[str]) -> str:
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _pad(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        text.ljust(width) if column == 0 else text.rjust(width)
        for column, (text, width) in enumerate(zip(line, widths, strict=True))
    ]


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
    """Return the latency table as aligned text, with notes on what went wrong."""
    return tables_text([_latency(rows, names, "ms")], about)


def as_markdown(rows: Sequence[Row], names: Sequence[str], about: Mapping[str, str]) -> str:
    """Return the latency table as Markdown."""
    return tables_markdown([_latency(rows, names, "unchanged, ms")], about)


def _latency(rows: Sequence[Row], names: Sequence[str], unchanged: str) -> Table:
    body = [*_body(rows, names), *_means(rows, names)]
    return Table(["model", unchanged, *names], body, _notes(rows))


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
