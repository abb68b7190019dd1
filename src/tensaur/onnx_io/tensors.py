"""Constant data at the edge: ONNX tensors held by reference, and arrays made into ONNX tensors.

Data in external files stay on disk, memory-mapped while somebody looks at them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from tensaur.ir.types import Array, DType, Known
from tensaur.onnx_io.types import dtype_of, elem_type_of


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
        from onnx_ir import serde  # noqa: PLC0415  # heavy: imported when used

        array: Array = serde.deserialize_tensor(self.proto, str(self.folder)).numpy()
        return array


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
