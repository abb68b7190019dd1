"""Tables of costs as files: there and back again, newer measurements kept, anything else refused."""

import json

import pytest

from tensaur.cost.analytic import Machine
from tensaur.cost.exchange import Merged, merge, read_table, table_json
from tensaur.cost.store import Context, Store, Stored
from tensaur.errors import StoreError

HERE, THERE = Context(1, "runtime 1.0", "processor"), Context(2, "runtime 1.1", "other")
MACHINE = Machine(1e9, 2e9, 3e9, 1e-7)


def filled(measured_at=5.0, nanoseconds=100):
    store = Store(None)
    store.put_calibration(HERE, MACHINE.to_json())
    store.put("a", HERE, Stored(nanoseconds, "", 0.1, 200, measured_at))
    store.put("b", THERE, Stored(None, "refused: \n é", measured_at=measured_at))
    return store


def written(tmp_path, store=None, **changes):
    path = tmp_path / "table.json"
    table = {**table_json(store or filled()), **changes}
    path.write_text(json.dumps(table), encoding="utf-8")
    return path


def test_there_and_back_again(tmp_path):
    store, other = filled(), Store(None)
    assert merge(other, read_table(written(tmp_path, store))) == Merged(2, 2)
    assert other.entries() == store.entries()
    assert other.calibrations() == store.calibrations()


@pytest.mark.parametrize(
    ("measured_at", "replace", "taken", "kept"),
    [(4.0, False, 0, 100), (5.0, False, 0, 100), (6.0, False, 2, 70), (4.0, True, 2, 70)],
)
def test_newer_measurements_stay(tmp_path, measured_at, replace, taken, kept):
    store = filled()
    table = read_table(written(tmp_path, filled(measured_at, nanoseconds=70)))
    assert merge(store, table, replace=replace) == Merged(2, taken)
    assert store.get("a", HERE).nanoseconds == kept


def test_a_machine_that_was_calibrated_here_stays(tmp_path):
    path = written(tmp_path)
    for replace in (False, True):
        store = Store(None)
        store.put_calibration(HERE, "mine")
        merge(store, read_table(path), replace=replace)
        assert (store.calibration(HERE) == "mine") == (not replace)


PRICE = {
    "signature": "a",
    "threads": 1,
    "runtime": "r",
    "processor": "p",
    "nanoseconds": 5,
    "fault": "",
    "spread": 0.0,
    "estimate": 3,
    "measured_at": 1.0,
}
PLACE = {"threads": 1, "runtime": "r", "processor": "p"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "x"}, "its format is not 'tensaur costs'"),
        ({"version": 2}, "its version is 2, expected 1"),
        ({"prices": 3}, "prices is no list"),
        ({"prices": [PRICE, 3]}, "prices[1] has no nanoseconds"),
        (
            {"prices": [{**PRICE, "nanoseconds": 0}]},
            "nanoseconds is 0, expected a whole number >= 1",
        ),
        ({"prices": [{**PRICE, "nanoseconds": 2**63}]}, "expected a whole number >= 1"),
        (
            {"prices": [{**PRICE, "nanoseconds": 1.5}]},
            "prices[0]: nanoseconds is 1.5, expected a wh",
        ),
        ({"prices": [{**PRICE, "spread": -1}]}, "spread is -1, expected a finite number >= 0"),
        ({"prices": [{**PRICE, "spread": float("nan")}]}, "spread is nan, expected a finite"),
        ({"prices": [{**PRICE, "measured_at": True}]}, "measured_at is True, expected a number"),
        ({"prices": [{**PRICE, "threads": "1"}]}, "threads is '1', expected a whole number >= 1"),
        ({"prices": [{**PRICE, "signature": None}]}, "signature is None, expected a text"),
        ({"prices": [{**PRICE, "fault": "\ud800"}]}, "fault is '\\ud800', expected a text"),
        ({"prices": [{**PRICE, "runtime": "a\nb"}]}, "runtime is 'a\\nb', expected a name"),
        ({"machines": [PLACE]}, "machines[0] has no calibration"),
        ({"machines": [{**PLACE, "calibration": {"mhz": 3}}]}, "expected a machine"),
        (
            {
                "machines": [
                    {**PLACE, "calibration": {**json.loads(MACHINE.to_json()), "launch_seconds": 0}}
                ]
            },
            "machines[0].calibration: launch_seconds is 0, expected a number > 0",
        ),
    ],
)
def test_other_files_are_refused_in_a_line(tmp_path, changes, message):
    with pytest.raises(StoreError) as caught:
        read_table(written(tmp_path, **changes))
    text = str(caught.value)
    assert f"table.json: not a table of costs: {message}" in text or message in text
    assert "\n" not in text


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[" * 100_000, b"[1]", b"null"])
def test_what_is_no_table_at_all_is_refused(tmp_path, content):
    path = tmp_path / "table.json"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"table\.json: not a table of costs: it"):
        read_table(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(StoreError, match="no such file or directory"):
        read_table(tmp_path / "table.json")
