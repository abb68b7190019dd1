"""ONNX to Graph: every value of the file becomes one node, in the order of its dependencies.

Identity and inference-time Dropout vanish; constants become literals or weights; nodes of a known
operator become that operator, and all others are opaque.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from tensaur.errors import ModelError, TypeMismatch
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import (
    Absent,
    Input,
    Literal,
    Opaque,
    Operator,
    Project,
    Weight,
    infer_fact,
    is_small,
)
from tensaur.ir.types import ABSENT, DType, Fact, Known, TensorType, TupleType, Type, meet
from tensaur.onnx_io.check import Checked, check
from tensaur.onnx_io.data import check_data, check_text
from tensaur.onnx_io.load import load
from tensaur.onnx_io.operators import NotModelled, input_fact, read_operator
from tensaur.onnx_io.scopes import bodies, captured_names
from tensaur.onnx_io.source import ONNX_DOMAINS, Source, model_opset, opset_of
from tensaur.onnx_io.tensors import StoredSparse, StoredTensor, known_of, tensor_of_values
from tensaur.onnx_io.types import UNKNOWN, dtype_of
from tensaur.ops import OPERATORS

if TYPE_CHECKING:
    import onnx_ir  # heavy: imported when used

# Operators of ONNX's own domains whose equal applications may differ.
_NONDETERMINISTIC = frozenset(
    {
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike",
    }
)  # fmt: skip
_PURE_DOMAINS = (*ONNX_DOMAINS, "ai.onnx.ml")
_CLASSES: dict[tuple[str, str], list[type[Operator]]] = {}
for _cls in OPERATORS:
    if _cls.onnx is not None:
        _CLASSES.setdefault((_cls.onnx.domain, _cls.onnx.name), []).append(_cls)


def read(model: str | Path | ModelProto | onnx_ir.Model) -> Source:
    """Read a model; ModelError names the file and the fault if it is not a valid one.

    A proto is kept as it is, by reference: do not change it while the result is in use.
    """
    loaded = load(model)
    try:
        check_text(loaded.proto)
        check_data(loaded.proto, loaded.folder, loaded.path)
        reader = _Reader(loaded.proto, loaded.folder, check(loaded.proto))
        reader.read_all()
    except ModelError as error:
        raise ModelError(f"{loaded.place}: {' '.join(str(error).split())}") from error
    outputs = [Output(v.name, reader.value(v.name)) for v in loaded.proto.graph.output]
    return Source(
        reader.builder.build(outputs), loaded.proto, reader.opset, loaded.path, loaded.folder
    )


class _Reader:
    """Fills a graph builder; `values` maps every ONNX value read so far to its node."""

    def __init__(self, model: ModelProto, folder: Path, checked: Checked) -> None:
        self.builder = GraphBuilder()
        self.values: dict[str, int] = {}
        self.opset = model_opset(model)
        self._model, self._folder, self._checked = model, folder, checked
        self._facts: list[Fact] = []
        self._initialisers = {tensor.name: tensor for tensor in model.graph.initializer}
        self._sparse = {item.values.name: item for item in model.graph.sparse_initializer}
        self._functions = {(item.domain, item.name) for item in model.functions}
        self._used = _used_names(model.graph)

    def read_all(self) -> None:
        """Read the inputs, then the nodes and whatever constants they use."""
        constants = self._model.ir_version < 4
        for value in self._model.graph.input:
            if not (constants and value.name in self._initialisers):
                kind = self._checked.types[value.name]
                self.values[value.name] = self._add(Input(value.name, kind), (), value.name)
        for node in self._checked.nodes:
            self._read_node(node)

    def value(self, name: str) -> int:
        """Return the node of a value, adding an initialiser when it is first used."""
        if name not in self.values:
            if name in self._sparse:
                self.values[name] = self._add_sparse(name)
            else:
                self.values[name] = self._add_tensor(self._initialisers[name], name)
        return self.values[name]

    def _add(self, op: Operator, inputs: Sequence[int], name: str) -> int:
        position = self.builder.add(op, inputs, name)
        if position == len(self._facts):
            self._facts.append(infer_fact(op, [self._facts[item] for item in inputs]))
        return position

    def _add_tensor(self, tensor: TensorProto, name: str) -> int:
        dtype = dtype_of(tensor.data_type)
        if dtype is None:
            raise ModelError(f"tensor {name!r} has the unknown element type {tensor.data_type}")
        kind = TensorType(dtype, tuple(tensor.dims))
        data = StoredTensor(tensor, self._folder)
        if is_small(kind) and (dtype.is_float or dtype.is_integer or dtype is DType.BOOL):
            return self._add(Literal(known_of(data)), (), name)
        self.builder.constants[name] = data
        return self._add(Weight(name, kind), (), name)

    def _add_sparse(self, name: str) -> int:
        sparse = self._sparse[name]
        dtype = dtype_of(sparse.values.data_type)
        if dtype is None:
            raise ModelError(f"tensor {name!r} has an unknown element type")
        self.builder.constants[name] = StoredSparse(sparse, self._folder)
        return self._add(Weight(name, TensorType(dtype, tuple(sparse.dims))), (), name)

    def _read_node(self, node: NodeProto) -> None:
        special = None
        if node.domain in ONNX_DOMAINS and (node.domain, node.op_type) not in self._functions:
            special = self._read_special(node)
        if special is not None:
            self.values[node.output[0]] = special
            return
        inputs = [self.value(name) if name else None for name in node.input]
        if not self._read_known(node, inputs):
            self._read_opaque(node, inputs)

    def _read_special(self, node: NodeProto) -> int | None:
        """Return the value of a node that vanishes, None if it does not."""
        if node.op_type == "Identity":
            return self.value(node.input[0])
        if node.op_type == "Constant":
            return self._read_constant(node)
        if node.op_type == "Dropout" and self._is_inference(node):
            mask = node.output[1] if len(node.output) > 1 else ""
            return None if mask in self._used else self.value(node.input[0])
        return None

    def _read_constant(self, node: NodeProto) -> int | None:
        (attribute,) = node.attribute
        name = node.output[0]
        if attribute.name == "value":
            return self._add_tensor(attribute.t, name)
        if attribute.name == "sparse_value":
            return None
        kind = attribute.name.removeprefix("value_")
        field = {"int": "i", "float": "f", "string": "s"}.get(kind, kind)
        value: Any = getattr(attribute, field)
        listed = value if kind == field else None
        tensor = tensor_of_values(attribute.name, value if listed is None else list(listed), name)
        return self._add_tensor(tensor, name)

    def _is_inference(self, node: NodeProto) -> bool:
        if self.opset < 7:
            return any(item.name == "is_test" and item.i for item in node.attribute)
        if self.opset < 12 or len(node.input) < 3 or not node.input[2]:
            return True
        value = self._facts[self.value(node.input[2])].value
        return value is not None and value.scalar is False

    def _read_known(self, node: NodeProto, inputs: Sequence[int | None]) -> bool:
        """Read a node as an operator class if one covers it."""
        domain = "" if node.domain in ONNX_DOMAINS else node.domain
        classes = _CLASSES.get((domain, node.op_type), ())
        if not classes or (node.domain, node.op_type) in self._functions:
            return False
        opset = self.opset if not domain else opset_of(self._model.opset_import, domain)
        return any(self._read_as(cls, node, opset, inputs) for cls in classes)

    def _read_as(
        self, cls: type[Operator], node: NodeProto, opset: int, inputs: Sequence[int | None]
    ) -> bool:
        facts = [None if item is None else self._facts[item] for item in inputs]
        outputs = self._output_count(node)
        try:
            reading = read_operator(cls, node, opset, facts, outputs)
            given = [input_fact(item, facts) for item in reading.inputs]
            fact = infer_fact(reading.op, given)
            self._check_types(node, fact, outputs)
        except (NotModelled, TypeMismatch, ValueError, ArithmeticError):
            return False
        positions = [
            self._add(Literal(item), (), "")
            if isinstance(item, Known)
            else self._position(None if item is None else inputs[item])
            for item in reading.inputs
        ]
        single = not isinstance(fact.type, TupleType)
        self._add_outputs(reading.op, positions, list(node.output[:outputs]), single)
        return True

    def _output_count(self, node: NodeProto) -> int:
        """Count the outputs up to the last that is used (batch normalisation: up to the last named)."""
        # Further outputs of an old BatchNormalization mean that it is in training.
        names = node.output if node.op_type == "BatchNormalization" else self._used
        used = [i for i, name in enumerate(node.output) if name and name in names]
        return max(used, default=0) + 1 if node.op_type != "Split" else len(node.output)

    def _position(self, position: int | None) -> int:
        return self._add(Absent(), (), "") if position is None else position

    def _check_types(self, node: NodeProto, fact: Fact, outputs: int) -> None:
        """Refuse (by ValueError) a reading whose types contradict those that ONNX infers."""
        items = fact.type.items if isinstance(fact.type, TupleType) else (fact.type,)
        for name, kind in zip(node.output[:outputs], items, strict=True):
            inferred = self._checked.inferred.get(name, UNKNOWN)
            if isinstance(inferred, TensorType):
                meet(Fact(kind), Fact(inferred))

    def _read_opaque(self, node: NodeProto, inputs: Sequence[int | None]) -> None:
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        captured = captured_names(node)
        op = Opaque(
            node.domain,
            node.op_type,
            node.overload,
            tuple(
                sorted((a.name, a.SerializeToString(deterministic=True)) for a in node.attribute)
            ),
            tuple(self._declared(name) for name in node.output),
            len(given),
            captured,
            self._unique(node),
        )
        positions = [self._position(item) for item in given]
        positions += [self.value(name) for name in captured]
        self._add_outputs(op, positions, list(node.output), len(node.output) == 1)

    def _declared(self, name: str) -> Type:
        return self._checked.types.get(name, UNKNOWN) if name else ABSENT

    def _unique(self, node: NodeProto) -> str:
        training = node.op_type in ("Dropout", "BatchNormalization")
        pure = node.domain in _PURE_DOMAINS and node.op_type not in _NONDETERMINISTIC
        pure = pure and (node.domain, node.op_type) not in self._functions
        # Merged outputs are copied by Identity, which old opsets have for tensors only.
        kinds = [self._declared(name) for name in node.output if name]
        tensors = all(isinstance(kind, TensorType) for kind in kinds)
        if pure and tensors and not (training or any(bodies(node))):
            return ""
        return next(filter(None, node.output), node.name)

    def _add_outputs(
        self, op: Operator, inputs: Sequence[int], names: Sequence[str], single: bool
    ) -> None:
        whole = self._add(op, inputs, names[0] if single else "")
        for index, name in enumerate(names):
            if name:
                self.values[name] = whole if single else self._add(Project(index), (whole,), name)


def _used_names(graph: GraphProto) -> frozenset[str]:
    used = {value.name for value in graph.output}
    for node in graph.node:
        used.update(node.input)
        used.update(captured_names(node))
    return frozenset(used - {""})
