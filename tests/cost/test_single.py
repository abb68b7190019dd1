"""Running small graphs alone: every operator can be, and the parts that need no clock."""

from random import Random

import numpy as np
import pytest

from tensaur import ops
from tensaur.cost.canonical import Unpriceable, canonical, operator_graph
from tensaur.cost.single import (
    LEAST_SECONDS,
    Opened,
    RandomData,
    Stopwatch,
    Timed,
    _filled,
    _repeated,
)
from tensaur.errors import RuntimeFailure
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Input, Opaque, Weight
from tensaur.ir.types import DType, TensorType
from tensaur.ops import MatMul
from tests.cost.facts import chain, scalar, tensor, weight
from tests.ops.draws import draw

QUICK = Stopwatch(opsets={"": 21}, seconds=0.0)


def measure(op, *inputs, watch=QUICK):
    return watch.measure(canonical(operator_graph(op, inputs, {}), {}).graph).seconds


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_every_operator_runs_alone(cls):
    for seed in range(3):
        drawn = [
            draw(cls, Random(seed), dtype) for dtype in (DType.FLOAT32, DType.BOOL, DType.INT64)
        ]
        case = next(item for item in drawn if item is not None)
        assert measure(case.op, *case.facts) >= LEAST_SECONDS


def test_indices_are_made_small_enough():
    assert measure(ops.Gather(axis=0), tensor(3, 4), tensor(2, dtype=DType.INT64)) > 0
    assert measure(ops.Gather(axis=0), weight(3, 4), weight(20, dtype=DType.INT64)) > 0


def test_values_that_are_known_are_used():
    measure(ops.Pow(), tensor(4), scalar(2.0))


def test_graphs_that_the_runtime_refuses_raise():
    kind = TensorType(DType.FLOAT32, (2,))
    with pytest.raises(RuntimeFailure):
        measure(Opaque("", "NoSuchOperator", "", (), (kind,), 1), tensor(2))


def test_graphs_that_are_too_large_are_not_tried():
    huge = chain([Input("x", TensorType(DType.FLOAT32, (1 << 20, 1 << 10)))], ops.Relu())
    with pytest.raises(Unpriceable, match="more than 1024 MiB"):
        QUICK.measure(huge)


def test_overhead_is_measured_once_for_each_number_of_inputs():
    watch = Stopwatch(seconds=0.0)
    assert watch.overhead(3) >= 0 and watch.launch() >= LEAST_SECONDS
    assert watch.overhead(3) == watch.overhead(3)


@pytest.mark.parametrize(
    "dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.BOOL]
)
def test_random_data_are_tame(dtype):
    data = RandomData(TensorType(dtype, (300, 400)), 8)
    array = data.numpy()
    assert array.shape == (300, 400) and array.nbytes == data.nbytes
    numbers = array.astype(np.float64)
    assert np.isfinite(numbers).all()
    assert numbers.min() >= (0.49 if dtype.is_float else 0) and numbers.max() < 8


def product(rows=1, inner=256, outer=256):
    builder = GraphBuilder()
    x = builder.add(Input("x", TensorType(DType.FLOAT32, (rows, inner))), (), "x")
    w = builder.add(Weight("w", TensorType(DType.FLOAT32, (inner, outer))), (), "w")
    return builder.build([Output("y", builder.add(MatMul(), [x, w], "y"))])


class Scripted(Stopwatch):
    """A stopwatch whose runs take a millisecond for every product, and remembers what it ran."""

    def overhead(self, inputs):
        return 0.0

    def _opened(self, graph):
        count = sum(isinstance(node.op, MatMul) for node in graph.nodes)
        self.ran = [*getattr(self, "ran", []), count]
        return Opened(lambda: count, ())

    def _parts(self, run):
        return [self.each * run()] * 2

    def _cold(self, opened, overhead):
        return Timed(3 * self.each * opened.run(), 0.0)

    def _cold_overhead(self, inputs):
        return 0.0


@pytest.mark.parametrize(
    ("each", "outer", "cold_nbytes", "ran"),
    [
        (1e-6, 256, 0, [1]),  # the weights fit the cache
        (1e-6, 256, 1 << 20, [1, 16]),  # 256 KiB of weights: no more copies than are worth it
        (1e-6, 256, 1 << 19, [1]),  # half of it is as cold
        (1e-2, 256, 1 << 20, [1]),  # too slow to wait for memory
        (1e-6, 2048, 1 << 30, [1, 4]),  # 2 MiB of weights
        (1e-6, 8192, 1 << 30, [1]),  # 8 MiB: what is cold beside them does not count
    ],
)
def test_weights_beyond_the_cache_are_measured_cold(each, outer, cold_nbytes, ran):
    stopwatch = Scripted(cold_nbytes=cold_nbytes)
    stopwatch.each = each
    cold = cold_nbytes > 1 << 19 and each < 1e-3
    expected = 3 * each if cold else each
    assert stopwatch.measure(product(outer=outer)).seconds == pytest.approx(expected)
    assert stopwatch.ran == ran


def test_runs_with_cold_weights_read_other_data_before_each():
    nbytes = 1 << 22
    watch = Stopwatch(seconds=0.0, cold_nbytes=nbytes)
    ran = []
    read = np.zeros(4).view(Read)
    found = watch._cold(Opened(lambda: ran.append(Read.count), (read,)), 0.0)
    assert len(ran) >= 3 and ran == sorted(set(ran))
    assert found.seconds >= LEAST_SECONDS and found.spread >= 0


class Read(np.ndarray):
    """An array that counts how often it is read."""

    count = 0

    def max(self, *args, **kwargs):
        Read.count += 1
        return super().max(*args, **kwargs)


class Scattered(Stopwatch):
    """A stopwatch that reads what is written down for it."""

    def overhead(self, inputs):
        return 1e-6

    def _opened(self, graph):
        return Opened(lambda: None, ())

    def _parts(self, run):
        return self.readings.pop(0)


@pytest.mark.parametrize(
    ("readings", "seconds", "spread"),
    [
        ([[11e-6, 11.5e-6, 11.2e-6]], 10.2e-6, 0.5 / 10.2),
        ([[11e-6, 15e-6, 12e-6], [11e-6, 11e-6, 11e-6]], 10e-6, 0.0),
        # All three scatter: the steadiest counts.
        ([[11e-6, 15e-6], [11e-6, 13e-6], [11e-6, 17e-6]], 10e-6, 0.2),
        # Half a microsecond is no more than the stopwatch's own noise.
        ([[1.2e-6, 1.6e-6]], 0.2e-6, 2.0),
    ],
)
def test_what_scatters_is_measured_again(readings, seconds, spread):
    stopwatch = Scattered()
    stopwatch.readings = list(readings)
    found = stopwatch.measure(product())
    assert (found.seconds, found.spread) == (pytest.approx(seconds), pytest.approx(spread))
    assert stopwatch.readings == []


def test_copies_share_inputs_and_have_weights_of_their_own():
    repeated = _repeated(product(), 3)
    assert [node.op.name for node in repeated.nodes if isinstance(node.op, Input)] == ["x"]
    names = [node.op.name for node in repeated.nodes if isinstance(node.op, Weight)]
    assert len(set(names)) == 3 == len(repeated.outputs)
    # The runtime merges products of equal weights, so the data differ too.
    filled, _ = next(_filled(repeated))
    first, second = (filled.constants[name].numpy() for name in names[:2])
    assert first.shape == second.shape and not np.array_equal(first, second)
