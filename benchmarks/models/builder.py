"""What the papers' networks are built with: operators applied to values, seeded weights, and ONNX at the end.

Knows no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from tensaur import onnx_io
from tensaur.ir.graph import ArrayData, ConstantData, Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Operator, Weight, infer_fact
from tensaur.ir.types import KNOWN_LIMIT, Array, DType, Fact, Known, TensorType
from tensaur.ops import Reshape

OPSET = 17
_IR_VERSION = 8


@dataclass(frozen=True, slots=True, eq=False)
class DrawnData:
    """Normally distributed constant data, drawn anew whenever asked for.

    So it costs nothing to build a large network and look at it.
    """

    shape: tuple[int, ...]
    scale: float
    seed: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Return the size in bytes."""
        return 4 * prod(self.shape)

    def numpy(self) -> Array:
        """Return the array."""
        drawn = np.random.default_rng(self.seed).standard_normal(self.shape, dtype=np.float32)
        return drawn * np.float32(self.scale)


class Network:
    """A graph under construction: operators applied to values, and seeded weights."""

    def __init__(self, seed: int) -> None:
        self._builder = GraphBuilder()
        self._facts: list[Fact] = []
        self._seed = seed
        self._drawn = 0

    def input(self, name: str, *shape: int, dtype: DType = DType.FLOAT32) -> int:
        """Add an input."""
        return self._builder.add(Input(name, TensorType(dtype, shape)), (), name)

    def apply(self, op: Operator, *inputs: int) -> int:
        """Apply an operator."""
        return self._builder.add(op, inputs)

    def shape(self, value: int) -> tuple[int, ...]:
        """Return the shape of a tensor."""
        for node in self._builder.nodes[len(self._facts) : value + 1]:
            self._facts.append(infer_fact(node.op, [self._facts[item] for item in node.inputs]))
        shape = self._facts[value].tensor.static_shape
        assert shape is not None, "networks are built with static shapes"
        return shape

    def weight(self, *shape: int, scale: float | None = None) -> int:
        """Add a random weight; by default products by it keep the size of what they are given."""
        scale = 1 / sqrt(shape[0]) if scale is None else scale
        self._drawn += 1
        data = DrawnData(shape, scale, (self._seed, self._drawn))
        if prod(shape) <= KNOWN_LIMIT:
            return self.constant(data.numpy())
        return self._stored(data, shape)

    def constant(self, array: Array | float) -> int:
        """Add a constant of 32-bit floats."""
        data = np.asarray(array, dtype=np.float32)
        if data.size <= KNOWN_LIMIT:
            return self._builder.add(Literal(Known.of(data)))
        return self._stored(ArrayData(data), data.shape)

    def literal(self, array: Array) -> int:
        """Add a small constant of the array's own element type."""
        return self._builder.add(Literal(Known.of(array)))

    def _stored(self, data: ConstantData, shape: tuple[int, ...]) -> int:
        name = f"weight_{len(self._builder.constants)}"
        self._builder.constants[name] = data
        return self._builder.add(Weight(name, TensorType(DType.FLOAT32, shape)), (), name)

    def reshape(self, value: int, *shape: int) -> int:
        """Reshape a value."""
        return self.apply(Reshape(), value, self._builder.add(Literal(Known.of_dims(shape))))

    def build(self, outputs: Sequence[int]) -> Graph:
        """Return the graph with these outputs."""
        named = [Output(f"output_{index}", value) for index, value in enumerate(outputs)]
        return self._builder.build(named)


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
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind.dtype.numpy))
    return helper.make_tensor_value_info(name, element, kind.static_shape)
