"""Put a model on disk: all of it or nothing, with its external data within reach.

Files are written beside their final names and renamed when everything is there. Data files of the source
are referred to if the model is saved in the same folder, else copied to the new one.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from pathlib import Path

from google.protobuf.message import (  # type: ignore[import-untyped]  # protobuf has no stubs
    EncodeError,
)
from onnx import ModelProto, TensorProto

from tensaur.errors import OutputError
from tensaur.ir.graph import Graph
from tensaur.onnx_io.load import PROTO_LIMIT
from tensaur.onnx_io.scopes import tensors
from tensaur.onnx_io.source import Source
from tensaur.onnx_io.tensors import extent_of, is_external, tensor_nbytes
from tensaur.onnx_io.write import write

# What a model may hold beside its large tensors and still fit into the protobuf format.
_MARGIN = 256 * 2**20
# Smaller tensors stay in the model when the large ones are moved out.
_MOVED_NBYTES = 1024
_ALIGNMENT = 4096


def save(model: Graph | ModelProto, source: Source, path: str | Path) -> None:
    """Write a model that was made from `source` to a file; OutputError if it cannot be written.

    Either the complete model is at `path` afterwards, or what was there before.
    """
    path = Path(path)
    proto = write(model, source) if isinstance(model, Graph) else model
    pending = _Pending(path)
    try:
        _check_target(proto, source, path)
        proto = _with_data(proto, source, path, pending)
        pending.add(path).write_bytes(proto.SerializeToString())
        pending.finish()
    except OSError as error:
        reason = str(error.strerror or error).lower()
        raise OutputError(f"{path}: cannot be written: {reason}") from error
    except (EncodeError, ValueError) as error:
        raise OutputError(f"{path}: cannot be written: {' '.join(str(error).split())}") from error
    finally:
        pending.discard()


class _Pending:
    """Files that are being written under temporary names, in the order in which they are renamed."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._files: dict[Path, Path] = {}

    def add(self, path: Path) -> Path:
        """Return the temporary file that will become `path`."""
        handle, name = tempfile.mkstemp(prefix=".tensaur.", suffix=".part", dir=path.parent)
        os.close(handle)
        os.chmod(name, 0o666 & ~_umask())
        self._files[path] = Path(name)
        return self._files[path]

    def finish(self) -> None:
        """Rename every file; the model comes last, so that it never lacks its data."""
        *data, model = self._files
        try:
            for path in (*data, model):
                os.replace(self._files[path], path)
        except OSError:
            for path in data:
                path.unlink(missing_ok=True)
            raise

    def discard(self) -> None:
        """Remove what was not renamed."""
        for part in self._files.values():
            part.unlink(missing_ok=True)

    def reserves(self, path: Path) -> bool:
        """Tell whether a file of this name exists or will."""
        return path == self._target or path in self._files or path.exists()


def _check_target(proto: ModelProto, source: Source, path: Path) -> None:
    if path.exists() and not path.is_file():
        raise OutputError(f"{path}: is {'a folder' if path.is_dir() else 'not a regular file'}")
    # The source stays as it is: nothing takes the place of its data, even where the result has none.
    held = (*tensors(proto), *tensors(source.proto))
    used = {extent_of(tensor).location for tensor in held if is_external(tensor)}
    if any((source.folder / location).resolve() == path.resolve() for location in used):
        raise OutputError(f"{path}: holds data of the model, choose another name")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _with_data(proto: ModelProto, source: Source, path: Path, pending: _Pending) -> ModelProto:
    """Return the model with external data that can be found from `path`, copied if need be."""
    external = [tensor for tensor in tensors(proto) if is_external(tensor)]
    moved = external and path.parent.resolve() != source.folder.resolve()
    size = sum(tensor_nbytes(t) for t in tensors(proto) if not is_external(t))
    large = size + _MARGIN > PROTO_LIMIT
    if not (moved or large):
        return proto
    result = ModelProto()
    result.CopyFrom(proto)
    if moved:
        _copy_files(result, source, path, pending)
    if large:
        _move_out(result, path, pending)
    return result


def _copy_files(proto: ModelProto, source: Source, path: Path, pending: _Pending) -> None:
    copied: dict[str, str] = {}
    for tensor in tensors(proto):
        for entry in tensor.external_data if is_external(tensor) else ():
            if entry.key == "location":
                if entry.value not in copied:
                    file = source.folder / entry.value
                    copied[entry.value] = _copy_file(file, path, pending)
                entry.value = copied[entry.value]


def _copy_file(file: Path, path: Path, pending: _Pending) -> str:
    """Copy a data file to the folder of `path` under a name that is free; return the name."""
    same = path.parent / file.name
    if same != path and same.is_file() and filecmp.cmp(file, same, shallow=False):
        return file.name
    name = _free_name(path, file.name, pending)
    shutil.copyfile(file, pending.add(path.parent / name))
    return name


def _free_name(path: Path, wanted: str, pending: _Pending) -> str:
    name, number = wanted, 0
    while pending.reserves(path.parent / name):
        number += 1
        name = f"{path.stem}.{number}.{wanted}"
    return name


def _move_out(proto: ModelProto, path: Path, pending: _Pending) -> None:
    """Move large tensors to a new data file, because the model would not fit into one file."""
    name = _free_name(path, f"{path.name}.data", pending)
    with pending.add(path.parent / name).open("wb") as file:
        for tensor in tensors(proto):
            if is_external(tensor) or len(tensor.raw_data) < _MOVED_NBYTES:
                continue
            file.seek(-file.tell() % _ALIGNMENT, os.SEEK_CUR)
            _refer(tensor, name, file.tell())
            file.write(tensor.raw_data)
            tensor.ClearField("raw_data")


def _refer(tensor: TensorProto, location: str, offset: int) -> None:
    tensor.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": str(offset), "length": str(len(tensor.raw_data))}
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
