"""Which operators the runtime computes together, so that extraction prices them together.

Data, not measurement: a pair named here is measured as a pair; naming one that the runtime does not
fuse costs a measurement and prices it right all the same. The list follows ONNX Runtime's CPU graph
transformers (activation and affine fusion into Conv and Gemm, residual Add, MatMul with Add, with a
scalar factor or a transposed operand, bias and skip additions before Gelu and LayerNormalization).
"""

from __future__ import annotations

from tensaur.ir.operator import Operator
from tensaur.ops import (
    Add,
    BatchNormalization,
    Clip,
    Conv,
    Div,
    Gelu,
    Gemm,
    HardSigmoid,
    LayerNormalization,
    LeakyRelu,
    MatMul,
    Mul,
    Relu,
    Sigmoid,
    Sub,
    Tanh,
    Transpose,
)

_ACTIVATIONS = (Relu, Sigmoid, Tanh, LeakyRelu, Clip, HardSigmoid)
_AFFINE = (Add, Mul, Sub, Div, BatchNormalization)

# Producer classes and the consumer classes that are computed with them.
_PAIRS: tuple[tuple[tuple[type[Operator], ...], tuple[type[Operator], ...]], ...] = (
    ((Conv,), (*_ACTIVATIONS, *_AFFINE)),
    ((Gemm,), _ACTIVATIONS),
    ((MatMul,), (Add, Mul, Div)),
    ((Transpose,), (MatMul,)),
    ((Add,), (LayerNormalization, Gelu)),
)


def fuses(inner: tuple[Operator, ...], outer: Operator) -> bool:
    """Tell whether `outer` joins the group `inner` (in order of computation) that makes its input.

    A group grows to three where an affine operator stands between: Conv, Add, Relu.
    """
    first, last = inner[0], inner[-1]
    if len(inner) == 1:
        return any(
            isinstance(first, makers) and isinstance(outer, users) for makers, users in _PAIRS
        )
    return (
        isinstance(first, (Conv, MatMul))
        and isinstance(last, _AFFINE)
        and isinstance(outer, (*_ACTIVATIONS, *_AFFINE, LayerNormalization))
    )
