"""Calling a function in a fresh process, whatever becomes of it there.

Knows nothing of what is called. Arguments and results are pickled; the process is started anew (not
forked), so that its memory is its own and settings in the environment act on everything it imports.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from tensaur.errors import RuntimeFailure, one_line

Result = TypeVar("Result")


def apart(
    function: Callable[..., Result],
    *arguments: object,
    seconds: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Result:
    """Call a function in a fresh process that has `environment` from its start.

    RuntimeFailure if the function fails, or the process does not survive or takes longer than `seconds`.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(sender, function, arguments))
    try:
        # Only the process keeps its end of the pipe, so that its death ends the waiting.
        with sender, _set(environment or {}):
            process.start()
        if not receiver.poll(seconds):
            raise RuntimeFailure(f"stopped after {seconds:.0f} s")
        try:
            done, value = receiver.recv()
        except EOFError as error:
            process.join()
            raise RuntimeFailure(end_of(process.exitcode or 0)) from error
    finally:
        if process.is_alive():
            process.kill()
            process.join()
        receiver.close()
    if not done:
        raise RuntimeFailure(value)
    result: Result = value
    return result


def end_of(code: int) -> str:
    """Return how a process ended that gave no answer, from its exit code."""
    return f"crashed: {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _serve(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        answer = True, function(*arguments)
    except Exception as error:  # the caller's run must go on
        answer = False, one_line(error)
    sender.send(answer)


@contextmanager
def _set(values: Mapping[str, str]) -> Iterator[None]:
    """Have these variables in the environment for a while."""
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]
