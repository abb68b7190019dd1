"""The papers' networks, built with Tensaur's own operators and seeded weights, and written as ONNX.

Every function takes the width, so that tests can use the same networks small. Does not optimise or time
anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Protocol

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.models.entry import Entry, normal
from tensaur import onnx_io
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Operator, Weight
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Known, TensorType
from tensaur.ops import (
    Add,
    Div,
    Erf,
    LayerNormalization,
    MatMul,
    Mul,
    Relu,
    Reshape,
    Sigmoid,
    Softmax,
    Tanh,
    Transpose,
)

OPSET = 17
_IR_VERSION = 8


class Build(Protocol):
    """A function that builds a network of a given width."""

    def __call__(self, width: int = ..., seed: int = ...) -> Graph:
        """Build it."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayData:
    """Constant data in memory."""

    array: Array

    @property
    def nbytes(self) -> int:
        """Return the size in bytes."""
        return self.array.nbytes

    def numpy(self) -> Array:
        """Return the array."""
        return self.array


class Network:
    """A graph under construction: operators applied to values, and seeded weights."""

    def __init__(self, seed: int) -> None:
        self._builder = GraphBuilder()
        self._rng = np.random.default_rng(seed)

    def input(self, name: str, *shape: int) -> int:
        """Add an input."""
        return self._builder.add(Input(name, TensorType(DType.FLOAT32, shape)), (), name)

    def apply(self, op: Operator, *inputs: int) -> int:
        """Apply an operator."""
        return self._builder.add(op, inputs)

    def weight(self, *shape: int, scale: float | None = None) -> int:
        """Add a random weight; by default products by it keep the size of what they are given."""
        scale = 1 / sqrt(shape[0]) if scale is None else scale
        return self.constant(self._rng.standard_normal(shape) * scale)

    def constant(self, array: Array | float) -> int:
        """Add a constant of 32-bit floats."""
        data = np.asarray(array, dtype=np.float32)
        if data.size <= KNOWN_LIMIT:
            return self._builder.add(Literal(Known.of(data)))
        name = f"weight_{len(self._builder.constants)}"
        self._builder.constants[name] = ArrayData(data)
        return self._builder.add(Weight(name, TensorType(DType.FLOAT32, data.shape)), (), name)

    def reshape(self, value: int, *shape: int) -> int:
        """Reshape a value."""
        return self.apply(Reshape(), value, self._builder.add(Literal(Known.of_dims(shape))))

    def build(self, outputs: Sequence[int]) -> Graph:
        """Return the graph with these outputs."""
        named = [Output(f"output_{index}", value) for index, value in enumerate(outputs)]
        return self._builder.build(named)


def nasrnn(width: int = 512, seed: int = 0, steps: int = 5, shared: bool = True) -> Graph:
    """Build NasRNN, the recurrent cell found by architecture search, unrolled.

    `shared` weights are the same at every step, as in any recurrent network. TASO's and TenSat's
    programs draw new ones at every step (`shared` False), which leaves nothing to batch over time.
    """
    net = Network(seed)
    inputs = [net.input(f"x{step}", 1, width) for step in range(steps)]
    state = net.weight(1, width, scale=1.0)
    gates: list[tuple[int, int]] = []
    for value in inputs:
        if not (gates and shared):
            gates = [(net.weight(width, width), net.weight(width, width)) for _ in range(8)]
        state = _nas_cell(net, value, state, gates)
    return net.build([state])


def _nas_cell(net: Network, value: int, state: int, gates: Sequence[tuple[int, int]]) -> int:
    def gate(number: int, activation: Operator) -> int:
        weight, recurrent = gates[number]
        product = net.apply(MatMul(), value, weight)
        return net.apply(
            activation, net.apply(Add(), product, net.apply(MatMul(), state, recurrent))
        )

    relu, sigmoid, tanh = Relu(), Sigmoid(), Tanh()
    first = net.apply(Add(), gate(0, relu), gate(3, sigmoid))
    second = net.apply(Add(), gate(1, sigmoid), gate(2, tanh))
    third = net.apply(Mul(), gate(4, sigmoid), gate(5, tanh))
    fourth = net.apply(Mul(), gate(6, sigmoid), gate(7, relu))
    upper = net.apply(Add(), net.apply(sigmoid, second), net.apply(tanh, third))
    lower = net.apply(Mul(), net.apply(tanh, first), net.apply(tanh, fourth))
    joined = net.apply(Mul(), net.apply(tanh, upper), net.apply(tanh, lower))
    return net.apply(tanh, joined)


