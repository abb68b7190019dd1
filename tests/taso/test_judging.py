"""Wrong rules of TASO are refuted, narrowed where that helps, and what is written loads again."""

from __future__ import annotations

import itertools
import runpy

import pytest

from tensaur.ir.rule import Rule
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.synth.verify import verify
from tensaur.taso import Outcome, file_text, judge, table_text
from tensaur.taso.conditions import groups
from tensaur.taso.drawing import drawn
from tensaur.taso.equation import equation
from tensaur.taso.judging import count
from tensaur.taso.statement import state
from tensaur.taso.wire import parse_rules
from tests.taso.files import (
    ADD,
    ASSOCIATE,
    FUSE_RELU,
    JOIN_FILTERS,
    LOSE_FACTOR,
    MUL,
    RELU,
    SHARE_FACTOR,
    SUM_ORDER,
    SUM_ORDER_AGAIN,
    collection,
    concat,
    conv,
    matmul,
    operator,
    rule,
    split,
)

SUM_OF_CONVOLUTIONS = rule(
    [conv(-1, -10), conv(-2, -11), operator(ADD, (0, 0), (1, 0))],
    [concat(1, 4, -1, -2), concat(1, 4, -10, -11), conv((0, 0), (1, 0))],
    ((2, 0), (2, 0)),
)
JOIN_GROUPS = rule(
    [conv(-1, -10), conv(-2, -11), concat(1, 4, (0, 0), (1, 0))],
    [concat(1, 4, -1, -2), concat(0, 4, -10, -11), conv((0, 0), (1, 0))],
    ((2, 0), (2, 0)),
)
CONVOLVED_SUM = rule(
    [operator(ADD, -10, -11), conv(-1, (0, 0))],
    [conv(-1, -10), conv(-1, -11), operator(ADD, (0, 0), (1, 0))],
    ((1, 0), (2, 0)),
)
PARTS_SWAPPED = rule(
    [operator(RELU, -1), operator(RELU, -2)],
    [concat(1, 2, -1, -2), operator(RELU, (0, 0)), split(1, 2, (1, 0))],
    ((0, 0), (2, 1)), ((1, 0), (2, 0)),
)  # fmt: skip
SWAPPED = rule([matmul(-1, -2)], [matmul(-2, -1)], ((0, 0), (0, 0)))
NO_INSTANCE = rule([conv(-1, -10), matmul((0, 0), -2), concat(1, 2, (1, 0), -3)],
                   [conv(-1, -10), matmul((0, 0), -2), concat(1, 2, -3, (1, 0))],
                   ((2, 0), (2, 0)))  # fmt: skip


@pytest.fixture(autouse=True)
def few_attempts(monkeypatch):
    monkeypatch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 1_500)


def judged(*rules, say=lambda message: None):
    return judge(parse_rules(collection(*rules)), say)


def test_what_drops_a_factor_is_refuted():
    (found,) = judged(LOSE_FACTOR)
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed is None
    assert "Mul(" in found.counterexample.text()


@pytest.mark.parametrize(
    ("data", "narrowed"),
    [
        (JOIN_FILTERS, "taso-0-ungrouped"),
        pytest.param(SUM_OF_CONVOLUTIONS, "taso-0-ungrouped", marks=pytest.mark.slow),
        pytest.param(JOIN_GROUPS, "taso-0-ungrouped-alike", marks=pytest.mark.slow),
    ],
)
def test_what_is_wrong_for_groups_is_refuted_and_narrowed(data, narrowed):
    (found,) = judged(data)
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed.name == narrowed
    assert verify(found.narrowed, seed=5).verified


@pytest.mark.parametrize("data", [PARTS_SWAPPED, SWAPPED])
def test_what_is_wrong_is_refuted(data):
    (found,) = judged(data)
    assert found.outcome is Outcome.REFUTED


# With an empty axis inside, a NaN of the third operand is lost on one side: no reason to refute it.
ASSOCIATE_THREE = rule(
    [matmul(-1, -2), matmul((0, 0), -3), matmul((1, 0), -3)],
    [matmul(-2, -3), matmul((0, 0), -3), matmul(-1, (1, 0))],
    ((2, 0), (2, 0)),
)


@pytest.mark.parametrize(
    "data", [ASSOCIATE, ASSOCIATE_THREE, SHARE_FACTOR, SUM_ORDER, CONVOLVED_SUM]
)
def test_what_is_right_holds(data):
    (found,) = judged(data)
    assert found.outcome is Outcome.VERIFIED
    assert found.instances >= 8


