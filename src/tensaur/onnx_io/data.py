"""What a model holds: tell whether its strings are text and the data of its tensors complete.

Reads no data. External data must lie inside the folder of the model.
"""

from __future__ import annotations

from pathlib import Path

from google.protobuf.message import Message  # type: ignore[import-untyped]  # no stubs
from onnx import ModelProto, TensorProto

from tensaur.errors import ModelError
from tensaur.onnx_io.scopes import tensors
from tensaur.onnx_io.tensors import Extent, extent_of, has_all_elements, is_external


def check_text(message: Message) -> None:
    """Check that every string in a model is text; protobuf hands out what is not as bytes."""
    if isinstance(message, TensorProto):
        # Not its other fields: asking for them copies the data.
        _check_string("name", message.name)
        for entry in message.external_data:
            check_text(entry)
        return
    for field, value in message.ListFields():
        items = [value] if isinstance(value, (str, bytes, Message)) else value
        if field.type == field.TYPE_STRING:
            for item in items:
                _check_string(field.name, item)
        elif field.type == field.TYPE_MESSAGE:
            for item in items:
                check_text(item)


def _check_string(field: str, value: object) -> None:
    if not isinstance(value, str):
        raise ModelError(f"{field} {value!r:.60} is not text")


def check_data(model: ModelProto, folder: Path, path: Path | None) -> None:
    """Check that the data of every tensor are there; ModelError names the tensor and the fault."""
    for tensor in tensors(model):
        if any(dim < 0 for dim in tensor.dims):
            raise ModelError(f"tensor {tensor.name!r}: negative dimension in {list(tensor.dims)}")
        if is_external(tensor):
            _check_file(tensor.name, extent_of(tensor), folder, path)
        elif not has_all_elements(tensor):
            raise ModelError(
                f"tensor {tensor.name!r}: not as much data as {list(tensor.dims)} needs"
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
