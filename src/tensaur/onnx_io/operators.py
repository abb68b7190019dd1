"""Operator classes at the edge: an ONNX node to an operator, and an operator to attributes and inputs.

Everything is read off the classes' `Onnx` descriptions. What a class does not model is left to `read`,
which keeps the node opaque.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto

from tensaur.errors import TensaurError, TypeMismatch
from tensaur.ir.operator import REQUIRED, Onnx, OnnxField, Operator
from tensaur.ir.types import ABSENT, DType, Fact, Known
from tensaur.onnx_io.types import dtype_of, elem_type_of, type_name
from tensaur.ops.window import Windowed

_SCALARS = {AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING}
_HINTS: dict[type[Operator], dict[str, Any]] = {}
_LISTS = {AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS}
# Attributes that mean something only while a field is empty.
_IDLE_WITH = {"noop_with_empty_axes": "axes"}


class NotModelled(Exception):
    """Control flow between this module and `read`: the class does not model this use of the operator."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An operator, and where its inputs come from: an ONNX input, a literal, or None for absent."""

    op: Operator
    inputs: tuple[int | Known | None, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """The attributes of an ONNX node and its inputs: an input of the operator, or a constant."""

    attributes: tuple[AttributeProto, ...]
    inputs: tuple[int | Known | None, ...]


def available(onnx: Onnx, opset: int) -> bool:
    """Tell whether ONNX has the operator with this meaning at an opset."""
    return onnx.since <= opset and (onnx.until is None or opset <= onnx.until)


def read_operator(
    cls: type[Operator], node: NodeProto, opset: int, facts: Sequence[Fact | None], outputs: int
) -> Reading:
    """Return a node as an operator of the class; NotModelled if the class does not cover it.

    `facts` are the facts of the node's inputs, None for one left out.
    """
    description = cls.onnx
    if description is None or not available(description, opset):
        raise NotModelled(f"{cls.__name__} is not in opset {opset}")
    attributes = _attribute_values(node)
    mode = attributes.pop("auto_pad", b"NOTSET").decode() if issubclass(cls, Windowed) else "NOTSET"
    fields = {
        item.field: _read_field(cls, item, opset, attributes, facts) for item in description.fields
    }
    inputs = _read_inputs(description, opset, attributes, facts)
    idle = {name for name, field in _IDLE_WITH.items() if fields.get(field)}
    _check_rest(description, node, opset, {k: v for k, v in attributes.items() if k not in idle})
    present = [input_fact(item, facts) for item in inputs]
    try:
        op = cls(**fields).canonical(present, outputs)
        if mode != "NOTSET":
            op = _padded(op, mode, present)
    except (TypeMismatch, TypeError, ValueError, IndexError) as error:
        raise NotModelled(str(error)) from error
    if not cls.accepts_arity(len(inputs)) or op.output_count != outputs:
        raise NotModelled(f"{len(inputs)} inputs, {outputs} outputs")
    return Reading(op, inputs)


def write_operator(op: Operator, inputs: Sequence[Fact], output: Fact, opset: int) -> Written:
    """Return how ONNX writes an operator at an opset; TensaurError if it cannot."""
    description = type(op).onnx
    if description is None or not available(description, opset):
        raise TensaurError(f"{op}: opset {opset} has no such operator")
    attributes: list[AttributeProto] = []
    constants: dict[int, Known | None] = {}
    for item in description.fields:
        value = _nonnegative(item, getattr(op, item.field), inputs, output, opset)
        if value == () and item.default in ((), None):
            value = None  # an empty list would be a list of nothing
        if _is_input(item, opset):
            assert item.input is not None
            constants[item.input] = _field_constant(item, value, inputs)
        elif value is None:
            continue
        elif item.since <= opset:
            attributes.append(_attribute(item, value))
        elif not item.is_default(value):
            raise TensaurError(f"{op}: opset {opset} has no attribute {item.attribute!r}")
    given: list[int | None] = [None if fact.type == ABSENT else i for i, fact in enumerate(inputs)]
    attributes += _old_attributes(op, description, inputs, given, opset)
    written = Written(tuple(attributes), tuple(_interleave(given, constants)))
    _check_signature(op, written, inputs, opset)
    return written


def _attribute_values(node: NodeProto) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.ref_attr_name or attribute.type not in _SCALARS | _LISTS:
            raise NotModelled(f"attribute {attribute.name!r}")
        value = onnx.helper.get_attribute_value(attribute)
        values[attribute.name] = tuple(value) if attribute.type in _LISTS else value
    return values


def _is_input(item: OnnxField, opset: int) -> bool:
    return item.input is not None and opset >= (item.input_since or 1)


def _read_field(
    cls: type[Operator],
    item: OnnxField,
    opset: int,
    attributes: dict[str, Any],
    facts: Sequence[Fact | None],
) -> Any:
    if not _is_input(item, opset):
        if item.attribute in attributes:
            value = _converted(_hint(cls, item.field), attributes.pop(item.attribute))
            return item.default if _same_single(value, item.default) else value
    else:
        assert item.input is not None
        fact = facts[item.input] if item.input < len(facts) else None
        if fact is not None:
            return _converted(_hint(cls, item.field), _constant_value(item, fact))
    if item.default is REQUIRED:
        raise NotModelled(f"{item.field} is not given")
    return item.default


def _constant_value(item: OnnxField, fact: Fact) -> Any:
    if fact.value is None or fact.value.array is None:
        raise NotModelled(f"{item.field} is not a constant")
    values = fact.value.array.ravel().tolist()
    if not item.scalar:
        return tuple(values)
    if len(values) != 1:
        raise NotModelled(f"{item.field} is not a scalar")
    return values[0]


def _hint(cls: type[Operator], field: str) -> Any:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls][field]


