"""Facts and small graphs that the cost tests share."""

from collections.abc import Sequence

from tensaur.ir.dims import Dim, symbol
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Operator
from tensaur.ir.types import DType, Fact, Known, TensorType, literal_fact

BATCH = symbol("batch")
SEQUENCE = symbol("sequence")


def tensor(*shape: Dim, dtype: DType = DType.FLOAT32) -> Fact:
    """Return the fact of a value computed at run time."""
    return Fact(TensorType(dtype, shape))


def weight(*shape: int, dtype: DType = DType.FLOAT32) -> Fact:
    """Return the fact of a large constant."""
    return Fact(TensorType(dtype, shape), None, constant=True)


def scalar(number: float, dtype: DType = DType.FLOAT32) -> Fact:
    """Return the fact of a literal of rank 0."""
    return literal_fact(Known.of(number, dtype))


def chain(leaves: Sequence[Operator], *ops: Operator) -> Graph:
    """Apply the first operator to the leaves, and every other one to the result before."""
    builder = GraphBuilder()
    last = builder.add(ops[0], [builder.add(item) for item in leaves])
    for op in ops[1:]:
        last = builder.add(op, [last])
    return builder.build([Output("y", last)])
