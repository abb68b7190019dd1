"""Files that Tensaur writes: checked before the work begins, written beside, then renamed.

Holds nothing about what is in the files.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tensaur.errors import OutputError


def check_writable(path: Path) -> None:
    """Raise OutputError, naming the path and the fault, unless a file can be written there."""
    try:
        if path.is_dir():
            raise OutputError(f"{path}: is a folder, expected a file name")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: the folder {path.parent} does not exist")
        if path.exists() and not path.is_file():  # renaming would take a device's place
            raise OutputError(f"{path}: is not a regular file")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path}: the file is there and read-only")
        # Asking for permission is not enough: only creating a file shows that the medium takes one.
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise OutputError(f"{path}: {_reason(error)}") from error


def write_beside(path: Path, data: bytes) -> None:
    """Write a whole file or nothing: into a new file in the same folder, then renamed."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tensaur.", suffix=".part")
    except OSError as error:
        raise OutputError(f"{path}: {_reason(error)}") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(0o666 & ~_umask())  # mkstemp keeps the file to its owner
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    # The only way to read the mask is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _reason(error: OSError) -> str:
    return f"cannot be written: {(error.strerror or str(error)).lower()}"
