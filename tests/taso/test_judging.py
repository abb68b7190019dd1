"""Wrong rules of TASO are refuted, narrowed where that helps, and what is written loads again."""

from __future__ import annotations

import itertools
import runpy

import pytest

from tensaur.ir.rule import Rule
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.proving.proofs import scope
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


UNSTATED = rule([operator(5, -1, -2)], [operator(5, -2, -1)], ((0, 0), (0, 0)))
# With an empty axis inside, a NaN of the third operand is lost on one side: no reason to refute it.
ASSOCIATE_THREE = rule(
    [matmul(-1, -2), matmul((0, 0), -3), matmul((1, 0), -3)],
    [matmul(-2, -3), matmul((0, 0), -3), matmul(-1, (1, 0))],
    ((2, 0), (2, 0)),
)

SOME = {
    "associate": ASSOCIATE,
    "associate-three": ASSOCIATE_THREE,
    "fuse-relu": FUSE_RELU,
    "join-filters": JOIN_FILTERS,
    "share-factor": SHARE_FACTOR,
    "lose-factor": LOSE_FACTOR,
    "sum-order": SUM_ORDER,
    "sum-order-again": SUM_ORDER_AGAIN,
    "convolved-sum": CONVOLVED_SUM,
    "parts-swapped": PARTS_SWAPPED,
    "swapped": SWAPPED,
    "unstated": UNSTATED,
    "no-instance": NO_INSTANCE,
    "contradictory": rule([operator(ADD, -1)], [operator(ADD, -1, -1)], ((0, 0), (0, 0))),
}


@pytest.fixture(scope="module", autouse=True)
def few_attempts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 200)
        yield


def judged(*rules, say=lambda message: None, seconds=60.0):
    return judge(parse_rules(collection(*rules)), say, seconds=seconds)


@pytest.fixture(scope="module")
def some(few_attempts):
    """Return what becomes of the rules above, judged together, by their names."""
    return dict(zip(SOME, judged(*SOME.values()), strict=True))


def test_what_drops_a_factor_is_refuted(some):
    found = some["lose-factor"]
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed is None
    assert "Mul(" in found.counterexample.text()


@pytest.mark.parametrize("name", ["parts-swapped", "swapped"])
def test_what_is_wrong_is_refuted(some, name):
    assert some[name].outcome is Outcome.REFUTED
    assert some[name].counterexample is not None


def test_what_is_wrong_for_groups_is_refuted_and_proved_where_narrowed(some):
    found = some["join-filters"]
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed.rule.name == f"taso-{found.number}-ungrouped"
    assert found.narrowed.outcome is Outcome.PROVED
    assert "conv-of-joined-filters" in found.narrowed.axioms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "narrowed"),
    [
        (JOIN_FILTERS, "taso-0-ungrouped"),
        (SUM_OF_CONVOLUTIONS, "taso-0-ungrouped"),
        (JOIN_GROUPS, "taso-0-ungrouped-alike"),
    ],
)
def test_narrowed_forms_hold_on_other_instances(data, narrowed):
    (found,) = judged(data)
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed.rule.name == narrowed
    assert found.narrowed.outcome is Outcome.PROVED
    assert verify(found.narrowed.rule, seed=5).verified


@pytest.mark.parametrize(
    ("name", "axiom"),
    [
        ("associate", "matmul-associates"),
        ("associate-three", "matmul-associates"),
        ("share-factor", "split-"),
        ("sum-order", "sum-associates"),
        ("convolved-sum", "conv-of-filters"),
    ],
)
def test_what_is_right_is_proved(some, name, axiom):
    found = some[name]
    assert found.outcome is Outcome.PROVED
    assert found.answer.instances == 40
    assert any(name.startswith(axiom) for name in found.answer.axioms)


def test_proofs_of_convolutions_cover_groups(some):
    proved = scope(some["convolved-sum"].answer.proofs[0].proved)
    assert set(proved["Conv group"]) >= {"1", "2"}


def test_without_proofs_rules_are_tested():
    found = judged(SUM_ORDER, NO_INSTANCE, SWAPPED, seconds=None)
    outcomes = [item.outcome for item in found]
    assert outcomes == [Outcome.TESTED, Outcome.UNKNOWN, Outcome.REFUTED]
    assert found[0].answer.proofs == ()
    assert found[0].answer.instances > 40


def test_without_time_rules_are_tested_and_the_reason_is_said():
    (found,) = judged(SUM_ORDER, seconds=0.0)
    assert found.outcome is Outcome.TESTED
    assert found.reason
    assert found.reason in table_text([found])
    assert f"# Tested on {found.answer.instances} instances, not proved." in file_text(
        "some.pb", [found]
    )


def test_every_rule_has_its_outcome_and_reason(some):
    assert [item.number for item in some.values()] == list(range(len(SOME)))
    assert some["fuse-relu"].outcome is Outcome.SAME
    assert some["sum-order-again"].outcome is Outcome.PROVED
    assert some["sum-order-again"].same_as == some["sum-order"].number
    for name, reason in (
        ("unstated", "operator type 5 is none of those known here"),
        ("no-instance", "no instance was found on which it applies"),
        ("contradictory", "source operator 0: add has 1 inputs"),
    ):
        assert some[name].outcome is Outcome.UNKNOWN
        assert some[name].reason == reason


def test_the_table_has_all_rules_and_counts_them(some):
    assert count(list(some.values())) == (
        "14 rules: 6 proved, 0 tested only, 1 that say nothing here, "
        "4 refuted (1 of them hold where narrowed, 1 of these proved), 3 unknown"
    )
    lines = table_text(list(some.values())).splitlines()
    assert lines[0] == " 0  proved   (a@b)@c => a@(b@c)"
    assert lines[1] == "               for all sizes, by matmul-associates"
    assert " 7  as 6     a + (b + c) => b + (c + a)" in lines
    assert "               proved as taso-3-ungrouped" in lines
    assert all(len(line) <= 80 for line in lines)


def test_what_is_tried_is_said():
    said = []
    judged(SWAPPED, LOSE_FACTOR, say=said.append)
    assert said[:2] == ["trying taso-0", "trying taso-1"]


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


def test_the_file_defines_the_rules_that_were_judged(some, tmp_path):
    text = file_text("some.pb", list(some.values()))
    variables = run(text, tmp_path)
    holding = [
        some["join-filters"].narrowed.rule if name == "join-filters" else some[name].rule
        for name in (
            "associate", "associate-three", "join-filters", "share-factor", "sum-order",
            "convolved-sum",
        )
    ]  # fmt: skip
    assert list(variables["RULES"]) == holding
    assert list(variables["SAME"]) == [some["fuse-relu"].rule]
    wrong = ("join-filters", "lose-factor", "parts-swapped", "swapped")
    assert list(variables["REFUTED"]) == [some[name].rule for name in wrong]
    assert list(variables["UNKNOWN"]) == [some["no-instance"].rule]
    for name, item in some.items():
        assert f": {item.equation or 'not stated'}" in text or name == "sum-order-again"
    assert "# 6, 7: a + (b + c) => c + (b + a)" in text
    assert "# taso-5 is wrong here: " in text
    assert "# Proved for all sizes from matmul-associates." in text
    assert "# Wrong as it stands, and narrowed to where it holds." in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_strange_file_names_do_no_harm(tmp_path):
    text = file_text('"""\n\\x\u2028ä.pb', judged(ASSOCIATE, seconds=None))
    assert len(run(text, tmp_path)["RULES"]) == 1


def test_a_file_without_any_rule_loads(tmp_path):
    found = judged(UNSTATED)
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
