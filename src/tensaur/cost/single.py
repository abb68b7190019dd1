"""Run a small graph alone and say how many seconds it takes: random weights, random inputs, stopwatch.

What starting any model costs is measured on chains of trivial operators and subtracted. Holds no
prices and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tensaur.cost.canonical import Unpriceable
from tensaur.errors import RuntimeFailure, TensaurError
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Weight, sum_nbytes, type_nbytes
from tensaur.ir.types import Array, DType, TensorType
from tensaur.ops import Abs, Neg
from tensaur.runtime.build import model_of
from tensaur.runtime.inputs import INTEGER_LIMITS, draw_array
from tensaur.runtime.session import Settings, open_session
from tensaur.runtime.timing import latency, meter_for

# A single operator on more data than this says little that a smaller one does not, and may not fit.
_MOST_NBYTES = 1 << 30
_BLOCK = 1 << 16
_CHAIN = 9
# Below this nothing can be told from the stopwatch's own noise.
LEAST_SECONDS = 50e-9


@dataclass(frozen=True, slots=True)
class RandomData:
    """Random data of a weight, made when asked for; integers lie in [0, limit)."""

    type: TensorType
    limit: int

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
        return _random_array(self.type.dtype, shape, self.limit)


@dataclass
class Stopwatch:
    """Measures graphs whose types are static, at one number of threads and one set of opsets."""

    threads: int = 1
    opsets: Mapping[str, int] = field(default_factory=lambda: {"": 18})
    seconds: float = 0.03
    _overheads: dict[int, float] = field(default_factory=dict)
    _launch: float | None = None

    def measure(self, graph: Graph) -> float:
        """Return the seconds of one run without what starting a model costs.

        RuntimeFailure if the runtime refuses the graph, Unpriceable if it is too large to try.
        """
        if _total_nbytes(graph) > _MOST_NBYTES:
            raise Unpriceable(f"more than {_MOST_NBYTES >> 20} MiB")
        whole = self._run(graph)
        return max(whole - self.overhead(len(graph.inputs)), LEAST_SECONDS)

    def overhead(self, inputs: int) -> float:
        """Return the seconds of running a model with this many inputs and no operator."""
        if inputs not in self._overheads:
            self._overheads[inputs] = max(self._run(_chain(inputs, 1)) - self.launch(), 0.0)
        return self._overheads[inputs]

    def launch(self) -> float:
        """Return the seconds that one more trivial operator takes."""
        if self._launch is None:
            short, long = self._run(_chain(1, 1)), self._run(_chain(1, _CHAIN))
            self._launch = max((long - short) / (_CHAIN - 1), LEAST_SECONDS)
        return self._launch

    def _run(self, graph: Graph) -> float:
        fault: TensaurError | None = None
        for filled, limit in _filled(graph):
            try:
                session = open_session(
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
                return latency(session.runner(feeds), self.seconds, meter=meter_for(self.threads))
            except RuntimeFailure as error:  # perhaps an index out of range: try smaller integers
                fault = fault or error
        assert fault is not None, "at least one limit is tried"
        raise fault


def _filled(graph: Graph) -> Iterator[tuple[Graph, int]]:
    leaves = [node.op for node in graph.nodes if isinstance(node.op, (Input, Weight))]
    types = [op.type for op in leaves if isinstance(op.type, TensorType)]
    integers = any(item.dtype.is_integer for item in types)
    for limit in INTEGER_LIMITS if integers else INTEGER_LIMITS[:1]:
        data = {op.name: RandomData(op.type, limit) for op in leaves if isinstance(op, Weight)}
        yield replace(graph, constants=data), limit


def _random_array(dtype: DType, shape: tuple[int, ...], limit: int) -> Array:
    rng = np.random.default_rng(0)
    size = int(np.prod(shape, dtype=np.int64))
    count = min(size, _BLOCK)
    if dtype.is_float:
        # Around one: no operator is then slowed down by NaN or denormal numbers.
        block = rng.uniform(0.5, 1.5, count).astype(dtype.numpy)
    else:
        block = draw_array(rng, dtype, (count,), limit)
    return np.resize(block, size).reshape(shape)


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
