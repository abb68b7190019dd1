import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from tensaur import report
from tensaur.egraph.record import Iteration, RuleRecord, Seconds
from tests.small import small_result

KEYS = {
    "schema",
    "kept_original",
    "reason",
    "speedup",
    "speedup_interval",
    "latency_before_seconds",
    "latency_after_seconds",
    "cost_before",
    "cost_after",
    "cost_unit",
    "nodes_before",
    "nodes_after",
    "rewrites",
    "trusted",
    "stop",
    "iterations",
    "extraction",
    "comparison",
    "seconds",
    "sizes",
    "metrics",
    "limits",
    "advice",
}


class Colour(Enum):
    RED = 1


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    colour: Colour
    items: tuple[int, ...]
    _hidden: int = 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Record("a", Colour.RED, (1, 2)), {"name": "a", "colour": "red", "items": [1, 2]}),
        (float("nan"), None),
        (float("inf"), None),
        (np.float32(0.5), 0.5),
        (np.arange(3), [0, 1, 2]),
        ({1: {2.5}}, {"1": [2.5]}),
        (Path("a/b"), "a/b"),
        ((True, None, "x"), [True, None, "x"]),
    ],
)
def test_plain_values(value, expected):
    assert report.plain(value) == expected


def test_the_report_has_stable_keys_and_is_json(tmp_path):
    values = report.as_dict(small_result())
    assert set(values) == KEYS
    path = tmp_path / "report.json"
    report.save_json(values, path)
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["speedup"] == 1.5
    assert read["rewrites"][0] == {"rule": "matmul-associate", "count": 2, "share": None}
    assert read["comparison"]["outputs"][0]["name"] == "y"


def test_iterations_name_the_rules_that_found_something():
    rules = (
        RuleRecord("matmul-associate", 3, 2, 1, 0, {}),
        RuleRecord("elementwise-add-zero", 0, 0, 0, 0, {}),
    )
    (record,) = report.as_dict(small_result(records=(Iteration(0, rules, 9, 8, 1, Seconds()),)))[
        "iterations"
    ]
    assert (record["nodes"], record["classes"], record["banned"]) == (9, 8, 1)
    assert [rule["rule"] for rule in record["rules"]] == ["matmul-associate"]
