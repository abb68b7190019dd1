"""What a runtime opens: a model made from a graph alone, or the one that a graph was read from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onnx import ModelProto, TypeProto, ValueInfoProto, helper

from tensaur import onnx_io
from tensaur.ir.graph import Graph
from tensaur.ir.types import TensorType, Type
from tensaur.onnx_io.source import Source
from tensaur.onnx_io.types import elem_type_of
from tensaur.runtime.protocol import InFolder, Model

# The first IR version that all supported runtimes read and that knows every type used here.
_IR_VERSION = 10


def model_of(graph: Graph, opsets: Mapping[str, int]) -> ModelProto:
    """Return a model that runs the graph; its inputs' types have to be static."""
    proto = ModelProto(ir_version=_IR_VERSION)
    proto.opset_import.extend(
        helper.make_opsetid(domain, version) for domain, version in opsets.items()
    )
    proto.graph.name = "graph"
    proto.graph.input.extend(_value(item.name, item.type) for item in graph.inputs)
    proto.graph.output.extend(
        _value(output.name, graph.facts[output.node].type) for output in graph.outputs
    )
    source = Source(graph, proto, opsets.get("", 0), None, Path())
    return onnx_io.write(graph, source)


def original_of(source: Source) -> Model:
    """Return the model that a source was read from: its file, or what was in memory."""
    return source.path or InFolder(source.proto, source.folder)


def _value(name: str, kind: Type) -> ValueInfoProto:
    if not isinstance(kind, TensorType):
        return ValueInfoProto(name=name, type=TypeProto())
    shape = kind.static_shape if kind.shape is not None else None
    return helper.make_tensor_value_info(name, elem_type_of(kind.dtype), shape)
