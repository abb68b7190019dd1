"""Inputs: seeded, accepted by the model, in several regimes; and the user's own, checked."""

import math

import numpy as np
import pytest
from onnx import TensorProto, helper

from tensaur.cli.options import arrays as read_npz
from tensaur.errors import RuntimeFailure, UsageError
from tensaur.ir.types import DType
from tensaur.runtime import inputs
from tensaur.runtime.choice import open_session
from tensaur.runtime.inputs import (
    DEFAULT_SIZE,
    Plan,
    Regime,
    check_feeds,
    default_size,
    draw,
    draw_array,
    plan_inputs,
    random_feeds,
)
from tests.runtime.models import FLOAT, INT64, gather, model, scaled, unary, value


@pytest.mark.parametrize(
    ("name", "axis", "rank", "size"),
    [
        ("batch", 0, 4, 1),
        ("batch_size", 0, 1, 1),
        ("N", 0, 1, 1),
        ("?x.0", 0, 3, 1),
        ("?x.0", 0, 1, DEFAULT_SIZE),
        ("sequence", 0, 3, DEFAULT_SIZE),
        ("seq_len", 0, 2, DEFAULT_SIZE),
        ("batch", 1, 2, DEFAULT_SIZE),
        ("width", 3, 4, DEFAULT_SIZE),
    ],
)
def test_default_sizes(name, axis, rank, size):
    assert default_size(name, axis, rank) == size


def test_given_sizes_are_used_also_for_unnamed_dimensions():
    node = helper.make_node("Relu", ["x"], ["y"])
    proto = model([node], [value("x", FLOAT, ["batch", None, "w"])], [value("y")])
    (feeds,) = random_feeds(open_session(proto), {"batch": 2, "x.1": 5}, count=1)
    assert feeds["x"].shape == (2, 5, DEFAULT_SIZE)


def test_drawing_is_seeded():
    ports = open_session(unary("Relu")).inputs
    first, same, other = (draw(ports, Plan({}), seed)["x"] for seed in (1, 1, 2))
    assert np.array_equal(first, same) and not np.array_equal(first, other)


@pytest.mark.parametrize("dtype", list(DType), ids=lambda item: item.value)
@pytest.mark.parametrize("regime", list(Regime), ids=lambda item: item.value)
def test_every_type_is_drawn_finite_and_varied(dtype, regime):
    array = draw_array(np.random.default_rng(0), dtype, (5, 7), regime=regime)
    assert array.dtype == dtype.numpy and array.shape == (5, 7)
    if dtype is DType.STRING:
        assert len(set(array.ravel())) > 1
        return
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    numbers = array.astype(wide)
    assert np.isfinite(numbers).all()
    assert len(np.unique(numbers)) > 1


@pytest.mark.parametrize("dtype", [DType.INT32, DType.INT64, DType.UINT16])
@pytest.mark.parametrize("limit", [1, 2, 8])
def test_integers_stay_below_the_limit(dtype, limit):
    array = draw_array(np.random.default_rng(0), dtype, (100,), limit)
    assert array.min() == 0 and array.max() == limit - 1


def test_pictures_use_the_whole_byte():
    array = draw_array(np.random.default_rng(0), DType.UINT8, (1000,))
    assert array.max() > 200


@pytest.mark.parametrize(("rows", "limit"), [(64, 64), (10, 8), (3, 2), (1, 1)])
def test_indices_are_made_small_enough(rows, limit):
    session = open_session(gather(rows))
    assert plan_inputs(session).limit == limit
    for feeds in random_feeds(session, count=3):
        assert feeds["i"].max() < rows
        session.run(feeds)


def test_sizes_are_searched_where_the_default_fails():
    shape = np.array([-1, 3, 32], np.int64)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    proto = model([node], [value("x", FLOAT, ["n", "w"])], [value("y")], {"shape": shape})
    plan = plan_inputs(open_session(proto))
    assert plan.sizes["w"] % 96 == 0


def test_unnamed_batches_are_found():
    # The batch is the second axis of the state, as in recurrent models, and nothing says so.
    nodes = [
        helper.make_node("Squeeze", ["state", "axis"], ["y"]),
        helper.make_node("Reshape", ["x", "shape"], ["z"]),
    ]
    inputs = [value("x", FLOAT, [None, None]), value("state", FLOAT, [2, None])]
    data = {"axis": np.array([1], np.int64), "shape": np.array([1, 3, -1, 32], np.int64)}
    plan = plan_inputs(open_session(model(nodes, inputs, [value("y"), value("z")], data)))
    assert plan.sizes["?state.1"] == 1 and plan.sizes["?x.1"] % 96 == 0


def test_given_sizes_are_not_replaced():
    shape = np.array([-1, 3, 32], np.int64)
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    proto = model([node], [value("x", FLOAT, ["n", "w"])], [value("y")], {"shape": shape})
    with pytest.raises(RuntimeFailure, match="no random inputs found that the model accepts: "):
        plan_inputs(open_session(proto), {"w": 64})


