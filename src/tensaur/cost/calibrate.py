"""Measure once what this machine can do: arithmetic, memory, and starting a kernel."""

from __future__ import annotations

from tensaur.cost.analytic import TYPICAL_MACHINE, Machine
from tensaur.cost.single import Stopwatch
from tensaur.cost.store import Context, Store
from tensaur.errors import TensaurError
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Operator, Weight
from tensaur.ir.types import DType, TensorType
from tensaur.ops import MatMul, Neg

_SIDE = 512
_LARGE_NBYTES = 1 << 26
_CACHED_NBYTES = 1 << 17


def calibrated_machine(store: Store, context: Context) -> Machine:
    """Return the machine as the store has it; else measure it (a fraction of a second) and store it."""
    text = store.calibration(context)
    if text is not None:
        try:
            return Machine.from_json(text)
        except ValueError:
            pass  # another layout: measure again
    try:
        machine = measure_machine(Stopwatch(context.threads))
    except TensaurError:
        return TYPICAL_MACHINE
    store.put_calibration(context, machine.to_json())
    return machine


def measure_machine(stopwatch: Stopwatch) -> Machine:
    """Measure a square matrix product, and negation of data that fit and do not fit into the cache."""
    product = stopwatch.measure(_product(_SIDE)).seconds
    large = stopwatch.measure(_negation(_LARGE_NBYTES)).seconds
    cached = stopwatch.measure(_negation(_CACHED_NBYTES)).seconds
    return Machine(
        flops_per_second=2 * _SIDE**3 / product,
        # Everything is read once and written once.
        bytes_per_second=2 * _LARGE_NBYTES / large,
        cache_bytes_per_second=2 * _CACHED_NBYTES / cached,
        launch_seconds=stopwatch.launch(),
    )


def _product(side: int) -> Graph:
    kind = TensorType(DType.FLOAT32, (side, side))
    builder = GraphBuilder()
    inputs = [builder.add(Input("x", kind)), builder.add(Weight("w", kind))]
    return builder.build([Output("y", builder.add(MatMul(), inputs))])


def _negation(nbytes: int) -> Graph:
    negate: Operator = Neg()
    builder = GraphBuilder()
    leaf = builder.add(Input("x", TensorType(DType.FLOAT32, (nbytes // 4,))))
    return builder.build([Output("y", builder.add(negate, [leaf]))])
