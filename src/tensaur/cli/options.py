"""Option types that several commands share, and what turns their text into values."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tensaur.cost.objective import LIMITS
from tensaur.cost.store import default_path
from tensaur.errors import UsageError
from tensaur.output import check_writable
from tensaur.userfile import names_of

Cost = Annotated[
    str,
    typer.Option(
        "--cost",
        metavar="COST",
        help="What to make small: latency (ns), flops, bytes, launches, size, a sum such as "
        "'latency + 0.1*bytes', or your own function as FILE.PY:NAME.",
    ),
]
Threads = Annotated[int, typer.Option("--threads", help="Threads of the runtime.")]
Dims = Annotated[
    list[str],
    typer.Option(
        "--dim",
        metavar="NAME=SIZE",
        help="Representative size of a symbolic dimension; repeat it for several.",
    ),
]
Inputs = Annotated[
    Path | None,
    typer.Option("--inputs", metavar="DATA.NPZ", help="Your own inputs, one array an input name."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random inputs.")]
JsonReport = Annotated[
    Path | None,
    typer.Option("--json", metavar="REPORT.JSON", help="Write the report as JSON too."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL.ONNX", show_default=False)]

_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}

# What NumPy raises for archives that are damaged, encrypted or packed in a way it does not know.
_DAMAGE = (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


def cost(text: str) -> Any:
    """Return a cost as `Options` takes it: the text, or what a file calls by the name after the colon."""
    found = re.fullmatch(r"(.+\.py):(\w+)", text, re.DOTALL)
    if found is None:
        return text
    path, name = Path(found[1]), found[2]
    names = names_of(path, UsageError)
    if name not in names:
        raise UsageError(f"--cost {text}: {path} does not define {name}")
    if isinstance(names[name], str):
        raise UsageError(f"--cost {text}: {name} is a text, expected a function or a cost model")
    return names[name]


def sizes(texts: Sequence[str]) -> dict[str, int]:
    """Read `name=size` pairs."""
    result: dict[str, int] = {}
    for text in texts:
        name, separator, size = text.rpartition("=")
        if not separator or not name or not size.isascii() or not size.isdecimal():
            raise UsageError(f"--dim {text}: expected NAME=SIZE with a whole number")
        if name in result:
            raise UsageError(f"--dim {text}: {name} is given twice")
        result[name] = int(size)
    return result


def nbytes(text: str, option: str) -> int:
    """Read a number of bytes, perhaps with a unit: `500000`, `500kB`, `2MB`, `1.5MiB`."""
    amount = _amount(text, _BYTES)
    if amount is None:
        raise UsageError(f"{option} {text}: expected bytes such as 500000, 500kB or 2MB")
    return amount


def limits(texts: Sequence[str]) -> dict[str, int]:
    """Read `metric=amount` pairs."""
    result: dict[str, int] = {}
    for text in texts:
        name, separator, amount = text.partition("=")
        if not separator or name not in LIMITS:
            raise UsageError(f"--limit {text}: expected METRIC=AMOUNT with {', '.join(LIMITS)}")
        if name in result:
            raise UsageError(f"--limit {text}: {name} is given twice")
        if name in ("flops", "launches"):
            count = _amount(amount, _COUNTS)
            if count is None:
                raise UsageError(f"--limit {text}: expected a number such as 100, 5M or 2G")
            result[name] = count
        else:
            result[name] = nbytes(amount, f"--limit {name}")
    return result


def _amount(text: str, units: Mapping[str, int]) -> int | None:
    """Return a number times its unit, None if it is none of these."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip(), re.ASCII)
    unit = units.get(found[2].upper()) if found else None
    return None if found is None or unit is None else round(float(found[1]) * unit)


def arrays(path: Path | None) -> Mapping[str, Any] | None:
    """Load the arrays of an `.npz` file."""
    if path is None:
        return None
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise UsageError(f"--inputs {path}: expected an .npz archive of named arrays")
        with archive:
            found = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise UsageError(f"--inputs {path}: {(error.strerror or str(error)).lower()}") from error
    except MemoryError as error:
        raise UsageError(f"--inputs {path}: an array does not fit into memory") from error
    except _DAMAGE as error:
        raise UsageError(f"--inputs {path}: not an .npz archive of plain arrays") from error
    for name, array in found.items():
        if not isinstance(
            array, np.ndarray
        ):  # NumPy hands over members that are no arrays as bytes
            raise UsageError(f"--inputs {path}: {name!r} is not an array")
    return found


def store() -> Path | None:
    """Return where measured costs are kept, None for the user's cache folder."""
    text = os.environ.get("TENSAUR_STORE")
    return Path(text) if text else None


def verdicts() -> Path:
    """Return the folder that remembers verified rule files, beside the measured costs."""
    return (store() or default_path()).parent / "verified"


def check_outputs(read: Sequence[Path | None], written: Sequence[Path | None]) -> None:
    """Refuse, before the work, files that cannot be written, that are read, or that are written twice."""
    taken = {os.path.realpath(path): "is an input" for path in read if path is not None}
    for path in written:
        if path is None:
            continue
        what = taken.get(os.path.realpath(path))
        if what is not None:
            raise UsageError(f"{path}: {what}, write somewhere else")
        taken[os.path.realpath(path)] = "is written already"
        check_writable(path)