def test_regimes_take_turns():
    first, positive, integers, large = (
        feeds["x"] for feeds in random_feeds(open_session(unary("Relu", shape=(50, 50))))
    )
    assert (first < 0).any() and (positive > 0).all()
    assert np.array_equal(integers, np.round(integers))
    assert np.abs(large).max() > 2 * np.abs(first).max()


@pytest.mark.parametrize("dtype", DType)
def test_scalars_are_arrays(dtype):
    drawn = draw_array(np.random.default_rng(0), dtype, ())
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == ()


@pytest.mark.parametrize("size", [10**12, 10**30])
def test_inputs_that_do_not_fit_are_named(size):
    session = open_session(unary("Relu", shape=["batch", 64]))
    with pytest.raises(RuntimeFailure, match=r"input 'x' of shape \(\d+, 64\) does not fit"):
        plan_inputs(session, {"batch": size})


def test_inputs_that_are_no_tensors_are_named():
    node = helper.make_node("SequenceLength", ["s"], ["y"])
    sequence = helper.make_tensor_sequence_value_info("s", FLOAT, None)
    session = open_session(model([node], [sequence], [value("y", INT64)]))
    with pytest.raises(RuntimeFailure, match="input 's' is seq"):
        random_feeds(session)


def test_npz_round_trip(tmp_path):
    path = tmp_path / "inputs.npz"
    x = np.ones((4, 3), np.float32)
    np.savez(path, x=x)
    loaded = check_feeds(read_npz(path), open_session(scaled(2.0)).inputs, str(path))
    np.testing.assert_array_equal(loaded["x"], x)


def test_npz_holds_strings_and_bfloat16(tmp_path):
    path = tmp_path / "inputs.npz"
    for kind, array in (
        (TensorProto.STRING, np.array([["a", "b", "c"], ["d", "e", "f"]], object)),
        (TensorProto.BFLOAT16, np.ones((2, 3), DType.BFLOAT16.numpy)),
    ):
        plain = array.astype(str) if array.dtype.kind == "O" else array.view("V2")
        np.savez(path, x=plain)
        session = open_session(unary("Identity", kind))
        loaded = check_feeds(read_npz(path), session.inputs, str(path))
        np.testing.assert_array_equal(session.run(loaded)["y"], array)


@pytest.mark.parametrize(
    ("arrays", "fault"),
    [
        ({}, "input 'x' is missing, expected x"),
        ({"x": np.ones((2, 3), np.float32), "z": np.ones(1)}, "no input 'z', expected x"),
        ({"x": np.ones((2, 3))}, "input 'x' is float64, expected float32"),
        ({"x": np.ones((2, 4), np.float32)}, r"has shape \(2, 4\), expected \(n, 3\)"),
        ({"x": np.ones(3, np.float32)}, r"has shape \(3,\), expected \(n, 3\)"),
    ],
)
def test_npz_mismatch_is_one_line(tmp_path, arrays, fault):
    path = tmp_path / "inputs.npz"
    np.savez(path, **arrays)
    with pytest.raises(UsageError, match=fault) as caught:
        check_feeds(read_npz(path), open_session(scaled(2.0)).inputs, str(path))
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_named_dimensions_agree_between_inputs(tmp_path):
    node = helper.make_node("Add", ["a", "b"], ["y"])
    proto = model([node], [value("a", FLOAT, ["n"]), value("b", FLOAT, ["n"])], [value("y")])
    path = tmp_path / "inputs.npz"
    np.savez(path, a=np.ones(3, np.float32), b=np.ones(1, np.float32))
    with pytest.raises(UsageError, match="input 'b' has shape"):
        check_feeds(read_npz(path), open_session(proto).inputs, str(path))


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 broken", b"words"])
def test_files_that_are_no_npz_are_named(tmp_path, content):
    path = tmp_path / "inputs.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"inputs\.npz: "):
        check_feeds(read_npz(path), open_session(scaled(2.0)).inputs, str(path))


def test_pickled_arrays_are_refused(tmp_path):
    path = tmp_path / "inputs.npz"
    np.savez(path, x=np.array([{"not": "plain"}], object))
    with pytest.raises(UsageError, match=r"not an \.npz archive of plain arrays"):
        check_feeds(read_npz(path), open_session(scaled(2.0)).inputs, str(path))


def test_a_single_array_is_no_npz(tmp_path):
    path = tmp_path / "inputs.npy"
    np.save(path, np.ones(3))
    with pytest.raises(UsageError, match=r"expected an \.npz archive"):
        check_feeds(read_npz(path), open_session(scaled(2.0)).inputs, str(path))


def test_guessed_sizes_never_fill_the_memory(monkeypatch):
    seen = []

    def refuse(ports, plan, *args):
        seen.append(math.prod(plan.sizes.values()))
        raise RuntimeFailure("not these")

    monkeypatch.setattr(inputs, "draw", refuse)
    session = open_session(unary("Neg", shape=["c", "d", "e", "f"]))
    with pytest.raises(RuntimeFailure, match="not these"):
        plan_inputs(session, {"c": 2})
    assert len(seen) > 50
    assert max(seen) <= 1 << 26
