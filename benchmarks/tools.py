"""The optimisers that are compared, each run by its own command in its own process.

So a crash, an endless run or a changed global setting of one of them stays its own affair. Does not time
the models they write.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.apart import end_of
from benchmarks.models.entry import Entry

# How long beyond its limit an optimiser may take before it is stopped, as a share and in seconds.
_GRACE_SHARE = 1.0
_GRACE_SECONDS = 30.0
_MESSAGE_LIMIT = 160


@dataclass(frozen=True, slots=True)
class Job:
    """One model to optimise: where it is, where the result goes, inputs, sizes, seconds allowed."""

    entry: Entry
    model: Path
    output: Path
    inputs: Path
    seconds: float


@dataclass(frozen=True, slots=True)
class Tool:
    """An optimiser: its name, the module that is run, and the arguments for a job."""

    name: str
    module: str
    arguments: Callable[[Job], list[str]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an optimiser's run ended: the model it wrote, or why there is none, and seconds taken."""

    output: Path | None
    fault: str
    seconds: float


def _tensaur(job: Job) -> list[str]:
    sizes = [f"--dim={name}={size}" for name, size in job.entry.sizes.items()]
    limit = f"--time-limit={job.seconds:g}"
    command = ["optimize", str(job.model), "-o", str(job.output), "--quiet", limit]
    return [*command, f"--inputs={job.inputs}", *sizes]


def _plain(job: Job) -> list[str]:
    return [str(job.model), str(job.output)]


TENSAUR = Tool("tensaur", "tensaur", _tensaur)
PEERS = (Tool("onnxsim", "onnxsim", _plain), Tool("onnxslim", "onnxslim", _plain))
TOOLS = (TENSAUR, *PEERS)


def run_tool(tool: Tool, job: Job) -> Outcome:
    """Run an optimiser on a model; whatever goes wrong is told, not raised."""
    if importlib.util.find_spec(tool.module) is None:
        return Outcome(None, "not installed", 0.0)
    command = [sys.executable, "-m", tool.module, *tool.arguments(job)]
    limit = job.seconds * (1 + _GRACE_SHARE) + _GRACE_SECONDS
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=limit)
    except BaseException as error:
        _stop(process)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return Outcome(None, f"stopped after {limit:.0f} s", time.perf_counter() - start)
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        return Outcome(None, _fault(process.returncode, text), seconds)
    if not job.output.is_file():
        return Outcome(None, "wrote no model", seconds)
    return Outcome(job.output, "", seconds)


def _stop(process: subprocess.Popen[str]) -> None:
    """End the process with all it started: it leads a group of its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _fault(code: int, text: str) -> str:
    if code < 0:
        return end_of(code)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "no message"
    if len(last) > _MESSAGE_LIMIT:
        last = last[:_MESSAGE_LIMIT] + "..."
    return f"{end_of(code)}: {last}"
