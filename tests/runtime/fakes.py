"""Fake contestants on a fake clock: runs that take as long as they are told to."""

from dataclasses import dataclass, field
from random import Random


@dataclass
class World:
    """A clock, and noise as on a shared machine: drift, bursts of disturbance, layout luck per session."""

    rng: Random
    now: float = 0.0
    layout: float = 0.0
    jitter: float = 0.0
    drift: float = 0.0
    opened: list[int] = field(default_factory=list)
    order: list[int] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def contestant(self, index: int, *seconds: float):
        """Take `seconds` for each workload, times what the session and the moment add."""

        def open_runs():
            self.opened.append(index)
            self.now += 0.001
            luck = 1 + self.rng.uniform(0, self.layout)
            return [self._run(index, each * luck) for each in seconds]

        return open_runs

    def _run(self, index: int, seconds: float):
        def run():
            if not self.order or self.order[-1] != index:
                self.order.append(index)
            noise = self.rng.expovariate(1 / self.jitter) if self.jitter else 0.0
            self.now += seconds * (1 + noise) * (1 + self.drift * (self.now % 1.0))

        return run
