"""Running small graphs alone: every operator can be, and the parts that need no clock."""

from random import Random

import numpy as np
import pytest

from tensaur import ops
from tensaur.cost.canonical import Unpriceable, canonical, operator_graph
from tensaur.cost.single import LEAST_SECONDS, RandomData, Stopwatch
from tensaur.errors import RuntimeFailure
from tensaur.ir.operator import Input, Opaque
from tensaur.ir.types import DType, TensorType
from tests.cost.facts import chain, scalar, tensor, weight
from tests.ops.draws import draw

QUICK = Stopwatch(opsets={"": 21}, seconds=0.0)


def measure(op, *inputs, watch=QUICK):
    return watch.measure(canonical(operator_graph(op, inputs, {}), {}).graph)


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
