"""Bring a model into memory as a proto: from a path, a proto, or an onnx_ir model.

Weights in external files stay there. Whether the model is valid is for `check` to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.message import (  # type: ignore[import-untyped]  # protobuf has no stubs
    DecodeError,
    EncodeError,
)
from onnx import ModelProto

from tensaur.errors import ModelError

if TYPE_CHECKING:
    import onnx_ir  # heavy: imported when used

# The limit of the protobuf format; larger models keep their weights in external files.
PROTO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model in memory, the file it came from, and the folder of its external data."""

    proto: ModelProto
    path: Path | None
    folder: Path

    @property
    def place(self) -> str:
        """Return what error messages call the model."""
        return str(self.path) if self.path else "model"


def load(model: object) -> Loaded:
    """Return the model as a proto; ModelError if there is none in the file."""
    if isinstance(model, (str, Path)):
        path = Path(model)
        return Loaded(_parse(path), path, path.parent)
    if isinstance(model, ModelProto):
        return Loaded(model, None, Path())
    return _load_ir(model)


def _parse(path: Path) -> ModelProto:
    try:
        if path.is_dir():
            raise ModelError(f"{path}: is a folder, expected an ONNX model")
        if path.exists() and not path.is_file():
            raise ModelError(f"{path}: is not a regular file, expected an ONNX model")
        if path.stat().st_size > PROTO_LIMIT:
            raise ModelError(f"{path}: is larger than 2 GB, which only external data may be")
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelError(f"{path}: cannot be read: {str(reason).lower()}") from error
    if not data:
        raise ModelError(f"{path}: is empty, expected an ONNX model")
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        raise ModelError(f"{path}: is not an ONNX model, or is truncated") from None
    if not model.HasField("graph") or not model.ir_version:
        raise ModelError(f"{path}: is not an ONNX model")
    return model


def _load_ir(model: object) -> Loaded:
    import onnx_ir  # noqa: PLC0415  # heavy: imported when used

    if not isinstance(model, onnx_ir.Model):
        kind = type(model).__name__
        raise ModelError(f"model: expected a path, a ModelProto or an onnx_ir.Model, got {kind}")
    try:
        proto = onnx_ir.to_proto(model)
    except (EncodeError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"model: cannot be written as ONNX: {' '.join(str(error).split())}"
        ) from error
    folders = {Path(str(tensor.base_dir)) for tensor in _external_tensors(model)}
    if len(folders) > 1:
        raise ModelError(f"model: external data in {len(folders)} folders, expected one")
    return Loaded(proto, None, folders.pop() if folders else Path())


def _external_tensors(model: onnx_ir.Model) -> list[onnx_ir.ExternalTensor]:
    import onnx_ir  # noqa: PLC0415  # heavy: imported when used

    values = [value.const_value for value in model.graph.initializers.values()]
    for node in model.graph.all_nodes():
        for attribute in node.attributes.values():
            if attribute.type == onnx_ir.AttributeType.TENSOR and not attribute.is_ref():
                values.append(attribute.as_tensor())
            for body in _bodies(attribute):
                values.extend(value.const_value for value in body.initializers.values())
    return [value for value in values if isinstance(value, onnx_ir.ExternalTensor)]


def _bodies(attribute: onnx_ir.Attr) -> list[onnx_ir.Graph]:
    import onnx_ir  # noqa: PLC0415  # heavy: imported when used

    if attribute.is_ref():
        return []
    if attribute.type == onnx_ir.AttributeType.GRAPH:
        return [attribute.as_graph()]
    return list(attribute.as_graphs()) if attribute.type == onnx_ir.AttributeType.GRAPHS else []
