"""Representative sizes of symbolic dimensions."""

import pytest

from tensaur import ops
from tensaur.cost.sizes import dim_size, graph_sizes, static_fact, static_type, static_value
from tensaur.ir.dims import floordiv, symbol
from tensaur.ir.operator import Input
from tensaur.ir.types import DType, Fact, Known, OtherType, TensorType, TupleType
from tests.cost.facts import BATCH, SEQUENCE, chain


def test_defaults_are_one_for_batches_and_64_for_the_rest():
    kind = TensorType(DType.FLOAT32, (BATCH, SEQUENCE, symbol("?x.2")))
    graph = chain([Input("x", kind)], ops.Relu())
    assert graph_sizes(graph) == {"batch": 1, "sequence": 64, "?x.2": 64}


def test_given_sizes_win_also_for_unnamed_dimensions():
    kind = TensorType(DType.FLOAT32, (BATCH, symbol("?x.1")))
    graph = chain([Input("x", kind)], ops.Relu())
    sizes = graph_sizes(graph, {"batch": 8, "x.1": 100})
    assert sizes["batch"] == 8 and sizes["?x.1"] == 100


@pytest.mark.parametrize(
    ("dim", "size"),
    [
        (7, 7),
        (SEQUENCE, 10),
        (SEQUENCE * 2 + 1, 21),
        (SEQUENCE - 20, 0),
        (symbol("unheard"), 64),
        (floordiv(SEQUENCE, symbol("zero")), 0),
    ],
)
def test_sizes_of_dimensions(dim, size):
    assert dim_size(dim, {"sequence": 10, "zero": 0}) == size


def test_types_become_static_inside_tuples_and_others_stay():
    kind = TupleType((TensorType(DType.INT64, (SEQUENCE,)), OtherType("seq")))
    expected = TupleType((TensorType(DType.INT64, (5,)), OtherType("seq")))
    assert static_type(kind, {"sequence": 5}) == expected
    unknown = TensorType(DType.INT64, None)
    assert static_type(unknown, {}) == unknown


def test_symbolic_elements_become_numbers_and_may_be_negative():
    value = Known.of_dims((SEQUENCE, -1, -SEQUENCE))
    assert static_value(value, {"sequence": 5}).ints == (5, -1, -5)
    fact = static_fact(Fact(TensorType(DType.INT64, (3,)), value), {"sequence": 5})
    assert fact.value is not None and fact.value.raw is not None
