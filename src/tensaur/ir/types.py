"""What is known of a value before the model runs: element type, shape, and sometimes its elements.

Holds `DType`, the value types, `Known` (elements of a small tensor) and `Fact` (all of it together).
Does not hold operators. A `Fact` is hashable and small: the e-graph interns it as class data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tensaur.ir.dims import Dim, DimExpr, dim_max, is_anonymous, product

Array = npt.NDArray[Any]
Shape = tuple[Dim, ...]

# Tensors with at most this many elements travel through inference with their elements: shapes,
# permutations, paddings, scalars. Larger ones would only make equal signatures differ.
KNOWN_LIMIT = 16


class DType(Enum):
    """An element type of ONNX, named as in the text form."""

    FLOAT32 = "f32"
    FLOAT64 = "f64"
    FLOAT16 = "f16"
    BFLOAT16 = "bf16"
    INT8 = "i8"
    INT16 = "i16"
    INT32 = "i32"
    INT64 = "i64"
    UINT8 = "u8"
    UINT16 = "u16"
    UINT32 = "u32"
    UINT64 = "u64"
    BOOL = "bool"
    STRING = "string"
    COMPLEX64 = "c64"
    COMPLEX128 = "c128"
    FLOAT8E4M3FN = "f8e4m3fn"
    FLOAT8E4M3FNUZ = "f8e4m3fnuz"
    FLOAT8E5M2 = "f8e5m2"
    FLOAT8E5M2FNUZ = "f8e5m2fnuz"
    FLOAT8E8M0 = "f8e8m0"
    FLOAT4E2M1 = "f4e2m1"
    INT4 = "i4"
    UINT4 = "u4"
    INT2 = "i2"
    UINT2 = "u2"

    @property
    def is_float(self) -> bool:
        """Tell whether this is a binary floating-point type of at least 16 bits."""
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Tell whether this is a whole-byte integer type."""
        return self in _INTEGERS

    @property
    def bits(self) -> int:
        """Return the size of one element in bits (strings count as a pointer)."""
        return _BITS[self]

    @property
    def numpy(self) -> np.dtype[Any]:
        """Return the NumPy type that holds such elements in memory."""
        return _NUMPY[self]

    @staticmethod
    def of(dtype: npt.DTypeLike) -> DType:
        """Return the element type of a NumPy type; TypeError if ONNX has none like it."""
        found = _OF_NUMPY.get(np.dtype(dtype))
        if found is None:
            raise TypeError(f"no ONNX element type for {np.dtype(dtype)}")
        return found


_FLOATS = frozenset({DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16})
_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.FLOAT32: np.dtype(np.float32),
    DType.FLOAT64: np.dtype(np.float64),
    DType.FLOAT16: np.dtype(np.float16),
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DType.INT8: np.dtype(np.int8),
    DType.INT16: np.dtype(np.int16),
    DType.INT32: np.dtype(np.int32),
    DType.INT64: np.dtype(np.int64),
    DType.UINT8: np.dtype(np.uint8),
    DType.UINT16: np.dtype(np.uint16),
    DType.UINT32: np.dtype(np.uint32),
    DType.UINT64: np.dtype(np.uint64),
    DType.BOOL: np.dtype(np.bool_),
    DType.STRING: np.dtype(object),
    DType.COMPLEX64: np.dtype(np.complex64),
    DType.COMPLEX128: np.dtype(np.complex128),
    DType.FLOAT8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    DType.FLOAT8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    DType.FLOAT8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    DType.FLOAT8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    DType.FLOAT8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    DType.FLOAT4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    DType.INT4: np.dtype(ml_dtypes.int4),
    DType.UINT4: np.dtype(ml_dtypes.uint4),
    DType.INT2: np.dtype(ml_dtypes.int2),
    DType.UINT2: np.dtype(ml_dtypes.uint2),
}
_OF_NUMPY = {dtype: key for key, dtype in _NUMPY.items()}
_INTEGERS = frozenset(
    key for key, dtype in _NUMPY.items() if dtype.kind in "iu" and dtype.name[-1] in "8624"
) - {DType.INT4, DType.UINT4, DType.INT2, DType.UINT2}
_SUB_BYTE = {
    DType.INT4: 4, DType.UINT4: 4, DType.INT2: 2, DType.UINT2: 2, DType.FLOAT4E2M1: 4,
}  # fmt: skip
_BITS = {key: _SUB_BYTE.get(key, dtype.itemsize * 8) for key, dtype in _NUMPY.items()}


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: element type and shape; shape None means that not even the rank is known."""

    dtype: DType
    shape: Shape | None

    @property
    def rank(self) -> int | None:
        """Return the number of axes, None if unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def size(self) -> Dim | None:
        """Return the number of elements, None if the rank is unknown."""
        return None if self.shape is None else product(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """Return the shape if every dimension is an integer, else None."""
        if self.shape is None or not all(isinstance(dim, int) for dim in self.shape):
            return None
        return tuple(dim for dim in self.shape if isinstance(dim, int))

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype.value}[...]"
        return f"{self.dtype.value}[{','.join(str(dim) for dim in self.shape)}]"


