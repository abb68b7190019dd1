"""How much memory this process has and had at most, as Linux tells it.

Not by `getrusage`: after a process is started, its `ru_maxrss` begins at what the process that started it
had at that time.
"""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


def resident_mb() -> float | None:
    """Return the memory in use in MB (1e6 bytes); None where the system does not tell."""
    return _status("VmRSS")


def peak_mb() -> float | None:
    """Return the most memory in use since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Let `peak_mb` count from now on."""
    if _RESET.exists():
        _RESET.write_text("5")


def _status(name: str) -> float | None:
    if not _STATUS.exists():
        return None
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields[name].split()[0]) * 1024 / 1e6