def _converted(hint: Any, value: Any) -> Any:
    """Return an attribute value as a field of this declared type."""
    if isinstance(hint, types.UnionType):
        (hint,) = (item for item in hint.__args__ if item is not type(None))
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, tuple):
            raise NotModelled("expected a list")
        return tuple(_converted(typing.get_args(hint)[0], item) for item in value)
    if hint is DType and isinstance(value, int):
        dtype = dtype_of(value)
        if dtype is None:
            raise NotModelled(f"element type {value}")
        return dtype
    if hint is str and isinstance(value, bytes):
        return value.decode()
    if hint in (int, float, bool) and isinstance(value, (int, float)):
        return hint(value)
    raise NotModelled(f"expected {hint}, got {value!r}")


def _same_single(value: Any, default: Any) -> bool:
    # ONNX keeps float attributes in single precision; a class may state its default in double.
    return isinstance(default, float) and isinstance(value, float) and (
        float(np.float32(default)) == value
    )  # fmt: skip


def _read_inputs(
    description: Onnx, opset: int, attributes: dict[str, Any], facts: Sequence[Fact | None]
) -> tuple[int | Known | None, ...]:
    taken = {item.input for item in description.fields if _is_input(item, opset)}
    inputs: list[int | Known | None] = [
        None if fact is None else i for i, fact in enumerate(facts) if i not in taken
    ]
    for old in description.inputs:
        if opset >= old.since:
            continue
        if len(inputs) != old.input or not facts or facts[0] is None or not facts[0].is_tensor:
            raise NotModelled(f"input {old.input} is both an attribute and an input")
        value = attributes.pop(old.attribute, old.default)
        with np.errstate(over="ignore"):
            inputs.append(Known.of(np.array(value, facts[0].dtype.numpy), facts[0].dtype))
    while inputs and inputs[-1] is None:
        inputs.pop()
    return tuple(inputs)


def _check_rest(
    description: Onnx, node: NodeProto, opset: int, attributes: Mapping[str, Any]
) -> None:
    """Refuse attributes that no field holds, unless they have no effect."""
    for name, value in attributes.items():
        if name not in description.ignored and value != _schema_default(
            node.op_type, opset, description.domain, name
        ):
            raise NotModelled(f"attribute {name!r}")


@functools.cache
def _schema_default(op_type: str, opset: int, domain: str, name: str) -> Any:
    if not onnx.defs.has(op_type, opset, domain):
        return None
    attribute = onnx.defs.get_schema(op_type, opset, domain).attributes.get(name)
    if attribute is None or not attribute.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(attribute.default_value)
    return tuple(value) if isinstance(value, list) else value


