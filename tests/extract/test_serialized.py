"""E-graphs in the egraph-serialize format: read, refused, written and read again."""

import json
from math import inf, nan

import numpy as np
import pytest
from hypothesis import assume, given, settings

from tensaur.errors import ExtractionError
from tensaur.extract.problem import Problem
from tensaur.extract.serialized import from_dict, read, to_dict, write
from tensaur.extract.solve import extract
from tests.extract.oracle import best_cost, problems


def node(cls, *children, cost=1.0, op="f"):
    return {"op": op, "eclass": cls, "children": list(children), "cost": cost}


def test_costs_become_whole():
    found = from_dict(
        {
            "nodes": {"a": node("A", cost=0.25), "b": node("B", "a", "a", cost=1.5, op="g")},
            "root_eclasses": ["B"],
        }
    )
    assert found.scale == 100
    assert found.problem.cost.tolist() == [25, 150]
    assert found.node == ["a", "b"]
    assert found.op == ["f", "g"]
    assert extract(found.problem).cost == 175


def test_costs_in_single_precision_are_what_they_were():
    nodes = {"a": node("A", cost=float(np.float32(0.708439)))}
    found = from_dict({"nodes": nodes, "root_eclasses": ["A"]})
    assert (found.scale, found.problem.cost.tolist()) == (10**6, [708439])


def test_several_roots_are_all_needed():
    nodes = {"a": node("A", cost=2), "b": node("B", cost=3), "c": node("C", cost=5)}
    found = from_dict({"nodes": nodes, "root_eclasses": ["A", "C"]})
    assert extract(found.problem).cost == 7


def test_more_digits_than_fit_are_rounded():
    nodes = {"a": node("A", cost=1 / 3), "b": node("B", "a", cost=1000.0)}
    found = from_dict({"nodes": nodes, "root_eclasses": ["B"]})
    assert found.scale == 10**7
    assert found.problem.cost.tolist() == [3333333, 10**10]


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (-1.0, "node a: the cost -1.0 is negative or not finite"),
        (inf, "negative or not finite"),
        (nan, "negative or not finite"),
        (None, "not a number"),
        ("1", "not a number"),
    ],
)
def test_costs_that_are_no_amounts_are_refused(tmp_path, cost, words):
    path = tmp_path / "e.json"
    path.write_text(json.dumps({"nodes": {"a": node("A", cost=cost)}, "root_eclasses": ["A"]}))
    with pytest.raises(ExtractionError, match=words):
        read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not a JSON file"),
        ("[]", "nodes is missing"),
        ('{"nodes": {}, "root_eclasses": []}', "no root class"),
        ('{"nodes": {}, "root_eclasses": ["A"]}', "root class 'A' has no nodes"),
        (
            '{"nodes": {"a": {"eclass": "A"}}, "root_eclasses": ["A"]}',
            "node a: children is missing",
        ),
        (
            '{"nodes": {"a": {"eclass": "A", "children": ["b"]}}, "root_eclasses": ["A"]}',
            "child 'b' is not a node",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, text, words):
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(ExtractionError, match=words):
        read(path)


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(ExtractionError, match="no such file"):
        read(tmp_path / "none.json")


@given(problems())
@settings(max_examples=40, deadline=None)
def test_what_is_written_has_the_same_optimum(problem):
    best = best_cost(problem)
    assume(best is not None)
    text = json.dumps(to_dict(problem, [f"op{row}" for row in range(problem.row_count)], scale=10))
    found = from_dict(json.loads(text))
    assert best_cost(found.problem) * 10 == best * found.scale


def test_what_cannot_be_computed_is_not_written():
    # Class 1 has no rows, so row 0 of class 0 does not count, nor does it stand for the class.
    problem = Problem.of([[1], [], [0]], [0, 0, 2], [1, 5, 0], root=2)
    contents = to_dict(problem, ["a", "b", "c"])
    assert list(contents["nodes"]) == ["1", "2"]
    assert extract(from_dict(contents).problem).cost == 5


def test_files_are_written(tmp_path):
    found = from_dict(
        {"nodes": {"a": node("A", cost=0.5), "b": node("B", "a")}, "root_eclasses": ["B"]}
    )
    write(found.problem, found.op, tmp_path / "e.json", found.scale)
    again = read(tmp_path / "e.json")
    assert again.op == found.op
    assert np.array_equal(again.problem.cost, found.problem.cost)
    assert np.array_equal(again.problem.child, found.problem.child)
