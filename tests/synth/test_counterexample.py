"""A counterexample shows both sides, their data and the first difference."""

from __future__ import annotations

import numpy as np

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Tree, Var
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.ops import Add, Mul, add, matmul, mul, relu, transpose
from tensaur.rules.axes import compose
from tensaur.rules.conditions import like
from tensaur.synth.counterexample import Counterexample, Difference, array_text
from tensaur.synth.settle import Leaf
from tensaur.synth.verify import verify

x, y = Var("x"), Var("y")


def _leaf(*shape: int) -> Leaf:
    kind = TensorType(DType.FLOAT64, shape)
    return Leaf(kind, None, Fact(kind))


def test_text_is_two_graphs_the_data_and_the_difference():
    example = Counterexample(
        "double",
        (Tree(Add(), (x, y)),),
        (Tree(Mul(), (x, y)),),
        {"x": _leaf(2), "y": _leaf()},
        {"x": np.array([2.0, 1.0]), "y": np.array(2.0)},
        (np.array([4.0, 3.0]),),
        (np.array([4.0, 2.0]),),
        Difference(0, "the results differ", (1,)),
    )
    assert example.text() == (
        "double is wrong here: out[1] is found as 3.0 and made as 2.0\n"
        "found\n  input x: f64[2]\n  input y: f64[]\n  %2 = Add(x, y)\n  output out = %2\n"
        "made\n  input x: f64[2]\n  input y: f64[]\n  %2 = Mul(x, y)\n  output out = %2\n"
        "values\n  x = f64[2](2.0, 1.0)\n  y = f64[](2.0)\n"
        "results\n  found out = f64[2](4.0, 3.0)\n  made  out = f64[2](4.0, 2.0)\n"
    )
    assert example.size == 3


def test_large_arrays_are_shortened_and_long_numbers_rounded():
    assert array_text(np.array([1 / 3, 0.25])) == "f64[2](0.333333, 0.25)"
    assert array_text(np.arange(4), limit=2) == "i64[4](0, 1, ...)"
    assert array_text(np.zeros(24, np.float32)).count("0.0") == 24


def test_refuted_rules_carry_their_data():
    rule = Rule("swapped", matmul(x, y), matmul(y, x), (), ROUNDING)
    example = verify(rule).counterexample
    assert example is not None
    assert set(example.data) == set(example.leaves) == {"x", "y"}
    assert [tree.op for tree in example.finds] == [example.makes[0].op]
    assert "MatMul(y, x)" in example.text()
    assert "found out = " in example.text()


def test_several_outputs_are_numbered():
    p = AttrVar("p")
    finds = (transpose(x, perm=p), relu(transpose(y, perm=p)))
    wrong = Rule("second", finds, (finds[0], transpose(y, perm=p)), (), ROUNDING)
    example = verify(wrong).counterexample
    assert example is not None
    assert "output out1 = " in example.text()
    assert example.difference.output == 1


def test_the_data_of_a_counterexample_are_simple():
    rule = Rule("third", add(x, x), mul(x, Const(like(x, 3.0))), (), ROUNDING)
    example = verify(rule).counterexample
    assert example is not None
    assert example.size <= 4
    assert all(abs(array).max() <= 3 for array in example.data.values())


def test_a_wrong_element_is_shown_rather_than_a_wrong_shape():
    p, q = AttrVar("p"), AttrVar("q")
    twice = transpose(transpose(x, perm=p), perm=q)
    example = verify(Rule("order", twice, transpose(x, perm=compose(p, q)))).counterexample
    assert example is not None
    assert example.difference.index is not None
    assert max(example.leaves["x"].type.shape or ()) <= 2