def input_fact(item: int | Known | None, facts: Sequence[Fact | None]) -> Fact:
    """Return the fact of an input of a `Reading`."""
    if isinstance(item, Known):
        return Fact(item.type, item, constant=True)
    fact = None if item is None else facts[item]
    return Fact(ABSENT, None, constant=True) if fact is None else fact


def _padded(op: Operator, mode: str, inputs: Sequence[Fact]) -> Operator:
    assert isinstance(op, Windowed)
    # Runtimes disagree on what rounding up means together with automatic padding.
    padded = None if getattr(op, "ceil_mode", False) else op.auto_padded(mode, inputs)
    if padded is None:
        raise NotModelled(f"auto_pad {mode}")
    return padded


def _check_signature(op: Operator, written: Written, inputs: Sequence[Fact], opset: int) -> None:
    """Refuse what the opset's operator does not take: too few inputs, or an element type."""
    assert op.onnx is not None
    if not onnx.defs.has(op.onnx.name, opset, op.onnx.domain):
        return
    schema = onnx.defs.get_schema(op.onnx.name, opset, op.onnx.domain)
    if not schema.min_input <= len(written.inputs) <= schema.max_input:
        raise TensaurError(f"{op}: opset {opset} does not take {len(written.inputs)} inputs")
    for position, item in enumerate(written.inputs):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        fact = None if item is None else input_fact(item, inputs)
        if fact is not None and fact.is_tensor and type_name(fact.dtype) not in formal.types:
            raise TensaurError(f"{op}: opset {opset} does not take {fact.dtype.value} inputs")


def _nonnegative(
    item: OnnxField, value: Any, inputs: Sequence[Fact], output: Fact, opset: int
) -> Any:
    """Return axes counted from the left where the opset knows no others."""
    if item.axis is None or opset >= 11 or value is None:
        return value
    rank = output.rank if item.axis == "output" else inputs[0].rank
    values = value if isinstance(value, tuple) else (value,)
    if any(axis < 0 for axis in values):
        if rank is None:
            raise TensaurError(f"negative axis {value} at opset {opset} needs a known rank")
        values = tuple(axis % rank for axis in values)
    return values if isinstance(value, tuple) else values[0]


def _field_constant(item: OnnxField, value: Any, inputs: Sequence[Fact]) -> Known | None:
    if value is None:
        return None
    dtype = inputs[0].dtype if item.dtype == "like" else DType(_NAMES.get(item.dtype, item.dtype))
    return Known.of(np.array(value, dtype=dtype.numpy), dtype)


_NAMES = {"int64": "i64", "int32": "i32", "float": "f32"}


def _attribute(item: OnnxField, value: Any) -> AttributeProto:
    assert item.attribute is not None
    if isinstance(value, DType):
        value = elem_type_of(value)
    kind = AttributeProto.INTS if value == () else None
    attribute: AttributeProto = onnx.helper.make_attribute(
        item.attribute, value, attr_type=None if kind is None else kind
    )
    return attribute


def _old_attributes(
    op: Operator, description: Onnx, inputs: Sequence[Fact], given: list[int | None], opset: int
) -> list[AttributeProto]:
    """Turn inputs that the opset knows as attributes into such, and take them out of `given`."""
    attributes = []
    for old in description.inputs:
        if opset >= old.since or old.input >= len(inputs):
            continue
        fact = inputs[old.input]
        given[old.input] = None
        if fact.type == ABSENT:
            continue
        value = None if fact.value is None else fact.value.scalar
        if value is None:
            raise TensaurError(f"{op}: opset {opset} wants a constant for {old.attribute!r}")
        attributes.append(onnx.helper.make_attribute(old.attribute, float(value)))
    return attributes


def _interleave(
    given: Sequence[int | None], constants: Mapping[int, Known | None]
) -> list[int | Known | None]:
    """Merge the operator's inputs with constants that have fixed positions."""
    result: list[int | Known | None] = []
    rest = list(given)
    while rest or any(position >= len(result) for position in constants):
        position = len(result)
        if position in constants:
            result.append(constants[position])
        else:
            result.append(rest.pop(0) if rest else None)
    while result and result[-1] is None:
        result.pop()
    return result
