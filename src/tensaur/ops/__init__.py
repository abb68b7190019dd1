"""The operators that rules know: one class each, one function that builds terms of it, and groups.

Everything public is re-exported here; every other ONNX operator is `Opaque`. Which module holds what:
`elementwise`, `comparison`, `activation`, `matmul`, `convolution`, `pooling`, `layout` (orders of axes),
`reshaping`, `assembly` (joining and padding), `slicing`, `indexing`, `reduction`, `normalisation`.
"""

from __future__ import annotations

from tensaur.ir.operator import Absent, Operator
from tensaur.ir.term import Apply, build

# Packed, since this file is a table of contents: a class, and after all classes their builders.
# fmt: off
# isort: off
from tensaur.ops.elementwise import (
    Add, Sub, Mul, Div, Pow, Neg, Abs, Sqrt, Reciprocal, Exp, Log, Erf, Floor, Ceil, Sign, Sin,
    Cos, Min, Max, Sum, add, sub, mul, div, pow_, neg, abs_, sqrt, reciprocal, exp, log, erf,
    floor, ceil, sign, sin, cos, min_, max_, sum_,
)
from tensaur.ops.comparison import (
    Equal, Less, Greater, LessOrEqual, GreaterOrEqual, Not, And, Or, Where, Cast, equal, less,
    greater, less_or_equal, greater_or_equal, not_, and_, or_, where, cast,
)
from tensaur.ops.activation import (
    Relu, Sigmoid, Tanh, Clip, LeakyRelu, Elu, Softplus, HardSigmoid, HardSwish, Gelu, PRelu,
    Softmax, LogSoftmax, relu, sigmoid, tanh, clip, leaky_relu, elu, softplus, hard_sigmoid,
    hard_swish, gelu, prelu, softmax, log_softmax,
)
from tensaur.ops.matmul import (
    MatMul, Gemm, matmul, gemm,
)
from tensaur.ops.convolution import (
    Conv, ConvTranspose, conv, conv_transpose,
)
from tensaur.ops.pooling import (
    MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool, max_pool, average_pool,
    global_average_pool, global_max_pool,
)
from tensaur.ops.layout import (
    Transpose, Flatten, Squeeze, Unsqueeze, DepthToSpace, transpose, flatten, squeeze,
    unsqueeze, depth_to_space,
)
from tensaur.ops.reshaping import (
    Shape, Reshape, Expand, Tile, shape, reshape, expand, tile,
)
from tensaur.ops.assembly import (
    Concat, Pad, concat, pad,
)
from tensaur.ops.slicing import (
    Slice, Split, Gather, slice_, split, gather,
)
from tensaur.ops.indexing import (
    OneHot, one_hot,
)
from tensaur.ops.reduction import (
    ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, reduce_sum, reduce_mean,
    reduce_max, reduce_min, reduce_prod,
)
from tensaur.ops.normalisation import (
    BatchNormalization, LayerNormalization, InstanceNormalization, LRN, batch_normalization,
    layer_normalization, instance_normalization, lrn,
)
# isort: on

# One input, every element by itself. Clip and Cast are apart: they have more inputs or types.
UNARY_ELEMENTWISE: tuple[type[Operator], ...] = (
    Neg, Abs, Sqrt, Reciprocal, Exp, Log, Erf, Floor, Ceil, Sign, Sin, Cos, Relu, Sigmoid, Tanh,
    LeakyRelu, Elu, Softplus, HardSigmoid, HardSwish, Gelu, Not,
)
BINARY_ELEMENTWISE: tuple[type[Operator], ...] = (
    Add, Sub, Mul, Div, Pow, And, Or, Equal, Less, Greater, LessOrEqual, GreaterOrEqual, PRelu,
)
ARITHMETIC: tuple[type[Operator], ...] = (
    Add, Sub, Mul, Div,
)
VARIADIC_ELEMENTWISE: tuple[type[Operator], ...] = (
    Min, Max, Sum,
)
COMPARISONS: tuple[type[Operator], ...] = (
    Equal, Less, Greater, LessOrEqual, GreaterOrEqual,
)
LOGIC: tuple[type[Operator], ...] = (
    Not, And, Or,
)
ACTIVATIONS: tuple[type[Operator], ...] = (
    Relu, Sigmoid, Tanh, LeakyRelu, Elu, Softplus, HardSigmoid, HardSwish, Gelu,
)
# Nondecreasing where they are defined, so they commute with Max, Min, ReduceMax and MaxPool.
MONOTONE: tuple[type[Operator], ...] = (
    Sqrt, Exp, Log, Erf, Floor, Ceil, Relu, Sigmoid, Tanh, Softplus,
)
SOFTMAXES: tuple[type[Operator], ...] = (
    Softmax, LogSoftmax,
)
REDUCTIONS: tuple[type[Operator], ...] = (
    ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd,
)
POOLS: tuple[type[Operator], ...] = (
    MaxPool, AveragePool,
)
GLOBAL_POOLS: tuple[type[Operator], ...] = (
    GlobalAveragePool, GlobalMaxPool,
)
CONVOLUTIONS: tuple[type[Operator], ...] = (
    Conv, ConvTranspose,
)
NORMALISATIONS: tuple[type[Operator], ...] = (
    BatchNormalization, LayerNormalization, InstanceNormalization, LRN,
)
# They compute nothing: each element of the result is an element of an input or padding.
DATA_MOVEMENT: tuple[type[Operator], ...] = (
    Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Concat, Expand, Tile, Pad, DepthToSpace,
    Slice, Split, Gather,
)

