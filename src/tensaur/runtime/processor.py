"""The processor's name, as it keys measured costs and heads published tables, and its cache."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

# Where the system does not tell: caches of ordinary size.
_USUAL_CACHE, _USUAL_CORE_CACHE = 32 << 20, 1 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def processor_name() -> str:
    """Return the processor's model, made precise by family and model number where Linux tells them."""
    return name_from_cpuinfo(_read(_CPUINFO)) or platform.processor() or platform.machine()


@cache
def cache_nbytes() -> int:
    """Return the size of the largest cache of the processor."""
    return max(_cache_sizes(), default=_USUAL_CACHE)


@cache
def core_cache_nbytes() -> int:
    """Return the size of the largest cache below the largest, which is a core's own as a rule."""
    return max(
        (size for size in _cache_sizes() if size < cache_nbytes()), default=_USUAL_CORE_CACHE
    )


def _cache_sizes() -> list[int]:
    sizes = [cache_from_text(_read(path)) for path in _CACHES.glob("index*/size")]
    return [size for size in sizes if size]


def cache_from_text(text: str) -> int:
    """Return the bytes that a size such as ``32768K`` stands for, 0 if it is none."""
    text = text.strip()
    digits, unit = text.rstrip("KMG"), text[-1:]
    return int(digits) * _UNITS.get(unit, 1) if digits.isdigit() else 0


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
