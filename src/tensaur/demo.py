"""A network for `tensaur demo`: real in shape, random (seeded) in weights.

A small text-line recogniser as exporters write it. Its convolutional trunk is in the manner of
MobileNetV3 out of Paddle: each batch normalisation is left as a multiplication and an addition after
its convolution, and hard-swish is written out. A transformer layer reads the trunk's positions, and the
head looks at the first position alone. Holds the network and nothing about optimising it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensaur.ir.graph import ArrayData, Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Operator, Weight
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Known, TensorType
from tensaur.ops import (
    Add,
    Clip,
    Conv,
    Div,
    Gather,
    LayerNormalization,
    MatMul,
    Mul,
    Relu,
    Reshape,
    Softmax,
    Transpose,
)
from tensaur.runtime.build import model_of

OPSET = 17
IMAGE = (1, 3, 48, 320)
WIDTH = 96
HEADS = 4
CLASSES = 1000
TITLE = "demo network (text-line recogniser, seeded weights)"


@dataclass(frozen=True, slots=True)
class Stage:
    """One inverted-residual block of the trunk: channels inside and out, kernel and stride."""

    inner: int
    out: int
    kernel: int
    stride: int


STAGES = (
    Stage(32, 16, 3, 1),
    Stage(64, 24, 3, 2),
    Stage(96, 24, 3, 1),
    Stage(96, 40, 5, 2),
    Stage(160, 40, 5, 1),
    Stage(240, WIDTH, 5, 1),
)


def network(seed: int = 0) -> Graph:
    """Return the network as a graph."""
    return _Network(seed).build()


def model(seed: int = 0) -> object:
    """Return the network as an `onnx.ModelProto`."""
    return model_of(network(seed), {"": OPSET})


class _Network:
    """Builds the network from the image to the class scores; each method adds a part."""

    def __init__(self, seed: int) -> None:
        self.builder = GraphBuilder()
        self.random = np.random.default_rng(seed)
        self.channels = IMAGE[1]

    def build(self) -> Graph:
        """Add all parts and return the graph."""
        x = self.op(Input("image", TensorType(DType.FLOAT32, IMAGE)))
        x = self.hard_swish(self.normalised_conv(x, 16, kernel=3, stride=2))
        for stage in STAGES:
            x = self.block(x, stage)
        x = self.encoder_layer(self.positions(x))
        x = self.op(Gather(axis=1), x, self.constant(np.int64(0)))
        scores = self.op(Softmax(axis=-1), self.dense(x, CLASSES))
        return self.builder.build([Output("scores", scores)])

    def op(self, op: Operator, *inputs: int) -> int:
        """Add a node."""
        return self.builder.add(op, inputs)

    def constant(self, value: Array | np.generic) -> int:
        """Add a constant: by value if it is small, else as a weight."""
        array = np.asarray(value)
        if array.size <= KNOWN_LIMIT:
            return self.op(Literal(Known.of(array)))
        name = f"w{len(self.builder.constants)}"
        self.builder.constants[name] = ArrayData(array)
        return self.op(Weight(name, TensorType(DType.of(array.dtype), array.shape)))

    def normal(self, shape: Sequence[int], scale: float, center: float = 0.0) -> int:
        """Add a constant with normally distributed elements."""
        drawn = center + scale * self.random.standard_normal(tuple(shape))
        return self.constant(drawn.astype(np.float32))

    def normalised_conv(
        self, x: int, out: int, *, kernel: int = 1, stride: int = 1, group: int = 1
    ) -> int:
        """Add a convolution and its batch normalisation, written as scale and shift."""
        fan_in = self.channels // group * kernel * kernel
        weight = self.normal(
            (out, self.channels // group, kernel, kernel), float(np.sqrt(2.0 / fan_in))
        )
        conv = Conv(
            strides=(stride, stride), pads=(kernel // 2,) * 4, dilations=(1, 1), group=group
        )
        x = self.op(conv, x, weight)
        self.channels = out
        x = self.op(Mul(), x, self.normal((1, out, 1, 1), 0.1, center=1.0))
        return self.op(Add(), x, self.normal((1, out, 1, 1), 0.1))

    def hard_swish(self, x: int) -> int:
        """Add x * clip(x + 3, 0, 6) / 6."""
        shifted = self.op(Add(), x, self.constant(np.float32(3)))
        clipped = self.op(
            Clip(), shifted, self.constant(np.float32(0)), self.constant(np.float32(6))
        )
        return self.op(Div(), self.op(Mul(), x, clipped), self.constant(np.float32(6)))

    def block(self, x: int, stage: Stage) -> int:
        """Add an inverted-residual block, with its shortcut where the shapes allow one."""
        shortcut = x if stage.stride == 1 and self.channels == stage.out else None
        x = self.hard_swish(self.normalised_conv(x, stage.inner))
        x = self.normalised_conv(
            x, stage.inner, kernel=stage.kernel, stride=stage.stride, group=stage.inner
        )
        x = self.normalised_conv(self.hard_swish(x), stage.out)
        return x if shortcut is None else self.op(Add(), shortcut, x)

    def positions(self, x: int) -> int:
        """Turn the picture into a sequence: one row for each position of the trunk's last map."""
        x = self.op(Reshape(), x, self.constant(np.array([1, WIDTH, -1])))
        return self.op(Transpose(perm=(0, 2, 1)), x)

    def dense(self, x: int, out: int) -> int:
        """Add a product with a weight, and a bias."""
        product = self.op(MatMul(), x, self.normal((WIDTH, out), float(WIDTH**-0.5)))
        return self.op(Add(), product, self.normal((out,), 0.1))

    def norm(self, x: int) -> int:
        """Add a layer normalisation."""
        scale, shift = self.normal((WIDTH,), 0.1, center=1.0), self.normal((WIDTH,), 0.1)
        return self.op(LayerNormalization(axis=-1, epsilon=1e-5), x, scale, shift)

    def encoder_layer(self, x: int) -> int:
        """Add a transformer layer."""
        query, key, value = (self.split_heads(self.dense(x, WIDTH)) for _ in range(3))
        scores = self.op(MatMul(), query, self.op(Transpose(perm=(0, 1, 3, 2)), key))
        scores = self.op(Div(), scores, self.constant(np.float32((WIDTH // HEADS) ** 0.5)))
        mixed = self.op(MatMul(), self.op(Softmax(axis=-1), scores), value)
        joined = self.op(Transpose(perm=(0, 2, 1, 3)), mixed)
        joined = self.op(Reshape(), joined, self.constant(np.array([1, -1, WIDTH])))
        x = self.norm(self.op(Add(), x, self.dense(joined, WIDTH)))
        inner = self.op(Relu(), self.dense(x, WIDTH))
        return self.norm(self.op(Add(), x, self.dense(inner, WIDTH)))

    def split_heads(self, x: int) -> int:
        """Give every head its own part of each row."""
        x = self.op(Reshape(), x, self.constant(np.array([1, -1, HEADS, WIDTH // HEADS])))
        return self.op(Transpose(perm=(0, 2, 1, 3)), x)
