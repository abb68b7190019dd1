"""Which rule files were verified already: verifying a hundred rules takes minutes, and they seldom change.

An empty file for each, named by the digest of everything that the verdict rests on: the rule file, Tensaur
itself, NumPy and Python. A rule file that imports others rests on more than that and is not remembered.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

_KNOWN = {*sys.stdlib_module_names, "numpy", "tensaur"}


@dataclass(frozen=True)
class Remembered:
    """What is remembered in a folder about the rule file at `path`; the folder need not exist yet."""

    folder: Path
    path: Path

    @cached_property
    def _mark(self) -> Path | None:
        """Return where the verdict is remembered; None if it cannot be."""
        try:
            text = self.path.read_bytes()
            if not _imported(ast.parse(text)) <= _KNOWN:
                return None
        except (OSError, SyntaxError, ValueError):
            return None
        return self.folder / hashlib.sha256(_judge() + text).hexdigest()

    @property
    def verified(self) -> bool:
        """Tell whether all rules of the file, as it is now, were verified before."""
        return self._mark is not None and self._mark.is_file()

    def note(self) -> None:
        """Remember that all rules of the file were verified; where that cannot be written, nothing is."""
        if self._mark is not None:
            with suppress(OSError):
                self.folder.mkdir(parents=True, exist_ok=True)
                self._mark.touch()


def _judge() -> bytes:
    """Return the digest of what verifies."""
    found = hashlib.sha256(f"{platform.python_version()} {np.__version__}".encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        found.update(path.read_bytes())
    return found.digest()


def _imported(tree: ast.AST) -> set[str]:
    """Return the top-level names of the modules that a file imports; "" for its neighbours."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add("" if node.level else (node.module or "").partition(".")[0])
    return names
