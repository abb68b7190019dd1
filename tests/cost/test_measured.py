"""Measured prices: what is measured, stored, estimated; with a stopwatch that only counts."""

import pytest

from tensaur import ops
from tensaur.cost.analytic import Machine, Roofline
from tensaur.cost.canonical import Unpriceable
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.model import PriceKind
from tensaur.cost.single import Timed
from tensaur.cost.store import Context, Store, Stored
from tensaur.errors import RuntimeFailure
from tensaur.ir.operator import Input, Opaque, Weight, infer_fact
from tensaur.ir.types import DType, Fact, Known, TensorType
from tests.cost.facts import BATCH, chain, scalar, tensor, weight

HERE = Context(1, "runtime 1.0", "processor")
MACHINE = Machine(1e9, 1e9, 1e9, 1e-7)


class FakeStopwatch:
    """Says that every graph takes twice the roofline's time, and that measuring took a second."""

    def __init__(self, fault=None):
        self.graphs = []
        self.now = 0.0
        self.fault = fault

    def clock(self):
        return self.now

    def measure(self, graph):
        self.graphs.append(graph)
        self.now += 1.0
        if self.fault:
            raise self.fault
        facts = graph.facts
        seconds = 2e-9 * sum(
            Roofline({}, MACHINE).price(node.op, [facts[i] for i in node.inputs], facts[place])
            for place, node in enumerate(graph.nodes)
        )
        return Timed(seconds, 0.25)

    def overhead(self, inputs):
        return 1e-6


def model(watch, store=None, **options):
    return MeasuredCost(
        store or Store(None), watch, HERE, MACHINE, {"batch": 4}, clock=watch.clock, **options
    )


def quote(prices, op, *inputs):
    return prices.quote(op, inputs, infer_fact(op, inputs))


def test_prices_are_measured_once_and_stored():
    watch, store = FakeStopwatch(), Store(None)
    prices = model(watch, store)
    first = quote(prices, ops.Relu(), tensor(BATCH, 10))
    assert first.kind is PriceKind.MEASURED and first.amount == 2 * (100 + 2 * 160)
    assert quote(prices, ops.Relu(), tensor(4, 10)) == first
    assert quote(model(watch, store), ops.Relu(), tensor(4, 10)) == first
    assert len(watch.graphs) == 1
    assert (prices.tally.measured, prices.tally.stored) == (1, 0)


def test_what_is_stored_tells_spread_estimate_and_time():
    watch, store = FakeStopwatch(), Store(None)
    price = quote(model(watch, store, now=lambda: 1234.5), ops.Relu(), tensor(4, 10))
    (entry,) = store.entries()
    assert entry.context == HERE
    assert entry.stored == Stored(price.amount, "", 0.25, price.amount // 2, 1234.5)


def test_prices_of_other_opsets_are_others():
    watch, store = FakeStopwatch(), Store(None)
    quote(model(watch, store), ops.Relu(), tensor(4))
    quote(model(watch, store, opsets={"": 13}), ops.Relu(), tensor(4))
    assert len(watch.graphs) == 2


def test_constants_and_views_are_not_measured():
    watch = FakeStopwatch()
    prices = model(watch)
    assert quote(prices, ops.Mul(), weight(3), scalar(2.0)).amount == 0
    shape = Fact(TensorType(DType.INT64, (1,)), Known.of([-1]), constant=True)
    view = quote(prices, ops.Reshape(), tensor(2, 3), shape)
    assert view.amount == 100 and view.kind is PriceKind.ESTIMATED
    assert watch.graphs == []


def test_a_spent_budget_means_estimates_scaled_by_what_was_measured():
    watch = FakeStopwatch()
    prices = model(watch, budget_seconds=2.0)
    quote(prices, ops.Relu(), tensor(10))
    quote(prices, ops.Neg(), tensor(10))
    estimated = quote(prices, ops.Relu(), tensor(1000))
    assert estimated.kind is PriceKind.ESTIMATED and len(watch.graphs) == 2
    # Measured operators took twice their roofline, so this one will.
    assert estimated.amount == 2 * (100 + 8000)
    assert prices.tally.estimated == 1
    assert quote(prices, ops.Relu(), tensor(1000)) == estimated


def test_stored_prices_need_no_budget():
    watch, store = FakeStopwatch(), Store(None)
    quote(model(watch, store), ops.Relu(), tensor(10))
    found = quote(model(watch, store, budget_seconds=0.0), ops.Relu(), tensor(10))
    assert found.kind is PriceKind.MEASURED


def test_hopeless_operators_are_not_measured():
    watch = FakeStopwatch()
    prices = model(watch, hopeless_nanoseconds=1000.0)
    assert quote(prices, ops.Relu(), tensor(10**6)).kind is PriceKind.ESTIMATED
    assert quote(prices, ops.Relu(), tensor(10)).kind is PriceKind.MEASURED


@pytest.mark.parametrize("fault", [RuntimeFailure("refused"), Unpriceable("too large")])
def test_what_cannot_run_is_estimated_and_not_tried_again(fault):
    watch, store = FakeStopwatch(fault), Store(None)
    for _ in range(2):
        found = quote(model(watch, store), ops.Relu(), tensor(10))
        assert found.kind is PriceKind.ESTIMATED and found.amount == 180
    assert len(watch.graphs) == 1


def test_unknown_types_are_estimated():
    watch = FakeStopwatch()
    unknown = Fact(TensorType(DType.FLOAT32, None))
    found = model(watch).quote(ops.Relu(), [unknown], unknown)
    assert found.kind is PriceKind.ESTIMATED and found.amount >= 1 and watch.graphs == []


def test_operators_with_bodies_are_estimated():
    kind = TensorType(DType.FLOAT32, (10,))
    op = Opaque("", "If", "", (), (kind,), 1)
    assert model(FakeStopwatch()).quote(op, [Fact(kind)], Fact(kind)).kind is PriceKind.ESTIMATED


def test_groups_are_measured_whole():
    watch = FakeStopwatch()
    prices = model(watch)
    kinds = [TensorType(DType.FLOAT32, shape) for shape in ((2, 3), (3, 4))]
    graph = chain([Input("x", kinds[0]), Weight("w", kinds[1])], ops.MatMul(), ops.Relu())
    found = prices.price_graph(graph)
    assert found.kind is PriceKind.MEASURED and len(watch.graphs) == 1
    assert len(watch.graphs) == 1


def test_known_tells_what_needs_no_measuring():
    watch, store = FakeStopwatch(), Store(None)
    prices = model(watch, store)
    graph = chain([Input("x", TensorType(DType.FLOAT32, (10,)))], ops.Relu())
    assert prices.known(graph) is None
    assert prices.estimate(graph) == 180
    assert prices.measure(graph) == 360 == prices.known(graph) == model(watch, store).known(graph)
    constant = chain([Weight("w", TensorType(DType.FLOAT32, (10,)))], ops.Relu())
    assert prices.known(constant) == prices.estimate(constant) == 0
    assert len(watch.graphs) == 1
