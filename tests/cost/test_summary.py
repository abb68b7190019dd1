"""The store in figures."""

import math

import pytest

from tensaur.cost.analytic import Machine
from tensaur.cost.store import Context, Entry, Store, Stored
from tensaur.cost.summary import Figures, dearest, figures, summaries

HERE, THERE = Context(1, "runtime 1.0", "processor"), Context(2, "runtime 1.0", "processor")
MACHINE = Machine(1e9, 1e9, 1e9, 1e-7)


def filled():
    store = Store(None)
    store.put_calibration(HERE, MACHINE.to_json())
    store.put_calibration(THERE, '{"gigahertz": 3}')
    for name, stored in {
        "a": Stored(100, spread=0.1, estimate=200, measured_at=5.0),
        "b": Stored(400, spread=0.3, estimate=200, measured_at=9.0),
        "c": Stored(800, spread=0.2, estimate=100, measured_at=7.0),
        "d": Stored(None, "refused", measured_at=8.0),
    }.items():
        store.put(name, HERE, stored)
    return store


def test_every_context_has_its_figures():
    here, there = summaries(filled())
    assert (here.context, here.machine) == (HERE, MACHINE)
    assert (here.measured, here.faults, here.oldest, here.newest) == (3, 1, 5.0, 9.0)
    assert here.spread.median == 0.2
    # Half, twice and eight times the estimate.
    assert here.error.median == pytest.approx(math.log(2))
    assert math.log(2) < here.error.most < math.log(8)
    assert here.ratio == 2
    assert (there.context, there.machine, there.measured) == (THERE, None, 0)
    assert (there.spread, there.error, there.ratio) == (None, None, None)


def test_an_empty_store_has_none():
    assert summaries(Store(None)) == ()


def test_the_dearest_come_first():
    entries = filled().entries()
    assert [entry.signature for entry in dearest(entries, 2)] == ["c", "b"]
    assert [entry.signature for entry in dearest(entries, 9)] == ["c", "b", "a"]
    assert dearest([Entry("x", HERE, Stored(None))], 1) == []


def test_figures():
    assert figures([]) is None
    assert figures([3.0]) == Figures(3.0, 3.0)
    assert figures(list(range(11))) == Figures(5, 9.0)
