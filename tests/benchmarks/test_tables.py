"""The table: failures and differences are shown, and count as no gain."""

import pytest

from benchmarks.latency import chosen
from benchmarks.measure import Measured, Ratio
from benchmarks.tables import Row, as_markdown, as_text

NAMES = ("control", "tensaur", "peer")
ABOUT = {"command": "python -m x", "processor": "chip", "python": "3"}


def _row(name: str, **ratios: Ratio) -> Row:
    faults = {} if "peer" in ratios else {"peer": "crashed: SIGSEGV"}
    return Row(name, "shipped", Measured(0.002, ratios, faults), {})


ROWS = [
    _row(
        "one",
        control=Ratio(1.0, 0.9, 1.1),
        tensaur=Ratio(4.0, 3.9, 4.1),
        peer=Ratio(9.0, 8.0, 9.5, equal=False, reason="output 'y': 3 % differ"),
    ),
    _row("two", control=Ratio(1.0, 0.9, 1.1), tensaur=Ratio(1.0, 0.9, 1.1)),
]


@pytest.mark.parametrize("form", [as_text, as_markdown])
def test_both_forms_tell_the_same(form) -> None:
    text = form(ROWS, NAMES, ABOUT)
    mean = next(line for line in text.splitlines() if "mean of shipped" in line)
    assert [word for word in mean.replace("|", " ").split() if "." in word] == [
        "1.000", "2.000", "1.000",
    ]  # fmt: skip
    assert "9.000 (8.00-9.50) differs" in text
    assert "one, peer: outputs differ: output 'y': 3 % differ" in text
    assert "two, peer: crashed: SIGSEGV" in text
    assert "python -m x" in text


def test_soundness() -> None:
    assert ROWS[0].is_sound("tensaur")
    assert not ROWS[0].is_sound("peer")
    assert not ROWS[1].is_sound("peer")


def test_choice_of_models() -> None:
    everything = {entry.name for entry in chosen([], False, True)}
    standard = {entry.name for entry in chosen([], False, False)}
    assert standard < everything
    assert {entry.name for entry in chosen([], True, False)} <= standard
    assert [entry.name for entry in chosen(["magika"], True, False)] == ["magika"]
    with pytest.raises(SystemExit, match="no model 'nothing'"):
        chosen(["nothing"], False, False)
