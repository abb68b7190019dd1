"""Shares of the gain: what is lost without each rule, as far as there is time to find it out."""

import numpy as np
import pytest
from onnx import helper

from tensaur.errors import ExtractionError
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.report import as_dict, result_text
from tensaur.result import Rewrite
from tensaur.shares import with_shares
from tests.runtime.models import FLOAT, model, value

REWRITES = (Rewrite("a", 1), Rewrite("b", 2), Rewrite("c", 1))


def test_shares_are_parts_of_the_gain():
    costs = {"a": 10.0, "b": 8.0, "c": 6.0}
    found = with_shares(REWRITES, 10.0, 6.0, costs.get)
    assert [item.share for item in found] == [1.0, 0.5, 0.0]


def test_a_cost_outside_is_all_or_nothing():
    costs = {"a": 11.0, "b": 5.0, "c": 6.0}
    found = with_shares(REWRITES, 10.0, 6.0, costs.get)
    assert [item.share for item in found] == [1.0, 0.0, 0.0]


def test_nothing_is_asked_once_time_is_over():
    asked = []

    def without(name):
        asked.append(name)
        return 8.0 if name == "a" else None

    found = with_shares(REWRITES, 10.0, 6.0, without)
    assert [item.share for item in found] == [0.5, None, None]
    assert asked == ["a", "b"]


def test_without_a_gain_there_are_no_shares():
    assert with_shares(REWRITES, 6.0, 6.0, lambda name: 6.0) == REWRITES


def test_a_failure_leaves_the_share_open():
    def without(name):
        raise ExtractionError("no graph")

    assert with_shares(REWRITES, 10.0, 6.0, without) == REWRITES


def test_the_rule_that_makes_the_gain_has_all_of_it():
    # x * a * b for ten rows of x: only re-association saves work.
    weights = {name: np.ones((64, 64), np.float32) for name in ("a", "b")}
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["xa"]),
        helper.make_node("MatMul", ["xa", "b"], ["y"]),
    ]
    proto = model(nodes, [value("x", FLOAT, [10, 64])], [value("y", FLOAT, [10, 64])], weights)
    result = optimize(proto, options=Options(cost="flops", gate=False))
    (rewrite,) = result.rewrites
    assert rewrite.rule == "matmul-associate"
    assert rewrite.share == pytest.approx(1.0)
    assert "100% of the gain lost without it" in result_text(result)
    assert as_dict(result)["rewrites"] == [{"rule": "matmul-associate", "count": 1, "share": 1.0}]
