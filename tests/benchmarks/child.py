"""What a process does that goes wrong, for tests of what the caller makes of it."""

import os
import signal


def dies(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leaves(*_: object) -> None:
    os._exit(3)


def fails(*_: object) -> None:
    raise ValueError("no\ngood.")
