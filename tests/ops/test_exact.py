"""Evaluation on exact numbers, on low precision, and the attributes that readers fill in."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tensaur import ops
from tensaur.ir.operator import evaluate
from tensaur.ir.types import DType, Fact, TensorType
from tests.ops.draws import arrays, draw

EXACT = (
    ops.Add, ops.Sub, ops.Mul, ops.Neg, ops.Max, ops.Min, ops.Sum, ops.Relu, ops.MatMul, ops.Gemm,
    ops.Conv, ops.ConvTranspose, ops.MaxPool, ops.AveragePool, ops.GlobalMaxPool, ops.Transpose,
    ops.Flatten, ops.Squeeze, ops.Unsqueeze, ops.DepthToSpace, ops.Reshape, ops.Expand, ops.Tile,
    ops.Concat, ops.Pad, ops.Slice, ops.Split, ops.Gather, ops.ReduceSum, ops.ReduceMean,
    ops.ReduceMax, ops.ReduceMin, ops.ReduceProd, ops.Abs, ops.Div, ops.Equal, ops.Less, ops.Where,
)  # fmt: skip


def exact(array):
    if array is None or array.dtype.kind != "f":
        return array
    wanted = np.empty(array.shape, dtype=object)
    wanted[...] = np.vectorize(lambda item: Fraction(int(item)), otypes=[object])(array)
    return wanted


@pytest.mark.parametrize("cls", EXACT, ids=lambda cls: cls.__name__)
def test_fractions_give_the_exact_result(cls):
    for seed in range(15):
        rng = Random(f"{cls.__name__}{seed}")
        case = draw(cls, rng, DType.FLOAT64) or draw(cls, rng, DType.BOOL)
        whole = [
            np.ceil(3 * item) if item is not None and item.dtype.kind == "f" else item
            for item in arrays(case, rng)
        ]
        plain = evaluate(case.op, whole)
        result = evaluate(case.op, [exact(item) for item in whole])
        pairs = zip(result, plain, strict=True) if isinstance(plain, tuple) else [(result, plain)]
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64))
            if ours.dtype == object:
                assert not any(isinstance(item, float) for item in ours.ravel()), case


@pytest.mark.parametrize("dtype", [DType.BFLOAT16, DType.FLOAT16], ids=lambda dtype: dtype.value)
@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_low_precision_is_close_to_single(cls, dtype):
    if cls in (ops.Floor, ops.Ceil, ops.Sign) or draw(cls, Random(0), dtype) is None:
        return  # not continuous, or no result of such a type
    for seed in range(5):
        rng = Random(f"{cls.__name__}{seed}")
        case = draw(cls, rng, dtype)
        data = arrays(case, rng)
        high = [
            item if item is None or item.dtype != dtype.numpy else item.astype(np.float32)
            for item in data
        ]
        ours, theirs = evaluate(case.op, data), evaluate(case.op, high)
        pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
        for small, wide in pairs:
            np.testing.assert_allclose(
                small.astype(np.float64), wide.astype(np.float64), rtol=0.06, atol=0.06
            )


@pytest.mark.parametrize(
    ("a", "b", "quotient"), [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-6, 2, -3)]
)
def test_integer_division_rounds_towards_zero(a, b, quotient):
    kinds = [np.array([item], dtype=np.int32) for item in (a, b)]
    assert evaluate(ops.Div(), kinds).tolist() == [quotient]


X = Fact(TensorType(DType.FLOAT32, (1, 3, 8, 9)))
W = Fact(TensorType(DType.FLOAT32, (4, 3, 3, 2)))
UNKNOWN = Fact(TensorType(DType.FLOAT32, None))


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "expected"),
    [
        (ops.Transpose(), [X], 1, ops.Transpose((3, 2, 1, 0))),
        (ops.Transpose(), [UNKNOWN], 1, ops.Transpose()),
        (ops.Conv(), [X, W], 1, ops.Conv((1, 1), (0, 0, 0, 0), (1, 1))),
        (ops.MaxPool((2,)), [UNKNOWN], 1, ops.MaxPool((2,), (1,), (0, 0), (1,))),
        (ops.Slice((0,), (1,)), [X], 1, ops.Slice((0,), (1,), (0,), (1,))),
        (ops.Split(1), [X], 3, ops.Split(1, (1, 1, 1))),
        (ops.Split(2), [X], 3, ops.Split(2, (3, 3, 2))),
        (ops.Split(1), [UNKNOWN], 3, ops.Split(1)),
        (ops.Squeeze(), [X], 1, ops.Squeeze((0,))),
        (ops.Pad((1, 2), axes=(-1,)), [X], 1, ops.Pad((0, 0, 0, 1, 0, 0, 0, 2))),
        (ops.Relu(), [X], 1, ops.Relu()),
    ],
    ids=str,
)
def test_canonical_writes_out_what_follows_from_the_rank(op, inputs, outputs, expected):
    assert op.canonical(inputs, outputs) == expected


@pytest.mark.parametrize(
    ("op", "mode", "pads"),
    [
        (ops.Conv(), "SAME_UPPER", (1, 0, 1, 1)),
        (ops.Conv(), "SAME_LOWER", (1, 1, 1, 0)),
        (ops.Conv((2, 2)), "SAME_UPPER", (0, 0, 1, 1)),
        (ops.Conv(dilations=(2, 2)), "SAME_UPPER", (2, 1, 2, 1)),
        (ops.Conv(), "VALID", (0, 0, 0, 0)),
        (ops.MaxPool((3, 2), (2, 2)), "SAME_UPPER", (0, 0, 1, 1)),
    ],
    ids=str,
)
def test_automatic_pads(op, mode, pads):
    inputs = [X, W] if isinstance(op, ops.Conv) else [X]
    assert op.auto_padded(mode, inputs).pads == pads


def test_automatic_pads_of_unknown_sizes():
    strided = ops.MaxPool((3,), (2,))
    assert strided.auto_padded("SAME_UPPER", [UNKNOWN]) is None
    assert ops.MaxPool((3,)).auto_padded("SAME_UPPER", [UNKNOWN]).pads == (1, 1)
    assert ops.ConvTranspose().auto_padded("SAME_UPPER", [X, W]) is None


@pytest.mark.parametrize(
    ("op", "shapes", "flops"),
    [
        (ops.MatMul(), [(2, 3), (3, 5)], 60),
        (ops.Gemm(), [(2, 3), (3, 5)], 60),
        (ops.Gemm(), [(2, 3), (3, 5), (5,)], 80),
        (ops.Conv(), [(1, 4, 8), (6, 4, 3)], 2 * 4 * 3 * 36),
        (ops.Conv(group=2), [(1, 4, 8), (6, 2, 3), (6,)], (2 * 2 * 3 + 1) * 36),
        (ops.Add(), [(2, 3), (3,)], 6),
        (ops.Sum(), [(2, 3), (3,), (3,)], 12),
        (ops.ReduceSum((0,)), [(2, 3)], 6),
        (ops.Transpose((1, 0)), [(2, 3)], 0),
    ],
    ids=str,
)
def test_flops(op, shapes, flops):
    facts = [Fact(TensorType(DType.FLOAT32, shape)) for shape in shapes]
    assert op.work(facts, op.infer(*facts)).flops == flops
