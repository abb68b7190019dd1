"""Graph to ONNX: the nodes anew, everything else as it is in the source.

Values keep their names where they survive; whatever is not part of the graph (interface, documentation,
metadata, functions) is copied from the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from tensaur.errors import TensaurError
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Absent, Input, Literal, Opaque, Operator, Project, Root, Weight
from tensaur.ir.types import ABSENT, Fact, Known, TensorType, TupleType, meet
from tensaur.onnx_io.names import Naming, name_values
from tensaur.onnx_io.operators import available, write_operator
from tensaur.onnx_io.scopes import attribute_bodies, rename_free
from tensaur.onnx_io.source import Source
from tensaur.onnx_io.tensors import StoredSparse, StoredTensor, tensor_of
from tensaur.onnx_io.types import type_of

_NO_NODE = (Input, Literal, Weight, Absent, Project, Root)


def writable(op_class: type[Operator], opset: int) -> bool:
    """Tell whether ONNX can express an operator class at an opset."""
    if op_class.onnx is None:
        return op_class in (*_NO_NODE, Opaque)
    return not op_class.onnx.domain and available(op_class.onnx, opset)


def expressible(op: Operator, inputs: Sequence[Fact], output: Fact, opset: int) -> bool:
    """Tell whether ONNX can express an operator on these inputs at an opset."""
    if isinstance(op, (*_NO_NODE, Opaque)):
        return True
    try:
        write_operator(op, inputs, output, opset)
    except TensaurError:
        return False
    return True


def write(graph: Graph, source: Source) -> ModelProto:
    """Return the graph as a model with the interface, opset, metadata and functions of its source.

    Weights still in external files stay there; their locations are relative to `source.folder`.
    """
    result = ModelProto()
    _copy_fields(source.proto, result, but=("graph",))
    _Writer(graph, source, result.graph).write_all()
    return result


def named(graph: Graph, source: Source) -> Graph:
    """Return the graph with the names that its values have where it is written."""
    names = name_values(graph, source.proto).names
    nodes = (node._replace(name=names.get(at, "")) for at, node in enumerate(graph.nodes))
    return replace(graph, nodes=tuple(nodes))


class _Writer:
    """Fills the graph of a model, node by node."""

    def __init__(self, graph: Graph, source: Source, result: GraphProto) -> None:
        self._graph, self._source, self._result = graph, source, result
        self._naming: Naming = name_values(graph, source.proto)
        self._producers = {
            name: node for node in source.proto.graph.node for name in node.output if name
        }
        self._constants: dict[Known, str] = {}
        self._used: set[int] = set()
        self._node_names: set[str] = set()
        # Up to IR version 3 every initialiser is listed as an input, so a new one would be a new input.
        self._old = source.proto.ir_version < 4

    def write_all(self) -> None:
        """Write the interface, the nodes, and what describes surviving values."""
        graph = self._source.proto.graph
        _copy_fields(
            graph, self._result,
            but=("node", "initializer", "sparse_initializer", "input", "value_info",
                 "quantization_annotation"),
        )  # fmt: skip
        self._write_defaults()
        for position in sorted(self._graph.live()):
            self._write_value(position)
        for output in self._graph.outputs:
            self._use(output.node)
        for alias in self._naming.aliases:
            name = self._naming.value(alias.position)
            self._add_node("Identity", "", (name,), (alias.output,), alias.output)
        self._write_descriptions()
        self._write_inputs()

    def _write_defaults(self) -> None:
        """Copy the initialisers that the caller may override."""
        graph = self._source.proto.graph
        listed = {value.name for value in graph.input} if not self._old else set()
        self._result.initializer.extend(t for t in graph.initializer if t.name in listed)
        sparse = (item for item in graph.sparse_initializer if item.values.name in listed)
        self._result.sparse_initializer.extend(sparse)

    def _write_value(self, position: int) -> None:
        op = self._graph.nodes[position].op
        if isinstance(op, Opaque):
            self._write_opaque(op, position)
        elif not isinstance(op, _NO_NODE):
            self._write_known(op, position)

    def _use(self, position: int) -> str:
        """Return the name of a value that is read; constants are written when they first are."""
        op, name = self._graph.nodes[position].op, self._naming.value(position)
        if position in self._used:
            return name
        self._used.add(position)
        if isinstance(op, Weight):
            self._write_weight(op.name, name)
        elif isinstance(op, Literal):
            self._write_constant(tensor_of(op.value, name))
            self._constants.setdefault(op.value, name)
        return name

    def _write_weight(self, key: str, name: str) -> None:
        data = self._graph.constants[key]
        if isinstance(data, StoredSparse):
            sparse = self._result.sparse_initializer.add()
            sparse.CopyFrom(data.proto)
            sparse.values.name = name
        elif isinstance(data, StoredTensor):
            self._write_constant(data.proto, name)
        else:
            self._write_constant(tensor_of(data.numpy(), name))

    def _write_constant(self, tensor: TensorProto, name: str | None = None) -> None:
        """Write an initialiser, or a Constant node where an initialiser would change the inputs."""
        name = tensor.name if name is None else name
        if self._old and name not in self._naming.initialisers:
            node = self._add_node("Constant", "", (), (name,), name)
            value = node.attribute.add(name="value", type=AttributeProto.TENSOR)
            value.t.CopyFrom(tensor)
            return
        written = self._result.initializer.add()
        written.CopyFrom(tensor)
        written.name = name

    def _write_known(self, op: Operator, position: int) -> None:
        node, facts = self._graph.nodes[position], self._graph.facts
        given = [facts[item] for item in node.inputs]
        written = write_operator(op, given, facts[position], self._source.opset)
        outputs = self._naming.outputs(position)
        names = [
            self._constant(item, outputs[0])
            if isinstance(item, Known)
            else "" if item is None else self._use(node.inputs[item])
            for item in written.inputs
        ]  # fmt: skip
        assert op.onnx is not None
        result = self._add_node(op.onnx.name, op.onnx.domain, names, outputs, outputs[0])
        result.attribute.extend(written.attributes)

    def _write_opaque(self, op: Opaque, position: int) -> None:
        inputs = [self._use(item) for item in self._graph.nodes[position].inputs]
        outputs = [
            "" if kind == ABSENT else name
            for kind, name in zip(op.declared, self._naming.outputs(position), strict=True)
        ]
        anchor = next(filter(None, outputs), "")
        renamed = dict(zip(op.captured, inputs[op.formal :], strict=True))
        node = self._add_node(op.op_type, op.domain, inputs[: op.formal], outputs, anchor)
        if op.overload:
            node.overload = op.overload
        for _, data in op.attributes:
            attribute = node.attribute.add()
            attribute.ParseFromString(data)
            for body in attribute_bodies(attribute):
                # Runtimes order nodes as they like: all values but its own outputs may come before it.
                visible = self._naming.all_names() - set(outputs)
                rename_free(body, renamed, visible, self._naming.fresh)

    def _constant(self, value: Known, user: str) -> str:
        """Return the name of a constant with this value, writing it if there is none yet."""
        if value not in self._constants:
            name = self._constants[value] = self._naming.fresh(f"{user}_constant")
            self._write_constant(tensor_of(value, name))
        return self._constants[value]

    def _add_node(
        self,
        op_type: str,
        domain: str,
        inputs: Iterable[str],
        outputs: Iterable[str],
        anchor: str,
    ) -> NodeProto:
        """Add a node, with the documentation of the source's node that made the value `anchor`."""
        node: NodeProto = self._result.node.add()
        origin = self._producers.get(anchor)
        if origin is not None:
            if (origin.op_type, origin.domain) == (op_type, domain):
                _copy_fields(origin, node, but=("input", "output", "attribute", "name"))
            # Some runtimes refuse two nodes of one name, which ONNX allows.
            if origin.name and origin.name not in self._node_names:
                node.name = origin.name
                self._node_names.add(origin.name)
        node.op_type = op_type
        if domain:
            node.domain = domain
        node.input.extend(inputs)
        node.output.extend(outputs)
        return node

    def _write_inputs(self) -> None:
        constants = self._naming.initialisers if self._old else frozenset()
        written = {tensor.name for tensor in self._result.initializer}
        for value in self._source.proto.graph.input:
            if value.name not in constants or value.name in written:
                self._result.input.append(value)

    def _write_descriptions(self) -> None:
        """Copy what the source says of values that are still there."""
        graph, facts = self._source.proto.graph, self._graph.facts
        positions = {name: position for position, name in self._naming.names.items()}
        for value in graph.value_info:
            position = positions.get(value.name)
            if position is not None and _compatible(facts[position], type_of(value.type, "")):
                self._result.value_info.append(value)
        written = {tensor.name for tensor in self._result.initializer}
        stored = {tensor.name: tensor for tensor in graph.initializer}
        for annotation in graph.quantization_annotation:
            if annotation.tensor_name not in positions:
                continue
            self._result.quantization_annotation.append(annotation)
            for entry in annotation.quant_parameter_tensor_names:
                if entry.value in stored and entry.value not in written:
                    self._result.initializer.append(stored[entry.value])
                    written.add(entry.value)


def _compatible(fact: Fact, declared: object) -> bool:
    if not isinstance(declared, TensorType):
        return not fact.is_tensor and not isinstance(fact.type, TupleType)
    try:
        meet(Fact(fact.type), Fact(declared))
    except ValueError:
        return False
    return True


def _copy_fields(
    origin: ModelProto | GraphProto | NodeProto,
    target: ModelProto | GraphProto | NodeProto,
    but: Sequence[str],
) -> None:
    for field, value in origin.ListFields():
        if field.name in but:
            continue
        current = getattr(target, field.name)
        if hasattr(current, "MergeFrom"):
            current.MergeFrom(value)
        else:
            setattr(target, field.name, value)
