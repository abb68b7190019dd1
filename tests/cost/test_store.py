"""The store: keeps prices apart by context, survives other processes, corruption and bad places."""

import logging
import sqlite3
import subprocess
import sys

import pytest

from tensaur.cost.store import Context, Entry, Store, Stored, default_path

HERE = Context(1, "runtime 1.0", "processor")
WRITER = """
import sys
from pathlib import Path
from tensaur.cost.store import Context, Store, Stored
store, context = Store(Path(sys.argv[1])), Context(1, "runtime 1.0", "processor")
for number in range(100):
    mine = Stored(number, "", number / 7, 2 * number, 1e9 + number)
    store.put(f"{sys.argv[2]} {number}", context, mine)
    store.put("shared", context, mine)
    assert store.get(f"{sys.argv[2]} {number}", context) == mine
"""


def test_round_trip(tmp_path):
    path = tmp_path / "deep" / "costs.sqlite"
    store = Store(path)
    assert store.get("a", HERE) is None and store.count() == 0
    store.put("a", HERE, Stored(12))
    store.put("b", HERE, Stored(None, "refused"))
    store.put_calibration(HERE, "text")
    store.close()
    again = Store(path)
    assert again.get("a", HERE) == Stored(12)
    assert again.get("b", HERE) == Stored(None, "refused")
    assert again.calibration(HERE) == "text"
    again.put("a", HERE, Stored(13))
    assert again.get("a", HERE) == Stored(13) and again.count() == 2


def test_merging_keeps_what_is_newer():
    store = Store(None)
    old, new = Stored(1, measured_at=1.0), Stored(2, measured_at=2.0)
    assert store.merge([Entry("a", HERE, new), Entry("b", HERE, old)]) == 2
    assert store.merge([Entry("a", HERE, old), Entry("b", HERE, new)]) == 1
    assert [entry.stored for entry in store.entries()] == [new, new]
    assert store.merge([Entry("a", HERE, old)], replace=True) == 1
    assert store.get("a", HERE) == old
    assert store.merge([]) == 0


def test_clearing_one_runtime_or_all():
    store, other = Store(None), Context(1, "runtime 2.0", "processor")
    for context in (HERE, other):
        store.put("a", context, Stored(1))
        store.put_calibration(context, "text")
        store.put_kernels(context.runtime, {"kind": 1})
    assert store.clear("runtime 1.0") == 1
    assert [item.context for item in store.calibrations()] == [other]
    assert store.kernels("runtime 1.0") == {} and store.kernels("runtime 2.0") == {"kind": 1}
    assert store.clear() == 1
    assert (store.entries(), store.calibrations()) == ([], [])


@pytest.mark.parametrize(
    "other",
    [
        Context(2, HERE.runtime, HERE.processor),
        Context(1, "runtime 1.1", HERE.processor),
        Context(1, HERE.runtime, "another processor"),
    ],
)
def test_contexts_are_kept_apart(other):
    store = Store(None)
    store.put("a", HERE, Stored(12))
    store.put_calibration(HERE, "text")
    assert store.get("a", other) is None and store.calibration(other) is None


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "costs.sqlite"
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("first", "second")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0 and errors == b""
    found = Store(path).entries()
    assert len(found) == 201
    for entry in found:
        number = entry.stored.nanoseconds
        assert entry.stored == Stored(number, "", number / 7, 2 * number, 1e9 + number)


@pytest.mark.parametrize(
    "content", [b"this is no database at all" * 100, b"SQLite format 3\0junk" * 99]
)
def test_a_corrupt_file_is_moved_aside_with_one_warning(tmp_path, caplog, content):
    path = tmp_path / "costs.sqlite"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING, "tensaur"):
        store = Store(path)
        store.put("a", HERE, Stored(1))
        store.close()
    assert len(caplog.records) == 1 and "moved to costs.sqlite.corrupt" in caplog.text
    assert (tmp_path / "costs.sqlite.corrupt").read_bytes() == content
    assert Store(path).get("a", HERE) == Stored(1)


def test_a_file_that_breaks_later_costs_only_the_cache(tmp_path, caplog):
    path = tmp_path / "costs.sqlite"
    store = Store(path)
    other = sqlite3.connect(path)
    other.execute("DROP TABLE prices")
    other.commit()
    with caplog.at_level(logging.WARNING, "tensaur"):
        assert store.get("a", HERE) is None
        store.put("a", HERE, Stored(1))
    assert len(caplog.records) == 1
    assert store.get("a", HERE) == Stored(1)


def test_another_layout_is_replaced(tmp_path):
    path = tmp_path / "costs.sqlite"
    old = sqlite3.connect(path)
    old.executescript("CREATE TABLE prices (something TEXT); PRAGMA user_version=99;")
    old.close()
    store = Store(path)
    store.put("a", HERE, Stored(1))
    assert store.get("a", HERE) == Stored(1)


@pytest.mark.parametrize("place", ["is-a-folder", "is-a-file/costs.sqlite"])
def test_a_bad_place_means_memory_and_one_warning(tmp_path, caplog, place):
    (tmp_path / "is-a-folder").mkdir()
    (tmp_path / "is-a-file").write_text("")
    with caplog.at_level(logging.WARNING, "tensaur"):
        store = Store(tmp_path / place)
        store.put("a", HERE, Stored(1))
        assert store.get("a", HERE) == Stored(1)
    assert store.path is None
    assert len(caplog.records) == 1 and "measured prices are not kept" in caplog.text


def test_the_default_place_is_in_the_cache_directory():
    assert default_path().name == "costs.sqlite" and "tensaur" in str(default_path())


def test_numbers_of_kernels_are_kept_by_kind_and_runtime(tmp_path):
    store = Store(tmp_path / "costs.sqlite")
    store.put_kernels("one", {"a": 1, "b": 2})
    store.put_kernels("one", {"b": 3})
    store.put_kernels("other", {"a": 4})
    store.close()
    again = Store(tmp_path / "costs.sqlite")
    assert again.kernels("one") == {"a": 1, "b": 3}
    assert again.kernels("other") == {"a": 4}
    assert again.kernels("none") == {}
