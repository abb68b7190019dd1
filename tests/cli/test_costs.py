"""`tensaur costs`: show, measure, export, import, clear; in a store of the test's own."""

import json
import sys

import pytest

from tensaur.cost.store import Context, Store, Stored
from tests.small import small_file

HERE = Context(1, "runtime 1.0", "processor")
OTHER = Context(2, "runtime 2.0", "processor")
CONV = "input f32[1,3]; weight f32[3,4]; MatMul(%0,%1); Relu(%2); return %3 @:18"


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "costs.sqlite"
    store = Store(path)
    store.put(CONV, HERE, Stored(4000, "", 0.05, 1000, 1e9))
    store.put("b", HERE, Stored(None, "refused", measured_at=1e9))
    store.put("c", OTHER, Stored(100, "", 0.5, 100, 1e9))
    return store


def test_an_empty_store(run, tmp_path):
    done = run("costs", "show")
    assert (done.code, done.out) == (0, f"{tmp_path / 'costs.sqlite'}\n  empty\n")


def test_what_is_stored_is_shown(run, store, tmp_path):
    path = tmp_path / "costs.json"
    done = run("costs", "show", "--top", 1, "--json", path)
    assert done.code == 0
    for part in (
        "runtime 1.0, processor, 1 thread\n",
        "1 measured, 1 that cannot be",
        "2001-09-09 01:46 UTC",
        "median 5.0%, 90 % at most 5.0%",
        "not calibrated",
        "half of the prices within a factor 4.00, 90 % within 4.00 (|log ratio| 1.39 and 1.39)",
        "runtime 2.0, processor, 2 threads\n",
        "MatMul+Relu(f32[1,3], weight f32[3,4])  4.00 us    5.0%   1.00 us\n",
    ):
        assert part in done.out
    values = json.loads(path.read_text(encoding="utf-8"))
    assert [item["measured"] for item in values["contexts"]] == [1, 1]
    assert values["top"][0]["stored"]["nanoseconds"] == 4000


def test_a_model_is_measured(run, tmp_path):
    path = tmp_path / "profile.json"
    done = run("costs", "measure", small_file(tmp_path), "--json", path, "--top", 1)
    assert done.code == 0
    assert "measured now, 0 from the store, 0 only estimated" in done.out
    assert "pricing 1 of " in done.err
    assert done.out.rstrip().splitlines()[-1].count(" us") + done.out.count(" ns") > 0
    measured = json.loads(path.read_text(encoding="utf-8"))["measured"]
    assert measured > 0
    assert f"{measured} measured, 0 that cannot be" in run("costs", "show").out
    quiet = run("costs", "measure", small_file(tmp_path), "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_tables_move(run, store, tmp_path):
    table = tmp_path / "table.json"
    done = run("costs", "export", table)
    assert done.out == f"{table}: 3 prices, 0 machines\n"
    assert run("costs", "import", table).out == f"{table}: 0 of 3 prices taken\n"
    assert run("costs", "import", table, "--replace").out == f"{table}: 3 of 3 prices taken\n"
    assert run("costs", "clear", "--all", "--yes").code == 0
    assert run("costs", "import", table).out == f"{table}: 3 of 3 prices taken\n"
    assert Store(tmp_path / "costs.sqlite").get(CONV, HERE) == Stored(4000, "", 0.05, 1000, 1e9)


def test_files_that_are_no_tables_are_refused(run, tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}", encoding="utf-8")
    done = run("costs", "import", table)
    assert (done.code, done.out) == (1, "")
    assert done.error == f"{table}: not a table of costs: its format is not 'tensaur costs'"
    assert run("costs", "import", tmp_path / "none.json").code == 1


def test_one_runtime_is_cleared(run, store, tmp_path):
    done = run("costs", "clear", "--runtime", "runtime 2.0", "--yes")
    assert done.out == f"{tmp_path / 'costs.sqlite'}: 1 prices cleared\n"
    assert {entry.context for entry in Store(tmp_path / "costs.sqlite").entries()} == {HERE}


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 3)])
def test_clearing_asks_on_a_terminal(run, store, tmp_path, monkeypatch, answer, left):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    done = run("costs", "clear", "--all")
    assert done.code == 0 and "forget everything in" in done.out
    assert Store(tmp_path / "costs.sqlite").count() == left


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["clear"], "clear takes --all or --runtime NAME, and not both"),
        (["clear", "--all", "--runtime", "x"], "clear takes --all or --runtime NAME"),
        (["clear", "--all"], "clear: nobody can be asked here, expected --yes"),
        (
            ["clear", "--runtime", "x", "--yes"],
            "nothing is stored for it (stored: runtime 1.0, run",
        ),
        (["show", "--top", "-1"], "--top: -1 is below 0"),
        (["measure"], "MODEL.ONNX"),
        (["measure", "m.onnx", "--threads", "0"], "threads: 0 is below 1"),
        (["measure", "m.onnx", "--time-limit", "-1"], "seconds: -1.0 is below 0"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage(run, store, monkeypatch, arguments, part):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO())
    done = run("costs", *arguments)
    assert done.code == 2
    assert part in done.error
    assert done.out == ""


def test_a_store_that_cannot_be_opened(run, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    monkeypatch.setenv("TENSAUR_STORE", str(tmp_path / "folder"))
    done = run("costs", "show")
    assert done.code == 1
    assert done.err.splitlines()[-1].endswith("folder: the cost store cannot be opened")


def test_models_that_are_refused(run, tmp_path):
    done = run("costs", "measure", tmp_path / "none.onnx")
    assert done.code == 1
    assert "none.onnx" in done.error


def test_help_tells_the_exit_codes(run):
    for command in ("show", "measure", "export", "import", "clear"):
        done = run("costs", command, "--help")
        assert done.code == 0 and "Exit codes: 0 done; 1 a model" in " ".join(done.out.split())
