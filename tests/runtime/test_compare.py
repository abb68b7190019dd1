"""Comparison: exact where it has to be, tolerant of rounding, aware of randomness and of near ties."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import Tolerance, agree, compare_outputs
from tests.runtime.models import FLOAT, INT64, model, scaled, unary, value

X = np.linspace(-4, 4, 24, dtype=np.float32).reshape(8, 3)


def difference(expected, actual, tolerance=None):
    comparison = compare_outputs({"y": expected}, {"y": actual}, tolerance)
    (item,) = comparison.outputs
    assert comparison.equal == item.equal
    assert bool(comparison.reason) or item.equal
    return item


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_rounding_passes_and_real_errors_do_not(dtype):
    rng = np.random.default_rng(0)
    step = {np.float64: 2.0**-52, np.float32: 2.0**-23, np.float16: 2.0**-10}.get(dtype, 2.0**-7)
    exact = rng.standard_normal(1000) * 100
    rounded = exact * (1 + step * rng.uniform(-1, 1, 1000))
    assert difference(exact.astype(dtype), rounded.astype(dtype)).equal
    assert not difference(exact.astype(dtype), (exact + 30).astype(dtype)).equal


def test_cancellation_is_measured_by_the_output_scale():
    # Zero plus rounding noise of large terms beside large values.
    expected = np.array([1000.0, 0.0], np.float32)
    assert difference(expected, np.array([1000.0, 1e-3], np.float32)).equal
    assert not difference(expected, np.array([1000.0, 1.0], np.float32)).equal


def test_all_zero_outputs_allow_only_dust():
    zero = np.zeros(4, np.float32)
    assert difference(zero, zero + np.float32(1e-9)).equal
    assert not difference(zero, zero + np.float32(1e-3)).equal


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_special_values_have_their_places(special):
    expected = np.array([1.0, special, 3.0], np.float32)
    assert difference(expected, expected.copy()).equal
    for other in ([special, 1.0, 3.0], [1.0, 2.0, 3.0], [1.0, -special, 3.0]):
        if np.isnan(special) and np.isnan(other[1]):
            continue
        item = difference(expected, np.array(other, np.float32))
        assert not item.equal and item.max_abs == np.inf


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, 2, 3]),
        np.array([1, 2, 3], np.uint8),
        np.array([True, False, True]),
        np.array(["a", "b", "c"], object),
    ],
    ids=lambda array: array.dtype.name,
)
def test_what_is_not_a_float_must_be_exact(array):
    assert difference(array, array.copy()).equal
    item = difference(array, array[::-1][[1, 0, 2]])
    assert not item.equal and 0 < item.share <= 1


def test_unsigned_gaps_do_not_wrap():
    item = difference(np.array([0], np.uint8), np.array([255], np.uint8))
    assert item.max_abs == 255


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)),
        (np.zeros(2, np.float32), np.zeros(2, np.float64)),
        (np.zeros(2, np.float32), [np.zeros(2, np.float32)]),
        ([np.zeros(2)], [np.zeros(2), np.zeros(2)]),
        ([np.zeros(2)], [np.ones(2)]),
        ([{"a": 1.0}], [{"b": 1.0}]),
        ([{"a": 1.0}], [{"a": 2.0}]),
    ],
)
def test_types_shapes_and_sequences_must_match(expected, actual):
    assert difference(expected, expected).equal
    assert not difference(expected, actual).equal


def test_names_must_match():
    y = np.zeros(2)
    assert compare_outputs({"y": y}, {}).reason == "output 'y': missing"
    assert compare_outputs({}, {"y": y}).reason == "output 'y': unexpected"


def test_a_given_tolerance_replaces_the_default():
    expected, actual = np.array([1.0], np.float32), np.array([1.5], np.float32)
    assert difference(expected, actual, Tolerance(0.5, 0.0)).equal
    assert not difference(expected, actual + np.float32(0.1), Tolerance(0.5, 0.0)).equal


@given(st.lists(st.floats(width=32), min_size=1, max_size=20))
def test_every_array_equals_itself(numbers):
    array = np.array(numbers, np.float32)
    item = difference(array, array.copy())
    assert item.equal and item.max_abs == 0 and item.max_rel == 0


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20), st.data())
def test_one_wrong_element_is_found(numbers, data):
    array = np.array(numbers, np.float32)
    place = data.draw(st.integers(0, len(numbers) - 1))
    other = array.copy()
    other[place] += 0.01 * max(1.0, float(np.abs(array).max()))
    item = difference(array, other)
    assert not item.equal and item.share == pytest.approx(1 / len(numbers))


def test_models_that_agree():
    comparison = agree(open_session(scaled(2.0)), open_session(scaled(2.0)), [{"x": X}] * 2)
    assert comparison.equal and comparison.max_abs == 0 and comparison.reason == ""


def test_models_that_differ():
    comparison = agree(open_session(scaled(2.0)), open_session(scaled(2.1)), [{"x": X}])
    assert not comparison.equal
    assert "output 'y': " in comparison.reason and "greatest error" in comparison.reason


def test_a_difference_on_any_input_counts():
    feeds = [{"x": np.zeros_like(X)}, {"x": X}, {"x": np.zeros_like(X)}]
    assert not agree(open_session(scaled(2.0)), open_session(scaled(2.1)), feeds).equal


def test_a_candidate_that_fails_is_different():
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    shape = np.array([7], np.int64)
    broken = model([node], [value("x", FLOAT, ["n", 3])], [value("y")], {"shape": shape})
    comparison = agree(open_session(scaled(2.0)), open_session(broken), [{"x": X}])
    assert not comparison.equal and "candidate: " in comparison.reason


def noisy(low, kind=FLOAT, shape=(4, 5)):
    node = helper.make_node("RandomUniform", [], ["r"], low=low, high=low + 1.0, shape=shape)
    add = helper.make_node("Add", ["x", "r"], ["y"])
    return model([node, add], [value("x", kind, [1])], [value("y")])


def test_random_models_are_compared_by_type():
    feeds = [{"x": np.zeros(1, np.float32)}]
    original = open_session(noisy(0.0))
    original.run(feeds[0])  # fresh sessions may draw the same numbers
    comparison = agree(original, open_session(noisy(0.0)), feeds)
    assert comparison.equal and "random, only type and shape compared" in comparison.reason
    other = agree(open_session(noisy(0.0)), open_session(noisy(0.0, shape=(4, 1))), feeds)
    assert not other.equal


def arg_max(bias):
    nodes = [
        helper.make_node("Add", ["x", "bias"], ["b"]),
        helper.make_node("ArgMax", ["b"], ["y"], axis=1, keepdims=0),
    ]
    inputs = [value("x", FLOAT, ["n", 4])]
    return model(nodes, inputs, [value("y", INT64)], {"bias": np.array(bias, np.float32)})


def test_near_ties_may_fall_either_way():
    ties = np.full((200, 4), 1.7, np.float32)
    # A few units in the last place, as another order of summation would give.
    one, other = arg_max([0, 0, 0, 0]), arg_max([0, 0, 4e-7, 0])
    comparison = agree(open_session(one), open_session(other), [{"x": ties}])
    assert comparison.equal and "under rounding-sized changes" in comparison.reason


def test_clear_winners_may_not_change():
    clear = np.random.default_rng(0).permuted(np.tile(np.arange(4.0), (200, 1)), axis=1)
    one, other = arg_max([0, 0, 0, 0]), arg_max([0, 0, 1.5, 0])
    feeds = [{"x": clear.astype(np.float32)}]
    assert not agree(open_session(one), open_session(other), feeds).equal


def test_sequence_outputs_are_compared_inside():
    def sequence(factor):
        nodes = [
            helper.make_node("Mul", ["x", "factor"], ["m"]),
            helper.make_node("SequenceConstruct", ["x", "m"], ["y"]),
        ]
        return model(
            nodes,
            [value("x", FLOAT, ["n", 3])],
            [helper.make_tensor_sequence_value_info("y", FLOAT, None)],
            {"factor": np.array(factor, np.float32)},
        )

    one, same, other = (open_session(sequence(factor)) for factor in (2.0, 2.0, 3.0))
    assert agree(one, same, [{"x": X}]).equal
    assert not agree(one, other, [{"x": X}]).equal


def test_integer_models_have_no_tolerance():
    one = open_session(unary("Identity", TensorProto.INT64))
    other = open_session(unary("Neg", TensorProto.INT64))
    feeds = [{"x": np.arange(6).reshape(2, 3)}]
    assert agree(one, one.reopened(), feeds).equal
    assert not agree(one, other, feeds).equal