@dataclass(frozen=True, slots=True)
class TupleType:
    """The value of an operator with several outputs."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(str(item) for item in self.items)})"


@dataclass(frozen=True, slots=True)
class OtherType:
    """A value that Tensaur carries but never looks into: a sequence, optional, map, or nothing."""

    text: str

    def __str__(self) -> str:
        return f"<{self.text}>"


Type = TensorType | TupleType | OtherType


@dataclass(frozen=True, slots=True)
class Known:
    """The elements of a small tensor: either all as bytes, or integers some of which are symbolic.

    Bytes, not floats, so that 0.0 and -0.0 differ and NaN equals itself. Exactly one of `raw` and
    `dims` is set; `dims` holds int64 elements in row-major order, at least one of them symbolic.
    """

    dtype: DType
    shape: tuple[int, ...]
    raw: bytes | None
    dims: tuple[Dim, ...] | None = None

    @staticmethod
    def of(array: npt.ArrayLike, dtype: DType | None = None) -> Known:
        """Hold the elements of an array (converted to `dtype` if given)."""
        data = np.asarray(array, dtype=None if dtype is None else dtype.numpy)
        return Known(DType.of(data.dtype), data.shape, np.ascontiguousarray(data).tobytes())

    @staticmethod
    def of_dims(dims: Sequence[Dim], shape: tuple[int, ...] | None = None) -> Known:
        """Hold int64 elements, some perhaps symbolic; a vector unless `shape` says otherwise."""
        shape = (len(dims),) if shape is None else shape
        if any(isinstance(dim, DimExpr) for dim in dims):
            return Known(DType.INT64, shape, None, tuple(dims))
        return Known.of(np.array(dims, dtype=np.int64).reshape(shape))

    @property
    def array(self) -> Array | None:
        """Return the elements as an array, None if some are symbolic."""
        if self.raw is None:
            return None
        return np.frombuffer(self.raw, dtype=self.dtype.numpy).reshape(self.shape)

    @property
    def ints(self) -> tuple[Dim, ...] | None:
        """Return integer elements in row-major order, None if the elements are not integers."""
        if self.dims is not None:
            return self.dims
        array = self.array
        if array is None or not self.dtype.is_integer:
            return None
        return tuple(int(item) for item in array.ravel())

    @property
    def scalar(self) -> float | int | bool | None:
        """Return the one element of a one-element tensor of any rank, else None."""
        array = self.array
        if array is None or array.size != 1 or self.dtype is DType.STRING:
            return None
        item = array.ravel()[0]
        return int(item) if self.dtype.is_integer else (
            bool(item) if self.dtype is DType.BOOL else float(item)
        )  # fmt: skip

    @property
    def type(self) -> TensorType:
        """Return the type of the tensor."""
        return TensorType(self.dtype, self.shape)

    def __str__(self) -> str:
        items = self.dims if self.dims is not None else np.asarray(self.array).ravel().tolist()
        text = ", ".join(str(item) for item in items)
        return f"{self.type}({text})"


@dataclass(frozen=True, slots=True)
class Fact:
    """All that is known of a value: its type, its elements if few, and whether it is a constant.

    `constant` means: computable before run time from literals and weights alone.
    """

    type: Type
    value: Known | None = None
    constant: bool = False

    @property
    def tensor(self) -> TensorType:
        """Return the type as a tensor type; `TypeMismatch` is the caller's to raise, here TypeError."""
        if not isinstance(self.type, TensorType):
            raise TypeError(f"expected a tensor, got {self.type}")
        return self.type

    @property
    def is_tensor(self) -> bool:
        """Tell whether the value is a tensor."""
        return isinstance(self.type, TensorType)

    @property
    def dtype(self) -> DType:
        """Return the element type of a tensor."""
        return self.tensor.dtype

    @property
    def shape(self) -> Shape | None:
        """Return the shape of a tensor, None if the rank is unknown."""
        return self.tensor.shape

    @property
    def rank(self) -> int | None:
        """Return the number of axes of a tensor, None if unknown."""
        return self.tensor.rank


