"""Run a small graph alone and say how many seconds it takes: random weights, random inputs, stopwatch.

What starting any model costs is measured on chains of trivial operators and subtracted. Holds no
prices and keeps nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median_low

import numpy as np

from tensaur.cost.canonical import Unpriceable
from tensaur.errors import RuntimeFailure, TensaurError
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Weight, sum_nbytes, type_nbytes
from tensaur.ir.types import Array, DType, TensorType
from tensaur.ops import Abs, Neg
from tensaur.runtime.build import model_of
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.inputs import INTEGER_LIMITS, draw_array
from tensaur.runtime.protocol import Settings
from tensaur.runtime.stopwatch import LOW_QUANTILE, latency, meter_for

Run = Callable[[], object]

# A single operator on more data than this says little that a smaller one does not, and may not fit.
_MOST_NBYTES = 1 << 30
_BLOCK = 1 << 16
# From one seed to the next in a block: odd, so that all seeds begin at places of their own.
_STEP = 613
_CHAIN = 9
# A measurement has up to so many parts, two if they lie no further apart than the first share; where they
# lie further apart than the second one, and than these seconds, it is made again, up to so many times in all.
_PARTS = 3
_AGREED = 0.02
_MOST_SPREAD = 0.1
_LEAST_APART = 5e-7
_ATTEMPTS = 3
# Weights smaller than this are not worth telling where they come from.
_LEAST_COLD = 1 << 16
# Bytes a second: what reads its weights more slowly than this hardly waits for memory.
_SLOW_MEMORY = 1e9
# Not only weights are cold then, but what runs them: small ones are run several times, each with its own
# weights, at most so many bytes and copies.
_COPIED_NBYTES = 8 << 20
_MOST_COPIES = 16
# Runs with cold weights: at least and at most so many, for so many seconds.
_COLD_RUNS = (3, 25)
_COLD_SECONDS = 0.05
# Below this nothing can be told from the stopwatch's own noise.
LEAST_SECONDS = 50e-9


@dataclass(frozen=True, slots=True)
class RandomData:
    """Random data of a weight, made when asked for; integers lie in [0, limit).

    Weights of one graph have seeds of their own: the runtime merges those with equal data.
    """

    type: TensorType
    limit: int
    seed: int = 0

    @property
    def nbytes(self) -> int:
        """Return the size of the data in bytes."""
        nbytes = type_nbytes(self.type)
        assert isinstance(nbytes, int), "measured graphs are static"
        return nbytes

    def numpy(self) -> Array:
        """Return the data: a random block, repeated (timing does not depend on more)."""
        shape = self.type.static_shape
        assert shape is not None, "measured graphs are static"
        return _random_array(self.type.dtype, shape, self.limit, self.seed)


@dataclass(frozen=True, slots=True)
class Timed:
    """The seconds of one run, and how far repeated measurements lie apart, as a share of them."""

    seconds: float
    spread: float


@dataclass(frozen=True, slots=True)
class Opened:
    """A function that runs a graph once, and the inputs that it reads."""

    run: Run
    inputs: tuple[Array, ...]


@dataclass
class Stopwatch:
    """Measures graphs whose types are static, at one number of threads and one set of opsets.

    `cold_nbytes` > 0 says that the weights of the model in question do not stay in a core's own cache, so
    that each run finds them further away: what may be bound by that is then measured once more, with as
    many bytes read between one run and the next.
    """

    threads: int = 1
    opsets: Mapping[str, int] = field(default_factory=lambda: {"": 18})
    seconds: float = 0.03
    cold_nbytes: int = 0
    _overheads: dict[int, float] = field(default_factory=dict)
    _cold_overheads: dict[int, float] = field(default_factory=dict)
    _launch: float | None = None

    def measure(self, graph: Graph) -> Timed:
        """Return the seconds of one run without what starting a model costs.

        What scatters much is measured again a few times, and the steadiest measurement counts.
        RuntimeFailure if the runtime refuses the graph, Unpriceable if it is too large to try.
        """
        if _total_nbytes(graph) > _MOST_NBYTES:
            raise Unpriceable(f"more than {_MOST_NBYTES >> 20} MiB")
        inputs = len(graph.inputs)
        opened = self._opened(graph)
        warm = self._steady(opened.run, self.overhead(inputs))
        if not self._waits(graph, warm.seconds):
            return warm
        copies = min(max(_COPIED_NBYTES // _weight_nbytes(graph), 1), _MOST_COPIES)
        if copies > 1:
            opened = self._opened(_repeated(graph, copies))
        several = self._cold(opened, self._cold_overhead(inputs))
        cold = Timed(several.seconds / copies, several.spread)
        return max(cold, warm, key=lambda found: found.seconds)

    def _waits(self, graph: Graph, warm: float) -> bool:
        """Tell whether a graph, inside the model in question, may wait for its weights."""
        nbytes = _weight_nbytes(graph)
        # `cold_nbytes` is rounded up to a power of two: what has half of it is as cold by itself.
        return _LEAST_COLD <= nbytes < self.cold_nbytes / 2 and warm <= nbytes / _SLOW_MEMORY

    def _cold(self, opened: Opened, overhead: float) -> Timed:
        """Return the seconds of a run after which other data were read; inputs are read before it."""
        others, meter = _others(self.cold_nbytes), meter_for(self.threads)
        least, most = _COLD_RUNS
        times: list[float] = []
        begin = time.perf_counter()
        while len(times) < least or (
            len(times) < most and time.perf_counter() - begin < _COLD_SECONDS
        ):
            others.max()
            for array in opened.inputs:
                array.max(initial=0)
            before = meter()
            opened.run()
            times.append(max(meter() - before - overhead, LEAST_SECONDS))
        low, middle = np.quantile(times, [LOW_QUANTILE, 0.5])
        return Timed(float(low), float((middle - low) / low))

    def _cold_overhead(self, inputs: int) -> float:
        """Return the seconds of running a model with this many inputs and no operator, after other data."""
        if inputs not in self._cold_overheads:
            whole = self._cold(self._opened(_chain(inputs, 1)), 0.0).seconds
            self._cold_overheads[inputs] = max(whole - self.launch(), 0.0)
        return self._cold_overheads[inputs]

    def overhead(self, inputs: int) -> float:
        """Return the seconds of running a model with this many inputs and no operator."""
        if inputs not in self._overheads:
            whole = self._steady(self._opened(_chain(inputs, 1)).run).seconds
            self._overheads[inputs] = max(whole - self.launch(), 0.0)
        return self._overheads[inputs]

    def launch(self) -> float:
        """Return the seconds that one more trivial operator takes."""
        if self._launch is None:
            short, long = (
                self._steady(self._opened(_chain(1, length)).run) for length in (1, _CHAIN)
            )
            each = (long.seconds - short.seconds) / (_CHAIN - 1)
            self._launch = max(each, LEAST_SECONDS)
        return self._launch

    def _steady(self, run: Run, overhead: float = 0.0) -> Timed:
        """Return the steadiest of a few measurements, without the overhead; one is enough if it is steady.

        All are of one session: opening another would take longer than measuring.
        """
        found: list[Timed] = []
        while len(found) < _ATTEMPTS:
            parts = [max(each - overhead, LEAST_SECONDS) for each in self._parts(run)]
            apart, seconds = max(parts) - min(parts), median_low(parts)
            found.append(Timed(seconds, apart / seconds))
            if found[-1].spread <= _MOST_SPREAD or apart <= _LEAST_APART:
                break
        return min(found, key=lambda one: one.spread)

    def _parts(self, run: Run) -> list[float]:
        """Return the seconds of a run from each part of the time for measuring.

        From two at the least, and from no more if these agree closely.
        """
        parts: list[float] = []
        start, meter = time.perf_counter(), meter_for(self.threads)
        while len(parts) < 2 or (
            len(parts) < _PARTS
            and max(parts) > (1 + _AGREED) * min(parts)
            and time.perf_counter() - start < self.seconds
        ):
            parts.append(latency(run, self.seconds / _PARTS, meter=meter))
        return parts

    def _opened(self, graph: Graph) -> Opened:
        """Open the graph in a session of its own."""
        fault: TensaurError | None = None
        for filled, limit in _filled(graph):
            try:
                session = RUNTIME.open_embedded(
                    model_of(filled, self.opsets), Settings(threads=self.threads)
                )
                feeds = {
                    port.name: _random_array(
                        port.dtype or DType.FLOAT32,
                        tuple(dim for dim in port.dims if isinstance(dim, int)),
                        limit,
                    )
                    for port in session.inputs
                }
                return Opened(session.runner(feeds), tuple(feeds.values()))
            except RuntimeFailure as error:  # perhaps an index out of range: try smaller integers
                fault = fault or error
        assert fault is not None, "at least one limit is tried"
        raise fault


def _weight_nbytes(graph: Graph) -> int:
    sizes = [type_nbytes(node.op.type) for node in graph.nodes if isinstance(node.op, Weight)]
    return sum(size for size in sizes if isinstance(size, int))


def _repeated(graph: Graph, copies: int) -> Graph:
    """Return a graph that runs another several times on the same inputs, each with its own weights."""
    builder = GraphBuilder()
    outputs = []
    for copy in range(copies):
        places: list[int] = []
        for node in graph.nodes:
            op = node.op
            if isinstance(op, Weight):
                op = replace(op, name=f"{op.name}_{copy}")
            name = node.name if isinstance(op, Input) else f"{node.name}_{copy}"
            places.append(builder.add(op, [places[item] for item in node.inputs], name))
        outputs += [Output(f"{item.name}_{copy}", places[item.node]) for item in graph.outputs]
    return builder.build(outputs)


@lru_cache(maxsize=1)
def _others(nbytes: int) -> Array:
    """Return other data than a graph's."""
    return np.zeros(nbytes // 8, dtype=np.int64) + 1  # zeros alone take no memory


def _filled(graph: Graph) -> Iterator[tuple[Graph, int]]:
    leaves = [node.op for node in graph.nodes if isinstance(node.op, (Input, Weight))]
    types = [op.type for op in leaves if isinstance(op.type, TensorType)]
    integers = any(item.dtype.is_integer for item in types)
    for limit in INTEGER_LIMITS if integers else INTEGER_LIMITS[:1]:
        weights = [op for op in leaves if isinstance(op, Weight)]
        data = {op.name: RandomData(op.type, limit, seed) for seed, op in enumerate(weights)}
        yield replace(graph, constants=data), limit


def _random_array(dtype: DType, shape: tuple[int, ...], limit: int, seed: int = 0) -> Array:
    size = int(np.prod(shape, dtype=np.int64))
    start = seed * _STEP % _BLOCK
    return np.resize(_block(dtype, limit)[start : start + min(size, _BLOCK)], size).reshape(shape)


@lru_cache(maxsize=16)
def _block(dtype: DType, limit: int) -> Array:
    """Return random numbers, of which every seed takes others: drawing them anew takes long."""
    rng = np.random.default_rng(0)
    if dtype.is_float:
        # Around one: no operator is then slowed down by NaN or denormal numbers.
        return np.asarray(rng.uniform(0.5, 1.5, 2 * _BLOCK).astype(dtype.numpy))
    return draw_array(rng, dtype, (2 * _BLOCK,), limit)


def _chain(inputs: int, length: int) -> Graph:
    builder = GraphBuilder()
    kind = TensorType(DType.FLOAT32, (1,))
    leaves = [builder.add(Input(f"x{index}", kind)) for index in range(max(inputs, 1))]
    last = leaves[0]
    for index in range(length):
        last = builder.add(Neg() if index % 2 == 0 else Abs(), [last])
    return builder.build([Output("y", last)])


def _total_nbytes(graph: Graph) -> int:
    total = sum_nbytes(graph.facts)
    if not isinstance(total, int):
        raise Unpriceable("types are not static")
    return total
