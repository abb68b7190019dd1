"""External data: tell whether they are there and may be read.

Reads no data. Files are only ever opened inside the folder of the model.
"""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto

from tensaur.errors import ModelError
from tensaur.onnx_io.scopes import tensors
from tensaur.onnx_io.tensors import Extent, extent_of, is_external, tensor_nbytes


def check_data(model: ModelProto, folder: Path, path: Path | None) -> None:
    """Check that the data of every tensor are there; ModelError names the tensor and the fault."""
    for tensor in tensors(model):
        if any(dim < 0 for dim in tensor.dims):
            raise ModelError(f"tensor {tensor.name!r}: negative dimension in {list(tensor.dims)}")
        if is_external(tensor):
            _check_file(tensor.name, extent_of(tensor), folder, path)
        elif tensor.HasField("raw_data") and len(tensor.raw_data) != tensor_nbytes(tensor):
            raise ModelError(
                f"tensor {tensor.name!r}: {len(tensor.raw_data)} bytes of data,"
                f" expected {tensor_nbytes(tensor)}"
            )


def _check_file(name: str, extent: Extent, folder: Path, path: Path | None) -> None:
    place = f"tensor {name!r}: external data {extent.location!r}"
    if "\0" in extent.location or Path(extent.location).is_absolute():
        raise ModelError(f"{place} is not a relative path")
    # A model cache may hold both files as links into one store: its folder counts as the model's too.
    allowed = {folder.resolve()} | ({path.resolve().parent} if path else set())
    file = (folder / extent.location).resolve()
    if ".." in Path(extent.location).parts or not any(file.is_relative_to(i) for i in allowed):
        raise ModelError(f"{place} leaves the model's folder")
    if not file.is_file():
        raise ModelError(f"{place} is missing")
    if extent.offset + extent.length > file.stat().st_size:
        raise ModelError(
            f"{place} has {file.stat().st_size} bytes,"
            f" expected {extent.length} at offset {extent.offset}"
        )
