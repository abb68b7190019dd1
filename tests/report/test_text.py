import math
from dataclasses import replace

import pytest

from tensaur import report
from tensaur.comparison import SideBySide
from tensaur.cost.metrics import Metrics
from tensaur.report.text import amount, duration
from tensaur.result import ExtractionSummary, Latency
from tensaur.runtime.compare import Comparison, Difference
from tensaur.runtime.timing import Estimate
from tests.small import small_result


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0.00 ns"), (2.5e-9, "2.50 ns"), (3e-6, "3.00 us"), (0.0125, "12.50 ms"), (61, "61.00 s")],
)
def test_durations(seconds, expected):
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1_500_000, "ns", "1.50 ms"),
        (1_500_000, "flops", "1.50 MFLOP"),
        (999, "bytes", "999 B"),
        (12_000, "launches", "12000 launches"),
        (3, "", "3"),
    ],
)
def test_amounts(value, unit, expected):
    assert amount(value, unit) == expected


def test_a_faster_result_names_times_rewrites_and_proof():
    text = report.result_text(small_result(), "a.onnx", "b.onnx")
    assert "3.00 ms -> 2.00 ms, 1.50x as fast (95 % interval 1.45 to 1.55)" in text
    assert "matmul-associate x2, elementwise-add-zero x1" in text
    assert "12 -> 8" in text
    assert "optimal" in text
    assert "outputs equal, greatest error 1e-06" in text
    assert text.splitlines()[0] == "a.onnx"
    assert text.splitlines()[-1].split() == ["written", "b.onnx"]


def test_a_kept_original_is_said_plainly():
    result = small_result(kept_original=True, reason="no gain above 1.0% shown", rewrites=())
    text = report.result_text(result)
    assert "the original is kept: no gain above 1.0% shown" in text
    assert "faster" not in text
    assert "none" in text


def test_a_model_that_was_not_timed_faster_says_why_it_is_new():
    result = small_result(latency=Latency(2e-3, 2e-3, 1.0, (0.99, 1.01)), reason="fewer launches")
    text = report.result_text(result)
    assert "a new model: fewer launches" in text
    assert "faster" not in text


def test_what_was_not_priced_has_no_cost():
    result = small_result(kept_original=True, cost_before=0, cost_after=0, extraction=None)
    lines = report.result_text(result).split("\n")
    assert ["cost", "not", "estimated"] in [line.split() for line in lines]


def test_what_was_not_done_is_said():
    result = small_result(latency=None, comparison=None, extraction=None, sizes={})
    text = report.result_text(result)
    assert "not measured" in text
    assert "outputs were not compared" in text
    assert "extracted" not in text
    assert "sizes" not in text


def side_by_side(low, ratio, high, equal=True):
    outputs = Comparison((Difference("y", equal, 0.5, 0.1, 0.25, "" if equal else "25 % differ"),))
    return SideBySide("", outputs, 2e-3, 1e-3, Estimate(ratio, low, high))


@pytest.mark.parametrize(
    ("low", "ratio", "high", "expected"),
    [
        (1.9, 2.0, 2.1, "the second is faster"),
        (0.4, 0.5, 0.6, "the first is faster"),
        (0.0, 1.1, math.inf, "no difference shown"),
    ],
)
def test_a_comparison_says_which_is_faster(low, ratio, high, expected):
    assert expected in report.side_by_side_text(side_by_side(low, ratio, high), "a", "b")


def test_a_comparison_says_what_differs():
    text = report.side_by_side_text(side_by_side(1, 1, 1, equal=False), "a", "b")
    assert "not equal" in text
    assert "25 % differ" in text
    text = report.side_by_side_text(SideBySide("inputs x and z"), "a", "b")
    assert "not equal: inputs x and z" in text
    assert "latency" not in text


def test_metrics_before_and_after_and_limits():
    before = Metrics(flops=2_000, bytes=5_000, launches=12, size=100, peak_memory=7_000)
    after = replace(before, flops=1_000, launches=8)
    text = report.result_text(
        small_result(
            metrics_before=before, metrics_after=after, limits=("a candidate was dropped",)
        )
    )
    line = "flops 2.00 kFLOP -> 1.00 kFLOP, bytes 5.00 kB, launches 12 -> 8, size 100 B, peak memory 7.00 kB"
    assert f"  metrics    {line}\n" in text
    assert "  limit      a candidate was dropped\n" in text


def test_the_unit_of_a_combination_is_its_text():
    assert amount(1_234_567.5, "latency + 0.1*bytes") == "1.23 M (latency + 0.1*bytes)"
    assert amount(2.5, "mine") == "2.5 (mine)"
    assert amount(2e6, "size") == "2.00 MB"


@pytest.mark.parametrize(
    ("bound", "proved", "words"),
    [
        (2_000_000, True, "proved optimal under this cost model"),
        (1_990_000, False, "within 0.51 % of optimal under this cost model"),
        (1_999_999, False, "within 0.01 % of optimal under this cost model"),
        (1_000_000, False, "within 100 % of optimal under this cost model"),
        (0, False, "not known how far from optimal"),
    ],
)
def test_how_good_the_graph_is(bound, proved, words):
    summary = ExtractionSummary("ilp", 2_000_000, bound, proved, 0.25, "")
    assert words in report.result_text(small_result(extraction=summary))
