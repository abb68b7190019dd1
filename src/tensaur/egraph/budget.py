"""The limits of an exploration, and the one object through which everything asks whether to go on."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType

# Rough speeds, on the safe side; they only decide how close to the time limit a run may go. Rebuilding
# and filtering are measured as soon as there are so many nodes that fixed costs do not count.
SECONDS_PER_NODE = 8e-7
TELLING_NODES = 10_000
MATCHES_PER_SECOND = 500_000
# The part of the time left that an iteration may spend on matching.
MATCHING_SHARE = 0.4
# The part of the time limit that an iteration is not begun for.
LEAST_SHARE = 0.02


class StopReason(Enum):
    """Why an exploration ended; the value is a readable text."""

    SATURATED = "saturated: no rule changes anything any more"
    NODE_LIMIT = "the node limit is reached"
    TIME_LIMIT = "the time limit is reached"
    ITERATION_LIMIT = "the iteration limit is reached"
    INTERRUPTED = "interrupted"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of an exploration: e-nodes, seconds, iterations, iterations with multi-pattern rules.

    `match_bytes` caps the memory of all matches of one iteration; what does not fit is looked for in
    the next one.
    """

    nodes: int = 50_000
    seconds: float = 10.0
    iterations: int = 15
    multi: int = 1
    match_bytes: int = 512 << 20


class Stopped(Exception):
    """Control flow inside `egraph`: the time is over or the user interrupts; never leaves `Explorer`."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(str(reason))
        self.reason = reason


class Budget:
    """Answers "may I go on" (`check`) and "how many matches may I hold" (`window`)."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limits = limits
        self.clock = clock
        self.turn = 0
        self.truncated = False
        self._held = 0
        self._reserved = 0.0
        self._seconds_per_node = SECONDS_PER_NODE
        self.start()

    def start(self) -> None:
        """Let the time begin now."""
        self._deadline = self.clock() + self.limits.seconds
        self._matching_until = self._deadline
        self._interrupted = False

    def enough_matching(self) -> bool:
        """Tell whether an iteration should find no more, so that time is left to apply what it found."""
        if self.clock() < self._matching_until:
            return False
        self.truncated = True
        return True

    def check(self) -> None:
        """Raise `Stopped` if the time is over or an interrupt has come."""
        if self._interrupted:
            raise Stopped(StopReason.INTERRUPTED)
        if self._remaining() <= 0:
            raise Stopped(StopReason.TIME_LIMIT)

    def is_over(self) -> bool:
        """Tell whether the time is over, with nothing kept for what an iteration ends with."""
        return self.clock() >= self._deadline

    def is_nearly_over(self) -> bool:
        """Tell whether too little time is left for one more iteration to be worth while."""
        return self._remaining() < LEAST_SHARE * self.limits.seconds

    def begin(self, turn: int, nodes: int) -> None:
        """Start a phase of an iteration on so many nodes: nothing is held."""
        self.turn, self._held = turn, 0
        self._reserved = 0.0
        self.reserve(nodes)
        self._matching_until = self.clock() + MATCHING_SHARE * max(0.0, self._remaining())

    def reserve(self, nodes: int) -> None:
        """Keep time for what an iteration ends with whatever happens: rebuilding and filtering."""
        self._reserved += nodes * self._seconds_per_node

    def learn(self, seconds: float, nodes: int) -> None:
        """Take note of how long rebuilding and filtering so many nodes took on this machine."""
        if nodes >= TELLING_NODES:
            self._seconds_per_node = max(self._seconds_per_node, seconds / nodes)

    def hold(self, rows: int, columns: int) -> None:
        """Count a relation that stays in memory until the end of the iteration."""
        self._held += 8 * rows * columns

    def room(self, columns: int) -> int:
        """Return how many rows of so many columns one more relation may have.

        No relation gets more than a quarter of the memory left, so that the first rules cannot take
        all, nor more than can roughly be gone through in the time left for matching.
        """
        fitting = (self.limits.match_bytes - self._held) // 4 // (8 * max(1, columns))
        seconds = self._matching_until - self.clock()
        return max(1024, int(min(fitting, _coarse(seconds) * MATCHES_PER_SECOND)))

    def _remaining(self) -> float:
        return self._deadline - self._reserved - self.clock()

    def window(self, total: int, columns: int) -> tuple[int, int]:
        """Return which of `total` rows may be made; where they do not all fit, others in every turn."""
        room = self.room(columns)
        if total <= room:
            return 0, total
        self.truncated = True
        begin = (self.turn * room) % total
        return begin, min(total, begin + room)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Turn Ctrl-C into a request to stop at the next `check`; a second Ctrl-C acts at once.

        So no interrupt can strike in the middle of a change to the e-graph.
        """
        main = threading.current_thread() is threading.main_thread()
        if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            if self._interrupted:
                signal.default_int_handler(number, frame)
            self._interrupted = True

        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _coarse(seconds: float) -> float:
    """Round up to a power of two, so that what is found hangs on the clock only if it is far behind."""
    if not 0 < seconds < math.inf:
        return max(0.0, seconds)
    return 2.0 ** math.ceil(math.log2(seconds))