ABSENT = OtherType("absent")


def literal_fact(value: Known) -> Fact:
    """Return the fact of a literal."""
    return Fact(value.type, value, constant=True)


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the NumPy-broadcast shape; ValueError if two integer dimensions contradict.

    A symbolic dimension meets an integer above 1 as that integer (anything else would fail at run
    time); two different symbols give their maximum, which is exact when either is 1.
    """
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max((len(shape) for shape in known), default=0)
    result: list[Dim] = []
    for axis in range(-rank, 0):
        dim: Dim = 1
        for shape in known:
            if -axis <= len(shape):
                dim = _broadcast_dims(dim, shape[axis])
        result.append(dim)
    return tuple(result)


def _broadcast_dims(first: Dim, second: Dim) -> Dim:
    if first == second or second == 1:
        return first
    if first == 1:
        return second
    if isinstance(first, int) and isinstance(second, int):
        raise ValueError(f"dimensions {first} and {second} do not broadcast")
    if isinstance(first, int):
        return first
    if isinstance(second, int):
        return second
    return dim_max(first, second)


def meet(first: Fact, second: Fact) -> Fact:
    """Combine what two facts say of one value; ValueError if they contradict each other."""
    value = first.value if first.value is not None else second.value
    both = first.value is not None and second.value is not None
    if both and first.value != second.value:
        value = _meet_values(first.value, second.value)
    return Fact(_meet_types(first.type, second.type), value, first.constant or second.constant)


def _meet_values(first: Known | None, second: Known | None) -> Known | None:
    assert first is not None and second is not None
    # What is already known wins over an equally vague other form, so that repeated meets come to rest.
    if second.dims is not None:
        return first
    if first.dims is not None:
        return second
    a, b = first.array, second.array
    assert a is not None and b is not None
    if a.shape == b.shape and a.dtype == b.dtype and _close(a, b):
        return first
    raise ValueError(f"values {first} and {second} contradict")


def _close(a: Array, b: Array) -> bool:
    # Rules that hold over the reals may give constants that differ in the last bits.
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    wide = (a.astype(np.float64), b.astype(np.float64))
    return bool(np.allclose(wide[0], wide[1], rtol=1e-3, atol=1e-5, equal_nan=True))


def _meet_types(first: Type, second: Type) -> Type:
    if first == second:
        return first
    if isinstance(first, TupleType) and isinstance(second, TupleType):
        items = zip(first.items, second.items, strict=True)
        return TupleType(tuple(_meet_types(a, b) for a, b in items))
    if not (isinstance(first, TensorType) and isinstance(second, TensorType)):
        raise ValueError(f"types {first} and {second} contradict")
    if first.dtype is not second.dtype:
        raise ValueError(f"element types of {first} and {second} contradict")
    return TensorType(first.dtype, _meet_shapes(first.shape, second.shape))


def _meet_shapes(first: Shape | None, second: Shape | None) -> Shape | None:
    if first is None or second is None:
        return second if first is None else first
    if len(first) != len(second):
        raise ValueError(f"shapes {list(first)} and {list(second)} differ in rank")
    return tuple(_meet_dims(a, b) for a, b in zip(first, second, strict=True))


def _meet_dims(first: Dim, second: Dim) -> Dim:
    if first == second or (isinstance(first, int) and not isinstance(second, int)):
        return first
    if isinstance(first, int) and isinstance(second, int):
        raise ValueError(f"dimensions {first} and {second} contradict")
    if isinstance(second, int) or (is_anonymous(first) and not is_anonymous(second)):
        return second
    return first
