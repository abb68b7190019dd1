"""From the name of a metric to a model, and calibration."""

from pathlib import Path

import pytest

from tensaur import ops
from tensaur.cost import pricer
from tensaur.cost.analytic import TYPICAL_MACHINE, Flops, Machine
from tensaur.cost.calibrate import calibrated_machine, measure_machine
from tensaur.cost.model import Price, PriceKind
from tensaur.cost.objective import objective
from tensaur.cost.pricer import Part, measured_cost, pricer_for
from tensaur.cost.single import Timed
from tensaur.cost.store import Context, Store
from tensaur.errors import RuntimeFailure
from tensaur.ir.operator import Input
from tests.cost.facts import chain, tensor

HERE = Context(1, "runtime 1.0", "processor")
MACHINE = Machine(1e9, 1e9, 1e9, 1e-7)


class FakeStopwatch:
    """Every graph takes a millisecond."""

    def measure(self, graph):
        return Timed(1e-3, 0.0)

    def launch(self):
        return 1e-6


def test_metrics_by_name():
    assert pricer_for(objective("flops"), {"batch": 3}).parts == (Part(1, Flops({"batch": 3})),)
    assert pricer_for(objective("size")).parts == ()


def test_machines_are_measured_once(monkeypatch):
    store = Store(None)
    monkeypatch.setattr("tensaur.cost.calibrate.Stopwatch", lambda threads: FakeStopwatch())
    found = calibrated_machine(store, HERE)
    assert found == measure_machine(FakeStopwatch())
    assert found.launch_seconds == 1e-6 and found.flops_per_second == pytest.approx(
        2 * 512**3 * 1e3
    )
    monkeypatch.setattr("tensaur.cost.calibrate.Stopwatch", None)
    assert calibrated_machine(store, HERE) == found


def test_a_stored_machine_of_another_layout_is_measured_again(monkeypatch):
    store = Store(None)
    store.put_calibration(HERE, '{"gigahertz": 3}')
    monkeypatch.setattr("tensaur.cost.calibrate.Stopwatch", lambda threads: FakeStopwatch())
    assert calibrated_machine(store, HERE).launch_seconds == 1e-6


def test_where_nothing_runs_the_machine_is_typical(monkeypatch):
    class Broken(FakeStopwatch):
        def measure(self, graph):
            raise RuntimeFailure("nothing runs")

    store = Store(None)
    monkeypatch.setattr("tensaur.cost.calibrate.Stopwatch", lambda threads: Broken())
    assert calibrated_machine(store, HERE) == TYPICAL_MACHINE
    assert store.calibration(HERE) is None


def test_latency_is_measured_into_the_given_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pricer, "calibrated_machine", lambda store, context: MACHINE)
    path = tmp_path / "costs.sqlite"
    wanted = objective("latency")
    prices = pricer_for(wanted, {}, 1, path, opsets={"": 17}, budget_seconds=5.0)
    x = tensor(4, 4)
    found = prices.quote(ops.Relu(), [x], x)
    assert found.kind is PriceKind.MEASURED and found.amount > 0
    assert (
        prices.measured is not None
        and prices.measured.store.path == path
        and Store(path).count() == 1
    )


def test_both_names_of_the_onnx_domain_are_one(monkeypatch):
    monkeypatch.setattr(pricer, "calibrated_machine", lambda store, context: MACHINE)
    opsets = {"ai.onnx": 17, "com.example": 1}
    assert measured_cost(Store(None), opsets=opsets).opsets == {"": 17, "com.example": 1}


def test_budgets_reach_the_model(monkeypatch):
    monkeypatch.setattr(pricer, "calibrated_machine", lambda store, context: MACHINE)
    prices = measured_cost(Store(None), budget_seconds=0.0)
    x = tensor(4, 4)
    assert prices.quote(ops.Relu(), [x], x).kind is PriceKind.ESTIMATED


def test_sums_weigh_their_parts():
    prices = pricer_for(objective("2*launches + 0.5*flops"))
    x = tensor(4, 4)
    assert prices.quote(ops.Relu(), [x], x) == Price(2 + 0.5 * 17, PriceKind.EXACT)
    graph = chain([Input("x", x.type)], ops.Relu(), ops.Neg())
    expected = 2 * (2 + 0.5 * 17)
    assert prices.estimate(graph) == prices.known(graph) == prices.measure(graph) == expected
    assert not prices.refuses(graph) and prices.measured is None


def test_a_sum_is_as_sure_as_its_least_sure_part(monkeypatch):
    monkeypatch.setattr(pricer, "calibrated_machine", lambda store, context: MACHINE)
    monkeypatch.setattr(pricer, "default_path", lambda: None)
    x = tensor(4, 4)
    for seconds, kind in ((5.0, PriceKind.MEASURED), (0.0, PriceKind.ESTIMATED)):
        prices = pricer_for(objective("latency + bytes"), budget_seconds=seconds)
        graph = chain([Input("x", x.type)], ops.Relu())
        assert prices.known(graph) is None
        found = prices.quote(ops.Relu(), [x], x)
        assert found.kind is kind
        latency = prices.measured.price(ops.Relu(), [x], x)
        assert found.amount == latency + 129
