"""Types at the edge: ONNX element types and TypeProto to Tensaur's types, and element types back.

Holds no shape inference; `check` runs ONNX's. Types of results are never written: the interface of a
written model is copied from its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import TensorProto, TensorShapeProto, TypeProto

from tensaur.ir.dims import Dim, is_anonymous, symbol
from tensaur.ir.types import DType, OtherType, TensorType, Type

_RENAMED = {DType.FLOAT32: "FLOAT", DType.FLOAT64: "DOUBLE"}
_ELEM_TYPE: dict[DType, int] = {
    dtype: TensorProto.DataType.Value(_RENAMED.get(dtype, dtype.name)) for dtype in DType
}
_DTYPE = {number: dtype for dtype, number in _ELEM_TYPE.items()}

UNKNOWN = OtherType("unknown")


def dtype_of(elem_type: int) -> DType | None:
    """Return the element type of an ONNX number, None if Tensaur knows none like it."""
    return _DTYPE.get(elem_type)


def elem_type_of(dtype: DType) -> int:
    """Return the ONNX number of an element type."""
    return _ELEM_TYPE[dtype]


def type_name(dtype: DType) -> str:
    """Return what ONNX's operator definitions call a tensor of an element type."""
    return f"tensor({TensorProto.DataType.Name(elem_type_of(dtype)).lower()})"


def type_of(proto: TypeProto, value: str, renamed: Mapping[str, str] | None = None) -> Type:
    """Return the type that a TypeProto gives the value named `value`.

    A dimension without a size gets a symbol of its own, ``?VALUE.AXIS``. `renamed` gives other names to
    dimension names (those that shape inference made up).
    """
    if proto.WhichOneof("value") != "tensor_type":
        return OtherType(_text(proto))
    tensor = proto.tensor_type
    dtype = dtype_of(tensor.elem_type)
    if dtype is None:
        return OtherType(_text(proto))
    if not tensor.HasField("shape"):
        return TensorType(dtype, None)
    dims = enumerate(tensor.shape.dim)
    return TensorType(dtype, tuple(_dim(dim, f"?{value}.{i}", renamed or {}) for i, dim in dims))


def refine(inferred: Type, declared: Type) -> Type:
    """Return the inferred type, with what only the file declares filled in.

    What was inferred wins where the two differ: declarations go stale when models are edited.
    """
    if inferred == UNKNOWN:
        return declared
    if not isinstance(inferred, TensorType) or not isinstance(declared, TensorType):
        return inferred
    if inferred.dtype is not declared.dtype or declared.shape is None:
        return inferred
    if inferred.shape is None:
        return declared
    if len(inferred.shape) != len(declared.shape):
        return inferred
    pairs = zip(inferred.shape, declared.shape, strict=True)
    dims = (b if is_anonymous(a) and not is_anonymous(b) else a for a, b in pairs)
    return TensorType(inferred.dtype, tuple(dims))


def _dim(dim: TensorShapeProto.Dimension, anonymous: str, renamed: Mapping[str, str]) -> Dim:
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    name = dim.dim_param
    # Exporters write "?" for "unknown"; Tensaur keeps such names for symbols that equal no other.
    if not name or name.startswith("?"):
        return symbol(anonymous)
    return symbol(renamed.get(name, name))


def _text(proto: TypeProto) -> str:
    kind = proto.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({_text(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({_text(proto.optional_type.elem_type)})"
    if kind == "map_type":
        key = TensorProto.DataType.Name(proto.map_type.key_type).lower()
        return f"map({key}, {_text(proto.map_type.value_type)})"
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = proto.tensor_type if kind == "tensor_type" else proto.sparse_tensor_type
        dims = ",".join(str(dim.dim_value or dim.dim_param or "?") for dim in tensor.shape.dim)
        return f"{kind.removesuffix('_type')} {tensor.elem_type}[{dims}]"
    return UNKNOWN.text
