"""What the user sees while a command works: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

Say = Callable[[str], None]


@contextmanager
def progress(quiet: bool) -> Iterator[Say]:
    """Give a function that shows one message; it writes to standard error, or nothing if `quiet`."""
    console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
    started = time.perf_counter()
    if not console.is_terminal:
        yield lambda message: console.print(_line(message, started), markup=False)
        return
    with console.status("starting") as status:
        yield lambda message: status.update(escape(_line(message, started)))


def _line(message: str, started: float) -> str:
    return f"[{time.perf_counter() - started:6.1f} s] {message}"
