"""Constant data at the edge: ONNX tensors held by reference, and arrays made into ONNX tensors.

Data in external files stay on disk, memory-mapped while somebody looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

from tensaur.errors import ModelError
from tensaur.ir.types import Array, DType, Known
from tensaur.onnx_io.types import dtype_of, elem_type_of


@dataclass(frozen=True, slots=True)
class Extent:
    """A range of bytes of a file, named relative to the model's folder."""

    location: str
    offset: int
    length: int


def is_external(tensor: TensorProto) -> bool:
    """Tell whether the data of a tensor are in a file of their own."""
    return tensor.data_location == TensorProto.EXTERNAL


def extent_of(tensor: TensorProto) -> Extent:
    """Return where the external data of a tensor are; ModelError if that makes no sense."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    needed = tensor_nbytes(tensor)
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", str(needed)))
    except ValueError:
        raise ModelError(f"tensor {tensor.name!r}: offset or length is not a number") from None
    if not entries.get("location"):
        raise ModelError(f"tensor {tensor.name!r}: external data without a location")
    if dtype_of(tensor.data_type) is DType.STRING:
        raise ModelError(f"tensor {tensor.name!r}: strings cannot be external data")
    if offset < 0 or length != needed:
        raise ModelError(
            f"tensor {tensor.name!r}: {length} bytes at offset {offset} of {entries['location']!r},"
            f" expected {needed} bytes"
        )
    return Extent(entries["location"], offset, length)


@dataclass(frozen=True, slots=True, eq=False)
class StoredTensor:
    """A tensor of the source model; `folder` is where its external data are, if it has such."""

    proto: TensorProto
    folder: Path

    @property
    def nbytes(self) -> int:
        """Return the size of the data in bytes."""
        return tensor_nbytes(self.proto)

    def numpy(self) -> Array:
        """Return the data; external data are memory-mapped."""
        if not is_external(self.proto):
            array: Array = numpy_helper.to_array(self.proto)
            return array
        import onnx_ir  # noqa: PLC0415  # heavy: imported when used

        if self.nbytes == 0:  # an empty range cannot be mapped
            dtype = dtype_of(self.proto.data_type)
            return np.empty(tuple(self.proto.dims), None if dtype is None else dtype.numpy)
        extent = extent_of(self.proto)
        # A model cache holds links, which onnx_ir does not follow; `data` has checked where to.
        file = (self.folder / extent.location).resolve()
        external = onnx_ir.ExternalTensor(
            file.name,
            extent.offset,
            extent.length,
            onnx_ir.DataType(self.proto.data_type),
            shape=onnx_ir.Shape(self.proto.dims),
            name=self.proto.name,
            base_dir=file.parent,
        )
        return np.asarray(external.numpy())


@dataclass(frozen=True, slots=True, eq=False)
class StoredSparse:
    """A sparse initialiser of the source model."""

    proto: SparseTensorProto
    folder: Path

    @property
    def nbytes(self) -> int:
        """Return the size of the data in bytes, as stored."""
        return tensor_nbytes(self.proto.values) + tensor_nbytes(self.proto.indices)

    def numpy(self) -> Array:
        """Return the data as a dense array."""
        values = StoredTensor(self.proto.values, self.folder).numpy()
        indices = StoredTensor(self.proto.indices, self.folder).numpy()
        dense = np.zeros(tuple(self.proto.dims), dtype=values.dtype)
        flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dense.shape)
        dense.ravel()[flat] = values
        return dense


def tensor_nbytes(tensor: TensorProto) -> int:
    """Return the size of a tensor's data in bytes."""
    dtype = dtype_of(tensor.data_type)
    if dtype is DType.STRING:
        return sum(len(item) for item in tensor.string_data)
    count: int = prod(tensor.dims)
    return (count * (dtype.bits if dtype else 0) + 7) // 8


def has_all_elements(tensor: TensorProto) -> bool:
    """Tell whether a tensor that is not external holds as many elements as its shape says."""
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data) == tensor_nbytes(tensor)
    dtype = dtype_of(tensor.data_type)
    if dtype is None:
        return False
    count: int = prod(tensor.dims)
    if dtype.bits < 8:
        count = tensor_nbytes(tensor)  # packed, one byte in each number
    elif dtype in (DType.COMPLEX64, DType.COMPLEX128):
        count *= 2
    field = helper.tensor_dtype_to_field(tensor.data_type)
    return len(getattr(tensor, field)) == count


def known_of(tensor: StoredTensor) -> Known:
    """Return the elements of a small tensor of an ordinary type."""
    return Known.of(tensor.numpy(), dtype_of(tensor.proto.data_type))


def tensor_of(data: Known | Array, name: str) -> TensorProto:
    """Return an ONNX tensor that holds these elements."""
    if isinstance(data, Known):
        assert data.raw is not None, "symbolic elements cannot be written"
        return TensorProto(
            name=name, data_type=elem_type_of(data.dtype), dims=data.shape, raw_data=data.raw
        )
    tensor: TensorProto = numpy_helper.from_array(
        np.ascontiguousarray(data).reshape(data.shape), name
    )
    return tensor


def tensor_of_values(attribute: str, value: Any, name: str) -> TensorProto:
    """Return the tensor that a Constant with the attribute `value_int`, `value_floats`, ... holds."""
    kinds: dict[str, Any] = {"int": np.int64, "float": np.float32, "string": np.object_}
    kind = kinds[attribute.removeprefix("value_").removesuffix("s")]
    return tensor_of(np.array(value, dtype=kind), name)
