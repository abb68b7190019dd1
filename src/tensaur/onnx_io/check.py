"""Tell whether a model is valid, in which order its nodes run, and which types its values have.

Uses ONNX's own checker and shape inference, on a copy without large weights. Raises ModelError without
the name of the file, which `read` puts before it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from tensaur.errors import ModelError, one_line
from tensaur.ir.types import Type
from tensaur.onnx_io.hazards import elements_can_be_followed
from tensaur.onnx_io.scopes import captured_names
from tensaur.onnx_io.source import ONNX_DOMAINS, model_opset
from tensaur.onnx_io.tensors import tensor_nbytes
from tensaur.onnx_io.types import UNKNOWN, refine, type_of

# Larger tensors are left out of the copy; shape inference reads elements only of small ones.
LARGE_NBYTES = 4096
# Operators that ONNX Runtime defines in ONNX's own domain, unknown to ONNX's checker.
_RUNTIME_OPERATORS = frozenset(
    {
        "Affine", "Crop", "DynamicSlice", "GivenTensorFill", "GRUUnit", "ImageScaler",
        "LayerNormalization", "ParametricSoftplus", "Scale", "ScaledTanh",
        "SimplifiedLayerNormalization", "ThresholdedRelu",
    }
)  # fmt: skip


_RUNTIME_DOMAIN = "onnxruntime"


@dataclass(frozen=True, slots=True)
class Checked:
    """The nodes of a valid model in the order of their dependencies, and the types of its values.

    `inferred` are the types that follow from the inputs; `types` have what only the file claims too.
    """

    nodes: tuple[NodeProto, ...]
    types: Mapping[str, Type]
    inferred: Mapping[str, Type]


def check(model: ModelProto) -> Checked:
    """Return the order and the types of a model; ModelError names the first fault."""
    if not model.graph.output:
        raise ModelError("the graph has no outputs")
    if model.training_info:
        raise ModelError("training information is not supported")
    newest = onnx.defs.onnx_opset_version()
    if model_opset(model) > newest:
        raise ModelError(f"opset {model_opset(model)} is newer than {newest}, the newest known")
    nodes = sorted_nodes(model.graph)
    skeleton = _skeleton(model, nodes)
    _run_checker(skeleton)
    _check_types(skeleton)
    inferred = _inferred_types(model, skeleton)
    types = dict(inferred)
    _refine(types, (*model.graph.value_info, *model.graph.output), {})
    return Checked(nodes, types, inferred)


def sorted_nodes(graph: GraphProto) -> tuple[NodeProto, ...]:
    """Return the nodes in an order of their dependencies, the file's own if it is one."""
    producer = _producers(graph)
    waiting: list[set[int]] = []
    users: list[list[int]] = [[] for _ in graph.node]
    for position, node in enumerate(graph.node):
        waiting.append(_sources(node, position, producer))
        for source in waiting[-1]:
            users[source].append(position)
    ready = [position for position, sources in enumerate(waiting) if not sources]
    order: list[int] = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for user in users[position]:
            waiting[user].discard(position)
            if not waiting[user]:
                heapq.heappush(ready, user)
    if len(order) < len(graph.node):
        stuck = min(set(range(len(graph.node))) - set(order))
        raise ModelError(
            f"the graph is cyclic: {_called(graph.node[stuck], stuck)} depends on itself"
        )
    return tuple(graph.node[position] for position in order)


def constants_of(graph: GraphProto) -> Iterator[str]:
    """Yield the names of the initialisers of a graph."""
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)


def _producers(graph: GraphProto) -> dict[str, int | None]:
    """Map every value to the node that makes it, None for inputs and initialisers."""
    producer: dict[str, int | None] = {}
    for value in graph.input:
        if value.name in producer:
            raise ModelError(f"input {value.name!r} is declared twice")
        producer[value.name] = None
    constants = list(constants_of(graph))
    for name in constants:
        producer[name] = None
    if len(set(constants)) < len(constants):
        twice = next(name for name in constants if constants.count(name) > 1)
        raise ModelError(f"initialiser {twice!r} is declared twice")
    for position, node in enumerate(graph.node):
        for name in filter(None, node.output):
            if name in producer:
                raise ModelError(f"value {name!r} is defined twice")
            producer[name] = position
    _check_outputs(graph, producer)
    return producer


def _check_outputs(graph: GraphProto, producer: Mapping[str, int | None]) -> None:
    seen: set[str] = set()
    for value in graph.output:
        if value.name not in producer:
            raise ModelError(f"output {value.name!r} is not defined")
        if value.name in seen:
            raise ModelError(f"output {value.name!r} is listed twice")
        seen.add(value.name)


def _sources(node: NodeProto, position: int, producer: Mapping[str, int | None]) -> set[int]:
    sources: set[int] = set()
    for name in (*node.input, *captured_names(node)):
        if name and name not in producer:
            raise ModelError(f"{_called(node, position)} reads {name!r}, which is not defined")
        source = producer[name] if name else None
        if source is not None:
            sources.add(source)
    return sources


def _called(node: NodeProto, position: int) -> str:
    return (
        f"node {node.name!r} ({node.op_type})" if node.name else f"node {position} ({node.op_type})"
    )


