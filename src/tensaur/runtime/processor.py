"""The processor's name, as it keys measured costs and heads published tables."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@cache
def processor_name() -> str:
    """Return the processor's model, made precise by family and model number where Linux tells them."""
    return name_from_cpuinfo(_read(_CPUINFO)) or platform.processor() or platform.machine()


def name_from_cpuinfo(text: str) -> str:
    """Return the name that the text of ``/proc/cpuinfo`` gives its first processor, empty if none."""
    first: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        first.setdefault(key.strip(), value.strip())
    name = first.get("model name", "")
    numbers = [f"{key} {first[key]}" for key in ("cpu family", "model") if first.get(key)]
    # Virtual machines often report only a brand, such as "AMD EPYC", for every generation.
    return f"{name} ({', '.join(numbers)})" if name and numbers else name


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
