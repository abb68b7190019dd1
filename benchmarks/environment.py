"""What a published table must say of how it came about: command, versions, processor."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def environment(packages: Sequence[str]) -> dict[str, str]:
    """Return the command, the processor, and the versions of Python and of these packages."""
    return {
        "command": command_line(),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        **{name: _version(name) for name in packages},
    }


def environment_text(found: Mapping[str, str]) -> str:
    """Return the same as lines of text."""
    versions = ", ".join(
        f"{name} {value}" for name, value in found.items() if name not in ("command", "processor")
    )
    return f"{found['command']}\n{found['processor']}\n{versions}"


def command_line() -> str:
    """Return the command that is running, as one would type it."""
    main = sys.modules["__main__"].__spec__
    if main is None:
        return " ".join(sys.argv)
    return " ".join(["python", "-m", main.name.removesuffix(".__main__"), *sys.argv[1:]])


def processor() -> str:
    """Return the name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    name = found.get("model name") or platform.processor() or platform.machine()
    family = (
        f" (family {found['cpu family']}, model {found['model']})" if "cpu family" in found else ""
    )
    return name + family


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