def _skeleton(model: ModelProto, nodes: Sequence[NodeProto]) -> ModelProto:
    """Copy what the checker and shape inference need; large constants become inputs."""
    result = ModelProto(ir_version=model.ir_version, producer_name=model.producer_name)
    result.opset_import.extend(model.opset_import)
    if model.ir_version >= 3:
        result.opset_import.add(domain=_RUNTIME_DOMAIN, version=1)
    result.functions.extend(model.functions)
    graph = result.graph
    graph.name = model.graph.name or "graph"
    listed = {value.name for value in model.graph.input}
    graph.input.extend(model.graph.input)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    for tensor in model.graph.initializer:
        _add_constant(graph, tensor, tensor.name, listed, model.ir_version)
    custom: set[str] = set()
    for node in nodes:
        large = _large_constant(node)
        if large is not None:
            graph.input.append(_value_of(large, node.output[0]))
            continue
        copy = graph.node.add()
        copy.CopyFrom(node)
        if node.domain in ONNX_DOMAINS:
            copy.domain = _RUNTIME_DOMAIN if _only_in_runtime(node.op_type, model) else ""
        if not _has_schema(copy):
            custom.update(node.output)
    # What a file says of other values may be stale; shape inference says it better.
    graph.value_info.extend(v for v in model.graph.value_info if v.name in custom)
    graph.output.extend(v if v.name in custom else _bare(v) for v in model.graph.output)
    return result


def _add_constant(
    graph: GraphProto, tensor: TensorProto, name: str, listed: set[str], ir_version: int
) -> None:
    small = tensor_nbytes(tensor) <= LARGE_NBYTES and not tensor.external_data
    if small:
        graph.initializer.append(tensor)
    # Up to IR version 3, every initialiser is listed as an input; some writers forget.
    if name not in listed and (not small or ir_version < 4):
        graph.input.append(_value_of(tensor, name))


def _value_of(tensor: TensorProto, name: str) -> ValueInfoProto:
    value: ValueInfoProto = onnx.helper.make_tensor_value_info(name, tensor.data_type, tensor.dims)
    return value


def _large_constant(node: NodeProto) -> TensorProto | None:
    if node.op_type != "Constant" or node.domain not in ONNX_DOMAINS or not node.attribute:
        return None
    tensor: TensorProto = node.attribute[0].t
    large = tensor_nbytes(tensor) > LARGE_NBYTES or tensor.external_data
    return tensor if node.attribute[0].name == "value" and large else None


def _only_in_runtime(op_type: str, model: ModelProto) -> bool:
    if op_type not in _RUNTIME_OPERATORS:
        return False
    version = max((i.version for i in model.opset_import if i.domain in ONNX_DOMAINS), default=1)
    return not onnx.defs.has(op_type, version, "")


def _has_schema(node: NodeProto) -> bool:
    return bool(onnx.defs.has(node.op_type, "" if node.domain in ONNX_DOMAINS else node.domain))


def _bare(value: ValueInfoProto) -> ValueInfoProto:
    """Return an output without its shape, which shape inference will find."""
    if value.type.WhichOneof("value") != "tensor_type":
        return value
    result = ValueInfoProto(name=value.name)
    result.type.tensor_type.elem_type = value.type.tensor_type.elem_type
    return result


def _run_checker(skeleton: ModelProto) -> None:
    # The checker wants a shape for every input and output; runtimes and many exporters do not.
    shaped = ModelProto()
    shaped.CopyFrom(skeleton)
    for value in (*shaped.graph.input, *shaped.graph.output, *shaped.graph.value_info):
        if value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(shaped)
    except onnx.checker.ValidationError as error:
        raise ModelError(one_line(error)) from None
    except ValueError as error:
        raise ModelError(f"cannot be checked: {one_line(error)}") from None


def _check_types(skeleton: ModelProto) -> None:
    """Refuse element types that contradict each other; contradictory shapes are for the runtime."""
    try:
        onnx.shape_inference.infer_shapes(skeleton, check_type=True, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        for line in str(error).splitlines():
            wrong = "[TypeInferenceError]" in line or "inconsistent type" in line
            # What follows from another error, and so is none, is said like this.
            if wrong and "instead is null" not in line:
                raise ModelError(one_line(line)) from None
    except ValueError as error:
        raise ModelError(one_line(error)) from None


def _infer(skeleton: ModelProto, data_prop: bool) -> ModelProto:
    try:
        result: ModelProto = onnx.shape_inference.infer_shapes(skeleton, data_prop=data_prop)
    except (onnx.shape_inference.InferenceError, ValueError) as error:
        raise ModelError(one_line(error)) from None
    return result


def _inferred_types(model: ModelProto, skeleton: ModelProto) -> dict[str, Type]:
    known = _dimension_names(model.graph)
    types: dict[str, Type] = {}
    # Following the elements of shapes says most, but gives up on some bodies.
    for data_prop in (True, False) if elements_can_be_followed(skeleton) else (False,):
        inferred = _infer(skeleton, data_prop)
        new = _dimension_names(inferred.graph) - known
        made_up = {name: f"?{name}.{data_prop:d}" for name in new}
        _refine(types, (*inferred.graph.value_info, *inferred.graph.output), made_up)
    for value in model.graph.input:
        types[value.name] = type_of(value.type, value.name)
    return types


def _refine(
    types: dict[str, Type], values: Sequence[ValueInfoProto], made_up: Mapping[str, str]
) -> None:
    for value in values:
        found = type_of(value.type, value.name, made_up)
        types[value.name] = refine(types.get(value.name, UNKNOWN), found)


def _dimension_names(graph: GraphProto) -> set[str]:
    values = (*graph.input, *graph.output, *graph.value_info)
    return {dim.dim_param for value in values for dim in value.type.tensor_type.shape.dim}
