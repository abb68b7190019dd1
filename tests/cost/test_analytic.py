"""Costs on paper: finite and monotone for every operator, free for what does not run."""

from random import Random

import pytest

from tensaur import ops
from tensaur.cost.analytic import METRICS, Bytes, Flops, Launches, Machine, Roofline
from tensaur.cost.model import PriceKind, is_view, runs
from tensaur.errors import TypeMismatch
from tensaur.ir.operator import (
    Absent,
    Input,
    Literal,
    Opaque,
    Operator,
    Project,
    Root,
    Weight,
    infer_fact,
)
from tensaur.ir.types import ABSENT, DType, Fact, Known, TensorType, TupleType
from tests.cost.facts import BATCH, chain, scalar, tensor, weight
from tests.ops.draws import draw

MODELS = [Flops(), Bytes(), Launches(), Roofline()]


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_every_operator_has_finite_prices(cls):
    for seed in range(10):
        for dtype in (DType.FLOAT32, DType.INT64, DType.BOOL):
            case = draw(cls, Random(seed), dtype)
            if case is None:
                continue
            for model in MODELS:
                price = model.quote(case.op, case.facts, case.fact)
                assert isinstance(price.amount, int) and 0 <= price.amount < 10**15
                assert price.amount == model.price(case.op, case.facts, case.fact)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("op", "make"),
    [
        (ops.MatMul(), lambda n: (tensor(n, 64), weight(64, n))),
        (ops.Add(), lambda n: (tensor(n, n), tensor(n, n))),
        (ops.Softmax(axis=-1), lambda n: (tensor(8, n),)),
        (ops.Transpose(perm=(1, 0)), lambda n: (tensor(n, 32),)),
        (ops.ReduceSum(axes=(0,), keepdims=False), lambda n: (tensor(n, 32),)),
        (ops.Concat(axis=0), lambda n: (tensor(n, 2), tensor(3, 2))),
    ],
    ids=lambda item: str(item) if isinstance(item, Operator) else "",
)
def test_more_work_never_costs_less(model, op, make):
    prices = [model.price(op, make(n), infer_fact(op, make(n))) for n in (1, 4, 64, 512, 4096)]
    assert prices == sorted(prices)
    assert prices[-1] > prices[0] or isinstance(model, (Flops, Launches))


def test_known_numbers():
    left, right = tensor(2, 3), weight(3, 4)
    output = infer_fact(ops.MatMul(), [left, right])
    assert Flops().price(ops.MatMul(), [left, right], output) == 2 * 2 * 3 * 4 + 1
    nbytes = 4 * (2 * 3 + 3 * 4 + 2 * 4)
    assert Bytes().price(ops.MatMul(), [left, right], output) == nbytes + 1
    assert Launches().price(ops.MatMul(), [left, right], output) == 1


def test_sizes_of_symbols_count():
    x = tensor(BATCH, 10)
    prices = [Bytes({"batch": size}).price(ops.Relu(), [x], x) for size in (1, 8)]
    assert prices == [2 * 40 + 1, 8 * 2 * 40 + 1]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_structure_and_constants_are_free(model):
    kind = TensorType(DType.FLOAT32, (2, 3))
    one = Known.of(1.0, DType.FLOAT32)
    for op in (Input("x", kind), Weight("w", kind), Literal(one), Absent()):
        assert model.price(op, [], op.infer()) == 0
    pair = Fact(TupleType((kind, kind)))
    assert model.price(Project(0), [pair], Fact(kind)) == 0
    assert model.price(Root(), [Fact(kind)], Fact(TupleType((kind,)))) == 0
    inputs = [weight(2, 3), scalar(2.0)]
    assert model.price(ops.Mul(), inputs, infer_fact(ops.Mul(), inputs)) == 0


def test_views_start_no_kernel():
    x, shape = tensor(2, 3), Fact(TensorType(DType.INT64, (1,)), Known.of([6]), constant=True)
    output = infer_fact(ops.Reshape(), [x, shape])
    assert is_view(ops.Reshape())
    assert Launches().price(ops.Reshape(), [x, shape], output) == 0
    assert Bytes().price(ops.Reshape(), [x, shape], output) == 1


def test_opaque_operators_run_and_have_a_price():
    kind = TensorType(DType.FLOAT32, (10,))
    op = Opaque("", "Mystery", "", (), (kind,), 2)
    inputs = [Fact(kind), Fact(ABSENT, None, constant=True)]
    assert runs(op)
    assert [model.price(op, inputs, Fact(kind)) for model in MODELS[:3]] == [1, 81, 1]


def test_roofline_takes_the_greater_time():
    machine = Machine(1e9, 1e9, 1e9, 1e-6)
    x, w = tensor(100, 100), weight(100, 100)
    compute = Roofline({}, machine).quote(ops.MatMul(), [x, w], x)
    assert compute.kind is PriceKind.ESTIMATED
    assert compute.amount == 2_000_000 + 1000
    assert Roofline({}, machine).price(ops.Relu(), [x], x) == 2 * 40_000 + 1000


def test_graphs_are_priced_by_their_operators():
    graph = chain([Input("x", TensorType(DType.FLOAT32, (10,)))], ops.Relu(), ops.Neg())
    model = Bytes()
    assert model.estimate(graph) == model.known(graph) == model.measure(graph) == 2 * 81


def test_machines_survive_json():
    machine = Machine(1.0, 2.0, 3.0, 4.0, 5)
    assert Machine.from_json(machine.to_json()) == machine
    for text in ("{", '{"speed": 1}', "[]"):
        with pytest.raises(ValueError):
            Machine.from_json(text)


def test_every_metric_has_a_model():
    assert set(METRICS) == {"flops", "bytes", "launches"}


def test_ill_typed_operators_are_not_priced_silently():
    with pytest.raises(TypeMismatch):
        infer_fact(ops.MatMul(), [tensor(2, 3), tensor(2, 3)])
