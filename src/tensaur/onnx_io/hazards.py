"""Models that ONNX's own shape inference must not be given in full, because it would crash on them.

Found with onnx 1.23: following the elements of shapes, it counts a Slice's step in 32 bits, and reads
outside of memory, or for ever, if the step does not fit; and it writes down every element of a vector,
in over a hundred bytes each, however long the vector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from tensaur.onnx_io.scopes import bodies
from tensaur.onnx_io.source import ONNX_DOMAINS

_STEPS = 4
_BOUND = 2**31

# Where operators that make long vectors of little have their length.
_LENGTHS = {"ConstantOfShape": 0, "Expand": 1, "Tile": 1}
_LONGEST = 2**20
_NUMBERS = (TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE)


def elements_can_be_followed(model: ModelProto) -> bool:
    """Tell whether shape inference may propagate the elements of shapes in this model."""
    constants: dict[str, list[TensorProto]] = defaultdict(list)
    for tensor in _initialisers(model.graph.node, model.graph.initializer):
        constants[tensor.name].append(tensor)
    functions = (node for function in model.functions for node in function.node)
    nodes = [*_nodes(model.graph.node), *_nodes(functions)]
    for node in nodes:
        if node.op_type == "Constant" and node.attribute:
            constants[node.output[0]].append(node.attribute[0].t)
    longest = _longest(model, constants)
    if longest > _LONGEST or any(_is_long(node, constants, longest) for node in nodes):
        return False
    for node in nodes:
        if node.op_type == "Slice" and node.domain in ONNX_DOMAINS and len(node.input) > _STEPS:
            steps = constants.get(node.input[_STEPS], []) if node.input[_STEPS] else None
            if steps is not None and not (steps and all(_fits(tensor) for tensor in steps)):
                return False
    return True


def _is_long(node: NodeProto, constants: Mapping[str, Sequence[TensorProto]], longest: int) -> bool:
    if node.domain not in ONNX_DOMAINS:
        return False
    if node.op_type == "Range":
        ends = [_numbers(constants.get(name, ())) for name in node.input]
        if not all(ends) or len(ends) != len(("start", "limit", "delta")):
            return False
        starts, limits, deltas = ends
        span = max(abs(limit - start) for limit in limits for start in starts)
        return span > _LONGEST * min(abs(delta) for delta in deltas)
    place = _LENGTHS.get(node.op_type)
    if place is None or len(node.input) <= place:
        return False
    repeated = longest if node.op_type == "Tile" else 1
    lengths = _numbers(constants.get(node.input[place], ()))
    return any(length * repeated > _LONGEST for length in lengths)


def _longest(model: ModelProto, constants: Mapping[str, Sequence[TensorProto]]) -> int:
    """Return the length of the longest vector that is given, at least 1."""
    shapes = [value.type.tensor_type.shape.dim for value in model.graph.input]
    given = [dims[0].dim_value for dims in shapes if len(dims) == 1]
    kept = [
        tensor.dims[0] for same in constants.values() for tensor in same if len(tensor.dims) == 1
    ]
    return int(max([1, *given, *kept]))


def _numbers(tensors: Iterable[TensorProto]) -> list[float]:
    """Return the values of the tensors that have one element."""
    single = (tensor for tensor in tensors if not tensor.external_data and prod(tensor.dims) == 1)
    return [
        numpy_helper.to_array(tensor).item() for tensor in single if tensor.data_type in _NUMBERS
    ]


def _nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for body in bodies(node):
            yield from _nodes(body.node)


def _initialisers(nodes: Iterable[NodeProto], own: Iterable[TensorProto]) -> Iterator[TensorProto]:
    yield from own
    for node in nodes:
        for body in bodies(node):
            yield from _initialisers(body.node, body.initializer)


def _fits(tensor: TensorProto) -> bool:
    if tensor.data_type not in (TensorProto.INT32, TensorProto.INT64) or tensor.external_data:
        return False
    return all(-_BOUND < int(item) < _BOUND for item in numpy_helper.to_array(tensor).ravel())
