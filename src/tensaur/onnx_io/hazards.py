"""Models that ONNX's own shape inference must not be given in full, because it would crash on them.

Found with onnx 1.23: following the elements of shapes, it counts a Slice's step in 32 bits, and reads
outside of memory, or for ever, if the step does not fit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from onnx import ModelProto, NodeProto, TensorProto, numpy_helper

from tensaur.onnx_io.scopes import bodies
from tensaur.onnx_io.source import ONNX_DOMAINS

_STEPS = 4
_BOUND = 2**31


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
    for node in nodes:
        if node.op_type == "Slice" and node.domain in ONNX_DOMAINS and len(node.input) > _STEPS:
            steps = constants.get(node.input[_STEPS], []) if node.input[_STEPS] else None
            if steps is not None and not (steps and all(_fits(tensor) for tensor in steps)):
                return False
    return True


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
