"""Random operators with inputs, as arrays and as one-node ONNX models; what the tests here share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tensaur import ops
from tensaur.errors import TypeMismatch
from tensaur.ir.operator import Operator, infer_fact
from tensaur.ir.types import (
    ABSENT,
    DType,
    Fact,
    Known,
    OtherType,
    TensorType,
    TupleType,
    literal_fact,
)
from tensaur.onnx_io.operators import write_operator

LATEST = 21
# Functions that are not defined, or not smooth enough to compare, for arguments below zero.
POSITIVE = (ops.Log, ops.Sqrt, ops.Pow, ops.Reciprocal, ops.BatchNormalization, ops.LRN, ops.Div)


@dataclass(frozen=True)
class Draw:
    """A drawn operator, its inputs' types (or known values), and the type wanted of the result."""

    op: Operator
    inputs: tuple[TensorType | Known | OtherType, ...]
    output: TensorType
    index: int

    @property
    def facts(self) -> list[Fact]:
        """Return the facts of the inputs."""
        return [fact_of(item) for item in self.inputs]

    @property
    def fact(self) -> Fact:
        """Return the fact of the result."""
        return infer_fact(self.op, self.facts)


def fact_of(item: TensorType | Known | OtherType) -> Fact:
    """Return the fact of a sampled input."""
    return literal_fact(item) if isinstance(item, Known) else Fact(item, None, item == ABSENT)


def draw(cls: type[Operator], rng: Random, dtype: DType, least: int = 1) -> Draw | None:
    """Draw an operator of the class, None if it never gives a result of this element type."""
    for _ in range(300):
        index = rng.randint(0, 2) if cls is ops.Split else 0
        output = TensorType(dtype, _shape(rng, least))
        try:
            sample = cls.sample(rng, output, index)
        except TypeMismatch:
            continue
        return Draw(sample.op, sample.inputs, output, index)
    return None


def _shape(rng: Random, least: int) -> tuple[int, ...]:
    rank = rng.choice([0, 1, 2, 2, 3, 3, 4, 4, 5])
    ones = 0.8 if rng.random() < 0.3 else 0.15
    return tuple(1 if rng.random() < ones else rng.randint(least, 4) for _ in range(rank))


def arrays(case: Draw, rng: Random) -> list[Any]:
    """Fill the inputs with random data; None where one is absent."""
    low = 0 if isinstance(case.op, POSITIVE) else -2
    numbers = np.random.default_rng(rng.randrange(2**32))
    result: list[Any] = []
    for item in case.inputs:
        if isinstance(item, Known):
            result.append(item.array)
        elif isinstance(item, TensorType):
            result.append(_fill(item, numbers, low))
        else:
            result.append(None)
    return result


def _fill(kind: TensorType, numbers: np.random.Generator, low: int) -> Any:
    shape = kind.static_shape
    assert shape is not None
    if kind.dtype is DType.BOOL:
        return np.asarray(numbers.random(shape) < 0.5)
    if kind.dtype.is_integer:
        unsigned = kind.dtype.value.startswith("u")
        first = 1 if low == 0 else (0 if unsigned else -4)
        return np.asarray(numbers.integers(first, 5, shape)).astype(kind.dtype.numpy)
    return np.asarray(numbers.uniform(low or 0.25, 2, shape)).astype(kind.dtype.numpy)


def items_of(kind: Any) -> tuple[Any, ...]:
    """Return the types of all outputs."""
    return kind.items if isinstance(kind, TupleType) else (kind,)


def model_of(case: Draw, opset: int) -> onnx.ModelProto:
    """Return the one-node model of a draw; known inputs become initialisers."""
    written = write_operator(case.op, case.facts, case.fact, opset)
    constants: list[TensorProto] = []
    names: list[str] = []
    for place in written.inputs:
        if place is None:
            names.append("")
        elif isinstance(place, Known):
            names.append(f"c{len(constants)}")
            constants.append(numpy_helper.from_array(np.array(place.array), names[-1]))
        else:
            names.append(f"x{place}")
    inputs = []
    for position, item in enumerate(case.inputs):
        if f"x{position}" not in names:
            continue
        if isinstance(item, Known):
            constants.append(numpy_helper.from_array(np.array(item.array), f"x{position}"))
        else:
            inputs.append(_value(f"x{position}", item))
    outputs = [f"y{i}" for i in range(case.op.output_count)]
    assert case.op.onnx is not None
    node = helper.make_node(case.op.onnx.name, names, outputs)
    node.attribute.extend(written.attributes)
    values = [_value(n, t) for n, t in zip(outputs, items_of(case.fact.type), strict=True)]
    graph = helper.make_graph([node], "one", inputs, values, constants)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _value(name: str, kind: Any) -> onnx.ValueInfoProto:
    element = helper.np_dtype_to_tensor_dtype(kind.dtype.numpy)
    return helper.make_tensor_value_info(name, element, kind.static_shape)


def feeds(model: onnx.ModelProto, data: list[Any]) -> dict[str, Any]:
    """Return the data by input name."""
    return {value.name: data[int(value.name[1:])] for value in model.graph.input}


def opsets(cls: type[Operator]) -> Iterator[int]:
    """Yield every opset at which the form of the ONNX operator changes, on both sides of the change."""
    description = cls.onnx
    assert description is not None
    changes = {description.since, LATEST}
    for item in description.fields:
        if item.input_since is not None:
            changes |= {item.input_since, item.input_since - 1}
        changes |= {item.since, item.since - 1}
    for old in description.inputs:
        changes |= {old.since, old.since - 1}
    yield from sorted(v for v in changes if description.since <= v <= LATEST)
