"""Names and scopes: what subgraph bodies define, what they take from outside, and renaming that.

Works on protos alone and knows nothing of Tensaur's graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto


def bodies(node: NodeProto) -> Iterator[GraphProto]:
    """Yield the subgraphs of a node."""
    for attribute in node.attribute:
        yield from attribute_bodies(attribute)


def attribute_bodies(attribute: AttributeProto) -> Iterator[GraphProto]:
    """Yield the subgraphs of an attribute."""
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def captured_names(node: NodeProto) -> tuple[str, ...]:
    """Return the names of the outer values that a node's bodies use, in the order of first use."""
    names: dict[str, None] = {}
    for body in bodies(node):
        names.update(_free_names(body))
    return tuple(names)


def defined_names(graph: GraphProto) -> Iterator[str]:
    """Yield every name that a graph or a body nested in it defines."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        yield from (name for name in node.output if name)
        for body in bodies(node):
            yield from defined_names(body)


def rename_free(
    graph: GraphProto,
    renamed: Mapping[str, str],
    visible: Collection[str],
    fresh: Callable[[str], str],
) -> None:
    """Rename the outer values that a body uses, in place.

    `visible` are the names that the body can see from outside, the new ones included. ONNX forbids a
    body to define such a name again; what does so is renamed to a fresh name.
    """
    scope = dict(renamed)

    def define(name: str) -> str:
        scope.pop(name, None)
        if name in visible:
            scope[name] = fresh(name)
        return scope.get(name, name)

    for value in graph.input:
        value.name = define(value.name)
    for tensor in graph.initializer:
        tensor.name = define(tensor.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = define(sparse.values.name)
    for node in graph.node:
        node.input[:] = [scope.get(name, name) for name in node.input]
        for body in bodies(node):
            rename_free(body, scope, visible, fresh)
        node.output[:] = [define(name) if name else "" for name in node.output]
    for value in (*graph.output, *graph.value_info):
        value.name = scope.get(value.name, value.name)
    for annotation in graph.quantization_annotation:
        annotation.tensor_name = scope.get(annotation.tensor_name, annotation.tensor_name)


def tensors(model: ModelProto) -> Iterator[TensorProto]:
    """Yield every tensor of a model, wherever it stands."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        for node in function.node:
            yield from _node_tensors(node)


def _free_names(graph: GraphProto) -> dict[str, None]:
    local = {value.name for value in graph.input}
    local.update(tensor.name for tensor in graph.initializer)
    local.update(sparse.values.name for sparse in graph.sparse_initializer)
    free: dict[str, None] = {}
    for node in graph.node:
        for name in (*node.input, *captured_names(node)):
            if name and name not in local:
                free[name] = None
        local.update(node.output)
    for value in graph.output:
        if value.name not in local:
            free[value.name] = None
    return free


def _graph_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield sparse.values
        yield sparse.indices
    for node in graph.node:
        yield from _node_tensors(node)


def _node_tensors(node: NodeProto) -> Iterator[TensorProto]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        sparse = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for item in (*sparse, *attribute.sparse_tensors):
            yield item.values
            yield item.indices
        for body in attribute_bodies(attribute):
            yield from _graph_tensors(body)
