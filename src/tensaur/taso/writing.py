"""The Python file that imported rules are written to: those that hold, and what became of the others."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensaur.taso.equation import Window, operations
from tensaur.taso.judging import Answer, Judged, Outcome, count
from tensaur.taso.python_text import WIDTH, Shared, import_lines, rule_lines, variable_lines
from tensaur.taso.statement import literal_window


@dataclass(frozen=True, slots=True)
class _Section:
    """Rules that are kept beside those that hold, under a name of their own."""

    outcome: Outcome
    name: str
    what: tuple[str, ...]


_SECTIONS = (
    _Section(
        Outcome.SAME,
        "SAME",
        ("Both sides are one term, since activations are operators of their own here.",),
    ),
    _Section(
        Outcome.REFUTED,
        "REFUTED",
        ("Wrong, as the example above each one shows. Kept for reading; nothing uses them.",),
    ),
    _Section(
        Outcome.UNKNOWN,
        "UNKNOWN",
        (
            "Neither shown to hold nor refuted, for the reasons given.",
            "Those that are moved to RULES are used if --trust is given.",
        ),
    ),
)


def file_text(name: str, judged: Sequence[Judged]) -> str:
    """Return the text of the Python file for the rules of the file called `name`."""
    shared = _windows(judged)
    answers = [one for item in judged for one in (item.answer, item.narrowed) if one is not None]
    rules = [answer.rule for answer in answers]
    lines = [*_docstring(name, judged), "", *import_lines(rules), "", *variable_lines(rules)]
    if shared:
        lines += [
            "",
            "# Strides, pads and dilations of convolutions, by TASO's padding and kernel.",
        ]
        lines += [f"{item.name} = {_mapping(item)}" for item in shared]
    lines += ["", "RULES = ("]
    for item in judged:
        lines += _holding(item, judged, shared)
    lines += [")"]
    for section in _SECTIONS:
        chosen = [
            item for item in judged if item.outcome is section.outcome and item.same_as is None
        ]
        if chosen:
            lines += ["", *(f"# {line}" for line in section.what), f"{section.name} = ("]
            lines += [line for item in chosen for line in _kept(item, judged, shared)]
            lines += [")"]
    return "".join(f"{line}\n" for line in lines)


def _docstring(name: str, judged: Sequence[Judged]) -> Iterator[str]:
    plain = re.sub(r"[^\w.-]", "?", name, flags=re.ASCII)
    yield f'"""TASO\'s rules of {plain} as rules of Tensaur.'
    yield ""
    yield from textwrap.wrap(f"{count(judged)}.", WIDTH)
    yield "Written by `tensaur rules import-taso`; use it with `tensaur optimize MODEL.ONNX --rules`."
    yield '"""'


def _holding(item: Judged, judged: Sequence[Judged], shared: Sequence[Shared]) -> Iterator[str]:
    for answer in (item.answer, item.narrowed):
        if answer is not None and answer.holds:
            yield _title(item, judged)
            if answer is item.narrowed:
                yield "    # Wrong as it stands, and narrowed to where it holds."
            yield from (_clipped(f"    # {line}") for line in _standing(answer))
            yield from rule_lines(answer.rule, shared)


def _standing(answer: Answer) -> Iterator[str]:
    """Yield what a rule that holds rests on."""
    if answer.outcome is Outcome.PROVED:
        yield f"Proved for {answer.reach} from {', '.join(answer.axioms)}."
        return
    yield f"Tested on {answer.instances} instances, not proved."
    if answer.reason:
        yield answer.reason


def _kept(item: Judged, judged: Sequence[Judged], shared: Sequence[Shared]) -> Iterator[str]:
    yield _title(item, judged)
    if item.reason:
        yield _clipped(f"    # {item.reason}")
    if item.counterexample is not None:
        for line in item.counterexample.text().splitlines():
            yield _clipped(f"    # {line}")
    if item.rule is not None:
        yield from rule_lines(item.rule, shared)


def _title(item: Judged, judged: Sequence[Judged]) -> str:
    same = [other.number for other in judged if other.same_as == item.number]
    numbers = ", ".join(map(str, (item.number, *same)))
    return _clipped(f"    # {numbers}: {item.equation or 'not stated'}")


def _clipped(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def _windows(judged: Sequence[Judged]) -> tuple[Shared, ...]:
    """Return the attributes of all convolutions whose pads are given, under a name each."""
    equations = [item.equation for item in judged if item.equation is not None]
    found: dict[str, Shared] = {}
    for equation in equations:
        for operation in operations((*equation.finds, *equation.makes)):
            attributes = None if operation.window is None else literal_window(operation.window)
            if operation.window is not None and attributes is not None:
                name = _window_name(operation.window)
                found.setdefault(name, Shared(name, attributes))
    return tuple(found.values())


def _window_name(window: Window) -> str:
    mode = "same" if window.same else "valid"
    kernel = "any" if window.kernel is None else "x".join(map(str, window.kernel))
    steps = "" if window.strides == (1, 1) else f"_by_{'x'.join(map(str, window.strides))}"
    return f"{mode}_{kernel}{steps}"


def _mapping(item: Shared) -> str:
    return (
        f"{{{', '.join(f'{key!r}: {value}' for key, value in item.attributes.items())}}}".replace(
            "'", '"'
        )
    )
