"""The clock of one run: phases announced and timed, and what is left of the time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tensaur.options import Options

Progress = Callable[[str], None]

# However long judging takes, this share is there for the phases before it.
LEAST = 0.3


@dataclass
class Run:
    """The clock of one run: phases announced and timed, and what is left of the time limit.

    `reserve` seconds at the end are kept for judging. `interrupted` tells that Ctrl-C ended choosing.
    """

    options: Options
    say: Progress
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    reserve: float = 0.0
    interrupted: bool = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Announce and time a phase."""
        self.say(name)
        before = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - before

    def deadline(self, share: float) -> float:
        """Return the clock time at which this share of the time limit is over."""
        whole = self.options.seconds
        kept = whole if share >= 1.0 else max(whole - self.reserve, LEAST * whole)
        return self.start + min(share * whole, kept)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until `deadline(share)`, at least 0."""
        return max(0.0, self.deadline(share) - time.perf_counter())
