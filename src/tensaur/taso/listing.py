"""The table of imported rules for people: number, what became of it, and the equation on one line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tensaur.taso.judging import Judged, Outcome, count

WIDTH = 80
_MORE = " ..."


def table_text(judged: Sequence[Judged]) -> str:
    """Return the table; reasons and narrowed forms stand below their rules."""
    rows = [(str(item.number), _verdict(item), str(item.equation or "")) for item in judged]
    number = max(len(row[0]) for row in rows)
    verdict = max(len(row[1]) for row in rows)
    lines = []
    for item, row in zip(judged, rows, strict=True):
        lines.append(_clipped(f"{row[0]:>{number}}  {row[1]:<{verdict}}  {row[2]}"))
        lines += [_clipped(f"{'':{number}}  {'':{verdict}}  {note}") for note in _notes(item)]
    return "\n".join([*lines, *textwrap.wrap(count(judged), WIDTH)])


def _verdict(item: Judged) -> str:
    return item.outcome.value if item.same_as is None else f"as {item.same_as}"


def _notes(item: Judged) -> Iterator[str]:
    if item.reason:
        yield f"  {item.reason}"
    if item.outcome is Outcome.SAME and item.same_as is None:
        yield "  both sides are one term here"
    if item.outcome is Outcome.PROVED and item.answer is not None:
        yield f"  for {item.answer.reach}, by {', '.join(item.answer.axioms)}"
    if item.narrowed is not None:
        yield f"  {item.narrowed.outcome.value} as {item.narrowed.rule.name}"
        if item.narrowed.reason:
            yield f"    {item.narrowed.reason}"


def _clipped(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= WIDTH else line[: WIDTH - len(_MORE)] + _MORE