def bert_tensat(width: int = 1024, seed: int = 0, heads: int = 16, layers: int = 8) -> Graph:
    """Build what TenSat calls BERT: attention without softmax, normalisation or feed-forward part.

    As there, queries are multiplied by keys that are not transposed (so the sequence is as long as a
    head is wide), and the attentions' results are outputs that no later layer reads.
    """
    net = Network(seed)
    size = width // heads
    value = net.apply(Relu(), net.input("x", size, width))
    outputs = []
    for _ in range(layers):
        query, key, content = (
            _split_heads(net, net.apply(MatMul(), value, net.weight(width, width)), size, heads)
            for _ in range(3)
        )
        attended = net.apply(MatMul(), net.apply(MatMul(), query, key), content)
        outputs.append(_join_heads(net, attended, size, width))
        value = net.apply(MatMul(), value, net.weight(width, width))
    return net.build([*outputs, value])


def bert_encoder(
    width: int = 768, seed: int = 0, heads: int = 12, layers: int = 4, sequence: int = 128
) -> Graph:
    """Build encoder layers of BERT as PyTorch exports them, the Gelu written with Erf."""
    net = Network(seed)
    value = net.input("x", sequence, width)
    for _ in range(layers):
        attended = _attention(net, value, sequence, width, heads)
        value = _normalise(net, net.apply(Add(), attended, value), width)
        hidden = _gelu(net, _linear(net, value, width, 4 * width))
        value = _normalise(
            net, net.apply(Add(), _linear(net, hidden, 4 * width, width), value), width
        )
    return net.build([value])


def _attention(net: Network, value: int, sequence: int, width: int, heads: int) -> int:
    query, key, content = (
        net.reshape(_linear(net, value, width, width), sequence, heads, width // heads)
        for _ in range(3)
    )
    to_front = Transpose(perm=(1, 0, 2))
    scores = net.apply(
        MatMul(), net.apply(to_front, query), net.apply(Transpose(perm=(1, 2, 0)), key)
    )
    scaled = net.apply(Div(), scores, net.constant(sqrt(width // heads)))
    attended = net.apply(
        MatMul(), net.apply(Softmax(axis=-1), scaled), net.apply(to_front, content)
    )
    return _linear(net, _join_heads(net, attended, sequence, width), width, width)


def _split_heads(net: Network, value: int, sequence: int, heads: int) -> int:
    cut = net.reshape(value, sequence, heads, sequence)
    return net.apply(Transpose(perm=(1, 0, 2)), cut)


def _join_heads(net: Network, value: int, sequence: int, width: int) -> int:
    return net.reshape(net.apply(Transpose(perm=(1, 0, 2)), value), sequence, width)


def _linear(net: Network, value: int, inner: int, outer: int) -> int:
    product = net.apply(MatMul(), value, net.weight(inner, outer))
    return net.apply(Add(), net.weight(outer, scale=0.1), product)


def _gelu(net: Network, value: int) -> int:
    inner = net.apply(Erf(), net.apply(Div(), value, net.constant(sqrt(2))))
    shifted = net.apply(Add(), inner, net.constant(1.0))
    return net.apply(Mul(), net.apply(Mul(), value, shifted), net.constant(0.5))


def _normalise(net: Network, value: int, width: int) -> int:
    scale, bias = net.constant(np.ones(width)), net.weight(width, scale=0.1)
    return net.apply(LayerNormalization(axis=-1, epsilon=1e-5), value, scale, bias)


def nasrnn_unshared(width: int = 512, seed: int = 0) -> Graph:
    """Build NasRNN with new weights at every step, as TASO's and TenSat's programs do."""
    return nasrnn(width, seed, shared=False)


NETWORKS: Mapping[str, Build] = {
    "nasrnn": nasrnn,
    "nasrnn-unshared": nasrnn_unshared,
    "bert-tensat": bert_tensat,
    "bert-encoder": bert_encoder,
}


def to_model(graph: Graph) -> onnx.ModelProto:
    """Write a graph that was built here, with static shapes, as an ONNX model."""
    skeleton = helper.make_model(
        helper.make_graph(
            [],
            "network",
            [_port(item.name, item.type) for item in graph.inputs],
            [_port(item.name, graph.facts[item.node].type) for item in graph.outputs],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=_IR_VERSION,
    )
    return onnx_io.write(graph, onnx_io.Source(graph, skeleton, OPSET, None, Path()))


def _port(name: str, kind: object) -> onnx.ValueInfoProto:
    assert isinstance(kind, TensorType) and kind.static_shape is not None
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, kind.static_shape)


def _entry(name: str, build: Build) -> Entry:
    def place(path: Path) -> Path:
        onnx.save(to_model(build()), path)
        return path

    shapes = _SHAPES[name]
    return Entry(name, "network", place, {port: normal(*shape) for port, shape in shapes.items()})


_STEPS: dict[str, tuple[int, ...]] = {f"x{step}": (1, 512) for step in range(5)}
_SHAPES: Mapping[str, dict[str, tuple[int, ...]]] = {
    "nasrnn": _STEPS,
    "nasrnn-unshared": _STEPS,
    "bert-tensat": {"x": (64, 1024)},
    "bert-encoder": {"x": (128, 768)},
}
PAPERS = tuple(_entry(name, build) for name, build in NETWORKS.items())
