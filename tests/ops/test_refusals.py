"""What operators refuse: wrong types, ranks and sizes, each with a reason in one line."""

from random import Random

import pytest

from tensaur import ops
from tensaur.errors import TypeMismatch
from tensaur.ir.dims import Dim, symbol
from tensaur.ir.operator import infer_fact
from tensaur.ir.types import DType, Fact, Known, TensorType, literal_fact


def f32(*shape: Dim) -> Fact:
    return Fact(TensorType(DType.FLOAT32, shape))


def i64(*shape: Dim) -> Fact:
    return Fact(TensorType(DType.INT64, shape))


def literal(*items: int) -> Fact:
    return literal_fact(Known.of(list(items), DType.INT64))


B = symbol("b")


@pytest.mark.parametrize(
    ("op", "inputs", "reason"),
    [
        (ops.Add(), [f32(2), i64(2)], "element types differ: f32 and i64"),
        (ops.Add(), [f32(2), f32(3)], "dimensions 2 and 3 do not broadcast"),
        (ops.Add(), [f32(2)], "1 inputs given"),
        (ops.Sqrt(), [i64(2)], "element type i64 is not accepted"),
        (ops.Neg(), [Fact(TensorType(DType.UINT8, (2,)))], "element type u8 is not accepted"),
        (ops.Not(), [f32(2)], "element type f32 is not accepted"),
        (ops.Cast(DType.STRING), [f32(2)], "conversion to string is not modelled"),
        (ops.Where(), [f32(2), f32(2), f32(2)], "element type f32 is not accepted"),
        (ops.Clip(), [f32(2), f32(1)], "bound must have rank 0, got 1"),
        (ops.PRelu(), [f32(2, 3), f32(4, 1, 1)], "slope has more axes"),
        (ops.Softmax(2), [f32(2, 3)], "axis 2 is outside rank 2"),
        (ops.Gelu("sin"), [f32(2)], "approximation 'sin' is unknown"),
        (ops.MatMul(), [f32(2, 3), f32(4, 5)], "contracted dimensions: 3 and 4 differ"),
        (ops.MatMul(), [f32(), f32(4, 5)], "a scalar has no matrix product"),
        (ops.Gemm(), [f32(2, 3, 4), f32(3, 4)], "first matrix must have rank 2, got 3"),
        (ops.Gemm(trans_b=True), [f32(2, 3), f32(3, 4)], "contracted dimensions: 3 and 4 differ"),
        (ops.Gemm(), [f32(2, 3), f32(3, 4), f32(3, 4)], "dimension 3 does not broadcast to 2"),
        (ops.Conv(), [f32(1, 4, 8), f32(6, 3, 3)], "input channels: 4 and 3 differ"),
        (ops.Conv(group=2), [f32(1, 4, 8), f32(5, 2, 3)], "5 channels do not divide into 2 groups"),
        (ops.Conv(), [f32(1, 3, 8), f32(6, 3, 3), f32(5)], "channels of the bias: 6 and 5 differ"),
        (ops.Conv(), [f32(1, 3, 8), f32(6, 3, 9)], "a window of 9 does not fit into 8"),
        (ops.Conv(), [f32(1, 3, 8), f32(6, 3, 3, 3)], "ranks of input and weight differ"),
        (ops.Conv((0,)), [f32(1, 3, 8), f32(6, 3, 3)], "strides [0] are too small"),
        (ops.Conv((1, 1)), [f32(1, 3, 8), f32(6, 3, 3)], "strides must have 1 items, got 2"),
        (ops.ConvTranspose(), [f32(1, 4, 8), f32(3, 4, 3)], "input channels: 4 and 3 differ"),
        (ops.MaxPool((3, 3)), [f32(1, 3, 8)], "a kernel of 2 axes needs rank 4, got 3"),
        (ops.GlobalMaxPool(), [f32(1, 3)], "rank must be 3 or more, got 2"),
        (ops.Transpose((0, 0)), [f32(2, 2)], "[0, 0] is no permutation"),
        (ops.Transpose((1, 0)), [f32(2)], "permutation [1, 0] does not fit rank 1"),
        (ops.Transpose((1, 0)), [f32()], "permutation [1, 0] does not fit rank 0"),
        (ops.Conv(), [f32(), f32(6, 3, 3)], "ranks of input and weight differ"),
        (ops.Reshape(), [f32(6), literal(4)], "6 elements do not fill a shape of 4"),
        (ops.Reshape(), [f32(6), literal(-1, 4)], "6 elements do not divide by 4"),
        (ops.Reshape(), [f32(6), literal(-1, -1)], "is ambiguous"),
        (ops.Reshape(), [f32(6), literal(6, 0)], "0 at position 1, but the input has rank 1"),
        (ops.Reshape(), [f32(6), f32(1)], "shape must be int64, got f32"),
        (ops.Squeeze((0,)), [f32(2)], "axis 0 has size 2, not 1"),
        (ops.Unsqueeze((0, 0)), [f32(2)], "axes [0, 0] repeat at rank 3"),
        (ops.Concat(0), [f32(2, 3), f32(2, 4)], "joined dimensions: 3 and 4 differ"),
        (ops.Concat(0), [f32(2, 3), f32(2)], "ranks differ: [1, 2]"),
        (ops.Expand(), [f32(2), literal(3)], "dimensions 2 and 3 do not broadcast"),
        (ops.Tile(), [f32(2), literal(3, 1)], "2 repeats do not fit rank 1"),
        (ops.Pad((1, 1)), [f32(2, 2)], "2 pads do not fit 2 axes"),
        (ops.Pad((2, 0), "reflect"), [f32(2)], "pads of 2 are too long for size 2"),
        (ops.Pad((1, 0), "mirror"), [f32(2)], "mode 'mirror' is unknown"),
        (ops.Slice((0,), (1,), (2,)), [f32(2)], "axis 2 is outside rank 1"),
        (ops.Slice((0,), (1,), (0,), (0,)), [f32(2)], "a step is 0"),
        (ops.Split(0, (1, 2)), [f32(4)], "parts of [1, 2] do not make up 4"),
        (ops.Split(0), [f32(B)], "sizes [] of the parts are not known"),
        (ops.Gather(0), [f32(4), literal(4)], "index 4 is outside size 4"),
        (ops.Gather(0), [f32(4), f32(1)], "element type f32 is not accepted"),
        (ops.ReduceSum((0, -1)), [f32(4)], "axes [0, -1] repeat at rank 1"),
        (ops.BatchNormalization(), [f32(2, 3), f32(3), f32(3), f32(3), f32(4)], "3 and 4 differ"),
        (ops.LayerNormalization(), [f32(2, 3), f32(2)], "dimension 2 does not broadcast to 3"),
        (ops.DepthToSpace(2), [f32(1, 6, 2, 2)], "6 channels do not divide by 4"),
        (
            ops.AveragePool((2,), ceil_mode=True, count_include_pad=True),
            [f32(1, 1, 4)],
            "runtimes disagree",
        ),
    ],
    ids=str,
)
def test_refused(op, inputs, reason):
    with pytest.raises(TypeMismatch) as caught:
        infer_fact(op, inputs)
    message = str(caught.value)
    assert reason in message
    assert message.startswith(str(op).split("{")[0])
    assert "\n" not in message


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        (ops.MatMul(), [f32(2, B), f32(symbol("c"), 5)]),
        (ops.MatMul(), [f32(2, B), f32(4, 5)]),
        (ops.Conv(), [f32(1, B, 8), f32(6, 3, 3)]),
        (ops.Concat(0), [f32(2, B), f32(2, 4)]),
    ],
    ids=str,
)
def test_symbols_are_claims_and_not_refused(op, inputs):
    infer_fact(op, inputs)


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_unreachable_result_types_are_refused(cls):
    output = TensorType(DType.STRING, (1, 1))
    with pytest.raises(TypeMismatch, match="no sample with the result type string"):
        cls.sample(Random(0), output)
