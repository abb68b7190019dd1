"""Costs on paper: floating-point operations, bytes moved, kernel launches, and a latency estimate.

Nothing here runs a model. The estimate is a roofline: the greater of the time to compute and the time
to move the data, plus the time to start a kernel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from tensaur.cost.model import FREE, Price, PriceKind, is_free, is_view, sum_prices
from tensaur.cost.sizes import Sizes, dim_size, static_fact
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator
from tensaur.ir.types import Fact


@dataclass(frozen=True, slots=True)
class Machine:
    """What the processor does in a second, and how long starting a kernel takes.

    Data up to `cache_nbytes` move at `cache_bytes_per_second`.
    """

    flops_per_second: float
    bytes_per_second: float
    cache_bytes_per_second: float
    launch_seconds: float
    cache_nbytes: int = 1 << 22

    def to_json(self) -> str:
        """Return the machine as JSON text."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Machine:
        """Read what `to_json` wrote; ValueError if it is something else."""
        try:
            return Machine(**json.loads(text))
        except TypeError as error:
            raise ValueError(f"not a machine: {error}") from error


@dataclass(frozen=True, slots=True)
class StaticWork:
    """What one run of an operator costs on paper once every dimension is an integer."""

    flops: int
    nbytes: int


# A server core of the early 2020s, for where nothing can be measured.
TYPICAL_MACHINE = Machine(5e10, 1e10, 5e10, 4e-7)


@dataclass(frozen=True)
class PaperCost:
    """What the models on paper share: sizes, and what is free."""

    sizes: Sizes = field(default_factory=dict)

    def quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        """Return the price with its kind."""
        if is_free(op, output):
            return FREE
        return self._quote(op, inputs, output)

    def price(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> float:
        """Return the amount of `quote`."""
        return self.quote(op, inputs, output).amount

    def estimate(self, graph: Graph) -> float:
        """Return the sum of the prices of the graph's operators."""
        return sum_prices(self, graph)

    def known(self, graph: Graph) -> float | None:
        """Return the same: on paper everything is known."""
        return sum_prices(self, graph)

    def measure(self, graph: Graph) -> float:
        """Return the same: on paper nothing is measured."""
        return sum_prices(self, graph)

    def refuses(self, graph: Graph) -> bool:
        """Return False: paper takes everything."""
        return False

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        raise NotImplementedError

    def _work(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> StaticWork:
        return static_work(op, inputs, output, self.sizes)


@dataclass(frozen=True)
class Flops(PaperCost):
    """Floating-point operations, plus one for every operator so that ties go to fewer operators."""

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        return Price(self._work(op, inputs, output).flops + 1)


@dataclass(frozen=True)
class Bytes(PaperCost):
    """Bytes read and written, plus one for every operator so that ties go to fewer operators."""

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        return Price(self._work(op, inputs, output).nbytes + 1)


@dataclass(frozen=True)
class Launches(PaperCost):
    """Kernels started; operators that only change the shape start none."""

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        return FREE if is_view(op) else Price(1)


@dataclass(frozen=True)
class Roofline(PaperCost):
    """Estimated nanoseconds on a calibrated machine."""

    machine: Machine = TYPICAL_MACHINE

    def _quote(self, op: Operator, inputs: Sequence[Fact], output: Fact) -> Price:
        work = self._work(op, inputs, output)
        return Price(_nanoseconds(self.machine, work), PriceKind.ESTIMATED)


def static_work(op: Operator, inputs: Sequence[Fact], output: Fact, sizes: Sizes) -> StaticWork:
    """Return the work of an operator at the given sizes, as integers."""
    facts = [static_fact(fact, sizes) for fact in inputs]
    result = static_fact(output, sizes)
    if is_view(op):
        return StaticWork(0, 0)
    work = op.work(facts, result)
    return StaticWork(dim_size(work.flops, sizes), dim_size(work.nbytes, sizes))


def _nanoseconds(machine: Machine, work: StaticWork) -> int:
    in_cache = work.nbytes <= machine.cache_nbytes
    speed = machine.cache_bytes_per_second if in_cache else machine.bytes_per_second
    seconds = max(work.flops / machine.flops_per_second, work.nbytes / speed)
    seconds += machine.launch_seconds
    return max(round(seconds * 1e9), 1)


METRICS: Mapping[str, type[PaperCost]] = {"flops": Flops, "bytes": Bytes, "launches": Launches}
