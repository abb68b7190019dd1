"""Small values travel through inference: shape arithmetic, with symbols and without."""

import numpy as np
import pytest

from tensaur import ops
from tensaur.ir import dims
from tensaur.ir.operator import Operator, infer_fact
from tensaur.ir.types import DType, Fact, Known, TensorType, literal_fact

B, N = dims.symbol("batch"), dims.symbol("n")
X = Fact(TensorType(DType.FLOAT32, (B, 16, N, 4)))


def ints(*items: int) -> Fact:
    return literal_fact(Known.of(np.array(items, dtype=np.int64)))


def scalar(item: int) -> Fact:
    return literal_fact(Known.of(np.array(item, dtype=np.int64)))


def apply(op: Operator, *inputs: Fact) -> Fact:
    return infer_fact(op, inputs)


def dim(position: int) -> Fact:
    """Return what exporters write for x.shape[position], as a vector of one element."""
    shape = apply(ops.Shape(), X)
    return apply(ops.Unsqueeze((0,)), apply(ops.Gather(0), shape, scalar(position)))


def test_shape_gather_unsqueeze_concat_reshape_is_exact():
    target = apply(ops.Concat(0), dim(0), ints(-1), dim(2))
    assert target.value.ints == (B, -1, N)
    assert not target.constant
    assert str(apply(ops.Reshape(), X, target).type) == "f32[batch,64,n]"


def test_static_shape_is_known_though_not_constant():
    shape = apply(ops.Shape(), Fact(TensorType(DType.FLOAT32, (2, 3))))
    assert shape.value.ints == (2, 3)
    assert not shape.constant
    doubled = apply(ops.Mul(), apply(ops.Cast(DType.INT32), shape), small(np.int32, 2))
    assert doubled.value.ints == (4, 6)


def small(kind, value):
    return literal_fact(Known.of(np.array(value, dtype=kind)))


SHAPE = apply(ops.Shape(), X)


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        (ops.Shape(1, -1), [X], (16, N)),
        (ops.Slice((2,), (4,), (0,)), [SHAPE], (N, 4)),
        (ops.Slice((-1,), (-(2**31),), (0,), (-1,)), [SHAPE], (4, N, 16, B)),
        (ops.Gather(0), [SHAPE, ints(3, 0)], (4, B)),
        (ops.Gather(0), [SHAPE, scalar(-2)], (N,)),
        (ops.Add(), [SHAPE, scalar(1)], (B + 1, 17, N + 1, 5)),
        (ops.Sub(), [SHAPE, ints(0, 1, 1, 1)], (B, 15, N - 1, 3)),
        (ops.Mul(), [SHAPE, scalar(2)], (2 * B, 32, 2 * N, 8)),
        (ops.Div(), [SHAPE, scalar(2)], (dims.floordiv(B, 2), 8, dims.floordiv(N, 2), 2)),
        (ops.Neg(), [SHAPE], (-B, -16, -N, -4)),
        (ops.Max(), [SHAPE, scalar(0)], (B, 16, N, 4)),
        (ops.Min(), [SHAPE, scalar(9)], (dims.dim_min(B, 9), 9, dims.dim_min(N, 9), 4)),
        (ops.Concat(0), [SHAPE, ints(7)], (B, 16, N, 4, 7)),
        (ops.Reshape(), [SHAPE, ints(2, -1)], (B, 16, N, 4)),
        (ops.Transpose((0,)), [SHAPE], (B, 16, N, 4)),
        (ops.Squeeze((0,)), [dim(0)], (B,)),
        (ops.Cast(DType.INT64), [SHAPE], (B, 16, N, 4)),
        (ops.Expand(), [dim(2), ints(3)], (N, N, N)),
        (ops.ReduceProd(None, False), [SHAPE], (64 * (B * N),)),
        (ops.ReduceSum((0,), True), [SHAPE], (B + N + 20,)),
        (
            ops.Where(),
            [apply(ops.Equal(), ints(5, -1, -1, 2), ints(-1, -1, -1, -1)), SHAPE, ints(1, 2, 3, 4)],
            (1, 16, N, 4),
        ),
    ],
    ids=str,
)
def test_symbolic_values_travel(op, inputs, expected):
    fact = apply(op, *inputs)
    assert fact.value.ints == expected
    assert fact.value.shape == fact.type.static_shape


def test_a_shape_never_equals_minus_one():
    fact = apply(ops.Equal(), SHAPE, scalar(-1))
    assert fact.value.array.tolist() == [False] * 4


def test_undecided_comparison_has_no_value():
    assert apply(ops.Equal(), SHAPE, scalar(4)).value is None


def test_negative_quotient_of_symbols_has_no_value():
    # Rounding towards zero and rounding down differ, and the sign of n - 5 is not known.
    shifted = apply(ops.Sub(), dim(2), scalar(5))
    assert apply(ops.Div(), shifted, scalar(2)).value is None


def test_constants_fold():
    fact = apply(ops.Add(), ints(1, 2), ints(3, 4))
    assert fact.constant
    assert fact.value.ints == (4, 6)


def test_values_stay_small():
    assert apply(ops.Tile(), ints(*range(8)), ints(8)).value is None
    assert apply(ops.Expand(), dim(0), ints(20)).value is None


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ((B, N, 64), (B, N, 4, 16), "f32[batch,n,4,16]"),
        ((B, N, 64), (-1, 64), "f32[batch*n,64]"),
        ((B, N, 64), (0, 0, 4, -1), "f32[batch,n,4,16]"),
        ((B, N, 64), (B * N, -1), "f32[batch*n,64]"),
        ((B, N + 1, 8), (B, -1, 2), "f32[batch,4*n+4,2]"),
        ((B, N + 1, 8), (N + 1, -1), "f32[n+1,8*batch]"),
        ((B, 6), (-1, 4), "f32[floordiv(6*batch, 4),4]"),
        (None, (2, 3), "f32[2,3]"),
        ((2, 3), (), None),
    ],
)
def test_reshape(source, target, expected):
    x = Fact(TensorType(DType.FLOAT32, source))
    shape = Fact(TensorType(DType.INT64, (len(target),)), Known.of_dims(target))
    if expected is None:
        with pytest.raises(Exception, match="6 elements do not fill a shape of 1"):
            apply(ops.Reshape(), x, shape)
    else:
        assert str(apply(ops.Reshape(), x, shape).type) == expected


def test_reshape_by_an_unknown_vector_has_its_rank():
    fact = apply(ops.Reshape(), X, Fact(TensorType(DType.INT64, (3,))))
    assert fact.rank == 3
    assert all(dims.is_anonymous(item) for item in fact.shape)
    assert apply(ops.Reshape(), X, Fact(TensorType(DType.INT64, (N,)))).shape is None


def test_tile_by_symbols():
    fact = apply(ops.Tile(), X, apply(ops.Concat(0), dim(0), ints(1, 2, 1)))
    assert fact.shape == (B * B, 16, 2 * N, 4)