def test_every_rule_has_its_outcome_and_reason():
    said = []
    unknown = rule([operator(5, -1, -2)], [operator(5, -2, -1)], ((0, 0), (0, 0)))
    found = judged(SUM_ORDER, FUSE_RELU, SUM_ORDER_AGAIN, unknown, NO_INSTANCE, say=said.append)
    outcomes = [item.outcome for item in found]
    assert outcomes == [
        Outcome.VERIFIED, Outcome.SAME, Outcome.VERIFIED, Outcome.UNKNOWN, Outcome.UNKNOWN,
    ]  # fmt: skip
    assert [item.same_as for item in found] == [None, None, 0, None, None]
    assert found[3].reason == "operator type 5 is none of those known here"
    assert found[4].reason == "no instance was found on which it applies"
    assert said == [f"trying rule {i} of 5" for i in range(5)]
    assert count(found) == "5 rules: 2 hold, 1 say nothing here, 0 are refuted, 2 are unknown"
    lines = table_text(found).splitlines()
    assert lines[0] == "0  verified  a + (b + c) => c + (b + a)"
    assert "2  as 0      a + (b + c) => b + (c + a)" in lines
    assert all(len(line) <= 80 for line in lines)


# Instances made for a rule.


def test_made_instances_have_groups_and_unequal_weights():
    (record,) = parse_rules(collection(JOIN_GROUPS))
    statement = state(equation(0, record))
    pairs = itertools.islice(
        drawn(statement.rule, statement.values, statement.equation, 0, 2_000), 60
    )
    shapes = [
        {name: leaf.type.static_shape for name, leaf in instance.leaves.items()}
        for instance, _ in pairs
    ]
    assert len(shapes) == 60
    assert {item["x"][1] // item["w"][1] for item in shapes} >= {1, 2}
    assert any(item["w"][0] != item["v"][0] for item in shapes)
    assert any(item["x"][1] != item["y"][1] for item in shapes)


# The file.


def run(text, folder):
    path = folder / "taso.py"
    path.write_text(text, encoding="utf-8")
    return runpy.run_path(str(path))


def test_the_file_defines_the_rules_that_were_judged(tmp_path):
    found = judged(ASSOCIATE, FUSE_RELU, JOIN_FILTERS, SHARE_FACTOR, LOSE_FACTOR)
    text = file_text("some.pb", found)
    variables = run(text, tmp_path)
    holding = [found[0].rule, found[2].narrowed, found[3].rule]
    assert list(variables["RULES"]) == holding
    assert list(variables["SAME"]) == [found[1].rule]
    assert list(variables["REFUTED"]) == [found[2].rule, found[4].rule]
    assert "UNKNOWN" not in variables
    for item in found:
        assert f"# {item.number}: {item.equation}" in text
    assert "# taso-4 is wrong here: " in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_repeated_rules_are_written_once(tmp_path):
    found = judged(SUM_ORDER, SUM_ORDER_AGAIN)
    text = file_text("some.pb", found)
    assert [item.name for item in run(text, tmp_path)["RULES"]] == ["taso-0"]
    assert "# 0, 1: a + (b + c) => c + (b + a)" in text


def test_strange_file_names_do_no_harm(tmp_path):
    text = file_text('"""\n\\x\u2028ä.pb', judged(ASSOCIATE))
    assert len(run(text, tmp_path)["RULES"]) == 1


def test_a_file_without_any_rule_loads(tmp_path):
    found = judged(rule([operator(5, -1, -2)], [operator(5, -2, -1)], ((0, 0), (0, 0))))
    variables = run(file_text("some.pb", found), tmp_path)
    assert variables["RULES"] == variables["UNKNOWN"] == ()


@pytest.mark.parametrize("strides", [(1, 1), (2, 1)])
def test_windows_and_attributes_are_written_as_they_are(tmp_path, strides):
    data = rule(
        [conv(-1, -10, kernel=(1, 2), strides=strides), operator(MUL, (0, 0), (0, 0))],
        [conv(-1, -10, kernel=(1, 2), strides=strides), operator(ADD, (0, 0), (0, 0))],
        ((1, 0), (1, 0)),
    )
    (found,) = judged(data)
    (written,) = run(file_text("some.pb", [found]), tmp_path)["REFUTED"]
    assert isinstance(written, Rule)
    assert written == found.rule


def test_groups_are_those_of_the_channels():
    def fact(*shape):
        return Fact(TensorType(DType.FLOAT32, shape))

    assert groups.function(fact(1, 6, 4, 4), fact(4, 3, 1, 1)) == 2
    for data, weight in itertools.product(
        [(1, 6, 4, 4)], [(4, 4, 1, 1), (3, 3, 1, 1), (4, 0, 1, 1)]
    ):
        with pytest.raises(ValueError, match="do not fit"):
            groups.function(fact(*data), fact(*weight))
