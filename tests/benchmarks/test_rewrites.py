"""Rows of rewrites: each is a model in unrewritten form, and the table says what became of it."""

from collections import Counter

import numpy as np
import onnx
import pytest

from benchmarks import rewrites
from benchmarks.measure import Ratio
from benchmarks.models.builder import to_model
from benchmarks.models.exports import channels_last
from benchmarks.models.unrewritten import NOT, Form
from benchmarks.rewrites import QUICK, ROWS, Found, Plan, Row, chosen, feeds, run, table
from tensaur.runtime.choice import open_session

SMALL = [shape for shape in ROWS if shape.group != "whole network"]
# Either is intended: merged or not is for measurement to decide.
EITHER = ("three products of one input",)


@pytest.mark.parametrize("shape", SMALL, ids=lambda shape: shape.name)
def test_a_row_is_a_sound_model_in_unrewritten_form(shape):
    graph = shape.build()
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    first, second = (open_session(model.SerializeToString()).run(feeds(graph, 0)) for _ in range(2))
    for name, array in first.items():
        assert np.all(np.isfinite(array)), name
        np.testing.assert_array_equal(array, second[name])
    counts = Counter(node.op_type for node in model.graph.node)
    assert shape.form.reached(counts, 1.0) == (shape.group == NOT or shape.name in EITHER)


def test_names_are_distinct():
    assert len({shape.name for shape in ROWS}) == len(ROWS)
    assert set(QUICK) < {shape.name for shape in ROWS}


def test_the_export_has_fifty_transposes():
    counts = Counter(node.op_type for node in to_model(channels_last(4, size=16)).graph.node)
    assert counts["Transpose"] == 50
    for kind in ("Pad", "Concat", "Mul", "MaxPool", "AveragePool", "GlobalAveragePool"):
        assert counts[kind]


def test_a_form_counts_operators_and_work():
    form = Form(most={"MatMul": 1}, least={"Add": 1}, work=0.5)
    assert form.reached({"MatMul": 1, "Add": 2}, 0.5)
    assert not form.reached({"MatMul": 2, "Add": 2}, 0.5)
    assert not form.reached({"MatMul": 1}, 0.5)
    assert not form.reached({"Add": 1}, 0.6)


def _row(reached, kept=False, group="algebra", equal=True):
    found = Found((("a", 2), ("b", 1)), {}, 1.0, kept, "why", 1234, "saturated", 1.0)
    return Row("row", group, 1e-3, Ratio(2.0, 1.9, 2.1, equal), reached, found)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (_row(True), "reached"),
        (_row(True, kept=True), "reached, not faster"),
        (_row(True, kept=True, group=NOT), "reached"),
        (_row(False), "not reached"),
        (_row(True, equal=False), "differs"),
    ],
)
def test_the_table_says_what_became_of_a_row(row, verdict):
    (line,) = table([row]).body
    assert line == ["row", row.group, "1.000", "2.00 (1.90-2.10)", verdict, "1,234", "a x2, b"]


def test_an_unknown_row_is_named():
    with pytest.raises(SystemExit, match="no row 'nothing'"):
        chosen(["nothing"], quick=False)


@pytest.mark.slow
def test_a_row_is_run(tmp_path):
    (shape,) = (item for item in ROWS if item.name == "x*A*B, square")
    row = run(shape, Plan(6.0, 6.0, 1.0), tmp_path)
    assert row.reached
    assert row.ratio.equal
    assert row.ratio.low > 1
    assert "matmul-associate" in dict(row.found.rules)


def test_what_fails_is_left_out(monkeypatch, capsys):
    def broken(*arguments):
        raise rewrites.RuntimeFailure("no memory")

    monkeypatch.setattr(rewrites, "apart", broken)
    assert rewrites.main(["--quick"]) == 1
    assert "x*A*B, square: left out: no memory" in capsys.readouterr().err