OPERATORS: tuple[type[Operator], ...] = (
    Add, Sub, Mul, Div, Pow, Neg, Abs, Sqrt, Reciprocal, Exp, Log, Erf, Floor, Ceil, Sign, Sin,
    Cos, Min, Max, Sum, Equal, Less, Greater, LessOrEqual, GreaterOrEqual, Not, And, Or, Where,
    Cast, Relu, Sigmoid, Tanh, Clip, LeakyRelu, Elu, Softplus, HardSigmoid, HardSwish, Gelu,
    PRelu, Softmax, LogSoftmax, MatMul, Gemm, Conv, ConvTranspose, MaxPool, AveragePool,
    GlobalAveragePool, GlobalMaxPool, Transpose, Flatten, Squeeze, Unsqueeze, DepthToSpace,
    Shape, Reshape, Expand, Tile, Concat, Pad, Slice, Split, Gather, OneHot, ReduceSum,
    ReduceMean, ReduceMax, ReduceMin, ReduceProd, BatchNormalization, LayerNormalization,
    InstanceNormalization, LRN,
)

__all__ = [  # noqa: RUF022  # packed; sorted by code point
    "ACTIVATIONS", "ARITHMETIC", "Abs", "Add", "And", "AveragePool", "BINARY_ELEMENTWISE",
    "BatchNormalization", "COMPARISONS", "CONVOLUTIONS", "Cast", "Ceil", "Clip", "Concat",
    "Conv", "ConvTranspose", "Cos", "DATA_MOVEMENT", "DepthToSpace", "Div", "Elu", "Equal",
    "Erf", "Exp", "Expand", "Flatten", "Floor", "GLOBAL_POOLS", "Gather", "Gelu", "Gemm",
    "GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "HardSigmoid",
    "HardSwish", "InstanceNormalization", "LOGIC", "LRN", "LayerNormalization", "LeakyRelu",
    "Less", "LessOrEqual", "Log", "LogSoftmax", "MONOTONE", "MatMul", "Max", "MaxPool", "Min",
    "Mul", "NORMALISATIONS", "Neg", "Not", "OPERATORS", "OneHot", "Or", "POOLS", "PRelu", "Pad", "Pow",
    "REDUCTIONS", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "Relu", "Reshape", "SOFTMAXES", "Shape", "Sigmoid", "Sign", "Sin", "Slice",
    "Softmax", "Softplus", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Tile",
    "Transpose", "UNARY_ELEMENTWISE", "Unsqueeze", "VARIADIC_ELEMENTWISE", "Where", "abs_",
    "absent", "add", "and_", "average_pool", "batch_normalization", "cast", "ceil", "clip",
    "concat", "conv", "conv_transpose", "cos", "depth_to_space", "div", "elu", "equal", "erf",
    "exp", "expand", "flatten", "floor", "gather", "gelu", "gemm", "global_average_pool",
    "global_max_pool", "greater", "greater_or_equal", "hard_sigmoid", "hard_swish",
    "instance_normalization", "layer_normalization", "leaky_relu", "less", "less_or_equal",
    "log", "log_softmax", "lrn", "matmul", "max_", "max_pool", "min_", "mul", "neg", "not_",
    "one_hot", "or_", "pad", "pow_", "prelu", "reciprocal", "reduce_max", "reduce_mean", "reduce_min",
    "reduce_prod", "reduce_sum", "relu", "reshape", "shape", "sigmoid", "sign", "sin", "slice_",
    "softmax", "softplus", "split", "sqrt", "squeeze", "sub", "sum_", "tanh", "tile",
    "transpose", "unsqueeze", "where",
]
# fmt: on


def absent() -> Apply:
    """Build the term of an optional input that is left out before one that is given."""
    return build(Absent)
