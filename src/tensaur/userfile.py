"""A Python file of the user's, run for the names that it defines."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from tensaur.errors import TensaurError, UsageError


def names_of(path: Path, fault: type[TensaurError]) -> dict[str, Any]:
    """Run a Python file and return what it defines.

    UsageError: no such file; `fault`, in one line, whatever the file raises.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    try:
        return runpy.run_path(str(path), run_name="tensaur_user_file")
    except TensaurError as error:
        raise fault(f"{path}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it is the user's code: anything can happen, sys.exit as well
        raise fault(f"{path}: {_place(error)}{type(error).__name__}: {error}") from error


def _place(error: BaseException) -> str:
    line = error.lineno if isinstance(error, SyntaxError) else None
    return "" if line is None else f"line {line}: "
