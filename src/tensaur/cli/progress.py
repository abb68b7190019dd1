"""What the user sees while a command works: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Say = Callable[[str], None]


@contextmanager
def progress(quiet: bool) -> Iterator[Say]:
    """Give a function that shows one message; it writes to standard error, or nothing if `quiet`."""
    console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        started = time.perf_counter()
        yield lambda message: console.print(_line(message, started), markup=False)
        return
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as live:
        task = live.add_task("starting", total=None)
        yield lambda message: live.update(task, description=escape(message))


def _line(message: str, started: float) -> str:
    return f"[{time.perf_counter() - started:6.1f} s] {message}"
