import io
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from tensaur.errors import ModelError, RuntimeFailure, UsageError
from tensaur.options import Options
from tests.small import small_file


def test_the_model_is_written_and_reported(run, engine, tmp_path):
    model, fast = small_file(tmp_path), tmp_path / "fast.onnx"
    done = run("optimize", model, "-o", fast)
    assert done.code == 0
    assert "1.50x as fast" in done.out
    assert "working" in done.err
    onnx.checker.check_model(onnx.load(fast))
    assert engine.models == [model]


def test_the_default_output_stands_beside_the_model(run, engine, tmp_path):
    assert run("optimize", small_file(tmp_path, "net.onnx")).code == 0
    assert (tmp_path / "net.opt.onnx").is_file()


def test_defaults_are_those_of_the_options(run, engine, tmp_path):
    run("optimize", small_file(tmp_path))
    assert engine.options == [Options(store=tmp_path / "costs.sqlite")]


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--cost", "flops"], "cost", "flops"),
        (["--time-limit", "2.5"], "seconds", 2.5),
        (["--node-limit", "99"], "nodes", 99),
        (["--iterations", "3"], "iterations", 3),
        (["--multi", "2"], "multi", 2),
        (["--extract", "tree"], "extract", "tree"),
        (["--cycle-filter", "none"], "cycle_filter", "none"),
        (["--math", "exact"], "math", "exact"),
        (["--max-growth", "500kB"], "max_growth", 500_000),
        (["--max-growth", "0"], "max_growth", 0),
        (["--max-growth", "1.5MiB"], "max_growth", 3 << 19),
        (["--cost", "latency + 0.1*bytes"], "cost", "latency + 0.1*bytes"),
        (
            ["--limit", "peak_memory=200MB", "--limit", "size=1.5MiB", "--limit", "flops=2G"],
            "limits",
            {"peak_memory": 200 * 10**6, "size": 3 << 19, "flops": 2 * 10**9},
        ),
        (["--limit", "launches=100"], "limits", {"launches": 100}),
        (["--threads", "2"], "threads", 2),
        (["--dim", "batch=8", "--dim", "a=b=2"], "sizes", {"batch": 8, "a=b": 2}),
        (["--seed", "7"], "seed", 7),
    ],
)
def test_every_flag_reaches_the_engine(run, engine, tmp_path, arguments, field, value):
    assert run("optimize", small_file(tmp_path), *arguments).code == 0
    assert getattr(engine.options[0], field) == value


def test_own_inputs_are_loaded(run, engine, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.ones((2, 4), np.float32))
    assert run("optimize", small_file(tmp_path), "--inputs", path).code == 0
    assert engine.options[0].inputs["x"].shape == (2, 4)


def test_quiet_says_nothing(run, engine, tmp_path):
    done = run("optimize", small_file(tmp_path), "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_kept_original_is_success(run, engine, tmp_path):
    engine.changes = {"kept_original": True, "reason": "nothing cheaper was found"}
    model = small_file(tmp_path)
    done = run("optimize", model)
    assert done.code == 0
    assert "the original is kept: nothing cheaper was found" in done.out
    assert onnx.load(tmp_path / "model.opt.onnx") == onnx.load(model)


def test_the_report_is_written_as_json(run, engine, tmp_path):
    path = tmp_path / "report.json"
    assert run("optimize", small_file(tmp_path), "--json", path).code == 0
    assert json.loads(path.read_text(encoding="utf-8"))["speedup"] == 1.5


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--cost", "money"], "money"),
        (["--extract", "luck"], "luck"),
        (["--math", "fuzzy"], "fuzzy"),
        (["--cycle-filter", "vanilla2"], "vanilla2"),
        (["--threads", "many"], "--threads"),
        (["--threads", "0"], "threads"),
        (["--threads", "5000"], "threads"),
        (["--seed", "-1"], "seed"),
        (["--time-limit", "-1"], "seconds"),
        (["--time-limit", "nan"], "seconds"),
        (["--node-limit", "0"], "nodes"),
        (["--dim", "batch"], "batch"),
        (["--dim", "batch=0"], "batch"),
        (["--dim", "batch=-1"], "batch"),
        (["--dim", "n=1", "--dim", "n=2"], "given twice"),
        (["--cost", "latncy"], "cost: 'latncy' is not a metric, perhaps latency"),
        (["--cost", "mine.py:price"], "mine.py: no such file"),
        (["--limit", "peak_memory"], "--limit peak_memory: expected METRIC=AMOUNT with peak_"),
        (["--limit", "latency=3"], "--limit latency=3: expected METRIC=AMOUNT with peak_memory"),
        (["--limit", "size=1ZB"], "--limit size 1ZB: expected bytes such as 500000"),
        (["--limit", "flops=1GB"], "--limit flops=1GB: expected a number such as 100, 5M or 2G"),
        (["--limit", "size=-1"], "--limit size -1: expected bytes"),
        (["--limit", "size=1", "--limit", "size=2"], "--limit size=2: size is given twice"),
        (["--max-growth", "lots"], "lots"),
        (["--max-growth", "-1"], "-1"),
        (["--inputs", "missing.npz"], "missing.npz"),
        (["--rules", "missing.py"], "missing.py"),
        (["--nonsense"], "--nonsense"),
        (["extra.onnx"], "extra.onnx"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(run, engine, tmp_path, arguments, part):
    done = run("optimize", small_file(tmp_path), *arguments)
    assert done.code == 2
    assert part in done.error
    assert done.out == ""
    assert engine.models == []


def test_arrays_that_are_none_are_wrong_usage(run, engine, tmp_path):
    path = tmp_path / "data.npz"
    for content in (b"", b"PK\x03\x04 broken", b"text"):
        path.write_bytes(content)
        done = run("optimize", small_file(tmp_path), "--inputs", path)
        assert done.code == 2
        assert "data.npz" in done.error
    np.save(tmp_path / "one.npy", np.ones(3))
    assert (
        "named arrays"
        in run("optimize", small_file(tmp_path), "--inputs", tmp_path / "one.npy").error
    )


def test_archives_of_something_else_are_wrong_usage(run, engine, tmp_path):
    model, path = small_file(tmp_path), tmp_path / "data.npz"
    header = io.BytesIO()
    huge = {"descr": "<f4", "fortran_order": False, "shape": (10**13, 64)}
    np.lib.format.write_array_header_1_0(header, huge)
    for content, part in ((b"junk", "'x' is not an array"), (header.getvalue(), "memory")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.npy", content)
        done = run("optimize", model, "--inputs", path)
        assert done.code == 2
        assert "data.npz" in done.error
        assert part in done.error
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of encryption, in the entry and in the directory
    data[data.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "not an .npz archive" in run("optimize", model, "--inputs", path).error
    assert engine.models == []


def test_the_input_is_never_overwritten(run, engine, tmp_path):
    model = small_file(tmp_path)
    before = model.read_bytes()
    done = run("optimize", model, "-o", tmp_path / "." / "model.onnx")
    assert done.code == 2
    assert "is an input" in done.error
    assert model.read_bytes() == before
    assert engine.models == []


def test_a_report_takes_the_place_of_nothing_else(run, engine, tmp_path):
    model = small_file(tmp_path)
    before = model.read_bytes()
    link = tmp_path / "link.onnx"
    link.symlink_to(model)
    for arguments in (["--json", model], ["--json", link], ["-o", "x.onnx", "--json", "x.onnx"]):
        done = run("optimize", model, *arguments)
        assert done.code == 2
        assert "write somewhere else" in done.error
    assert run("inspect", model, "--dot", model).code == 2
    assert run("compare", model, model, "--json", model).code == 2
    assert model.read_bytes() == before
    assert engine.models == []


def test_a_name_that_is_empty_or_too_long(run, tmp_path):
    model = small_file(tmp_path)
    assert run("optimize", "").code == 1
    assert "too long" in run("optimize", model, "-o", tmp_path / ("a" * 300)).error


@pytest.mark.parametrize("flag", ["--output", "--json"])
def test_unwritable_files_are_refused_before_the_work(run, engine, tmp_path, flag):
    for path in (tmp_path / "missing" / "file", tmp_path):
        done = run("optimize", small_file(tmp_path), flag, path)
        assert done.code == 1
        assert str(path) in done.error
    assert engine.models == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelError("net.onnx: not an ONNX model"), 1),
        (RuntimeFailure("the runtime refuses\nthe model"), 1),
        (UsageError("inputs: 'x' is missing"), 2),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("a bug of ours"), 1),
    ],
)
def test_errors_become_one_line_and_nothing_is_written(run, engine, tmp_path, error, code):
    engine.raises = error
    model = small_file(tmp_path)
    done = run("optimize", model)
    assert done.code == code
    assert str(error).split("\n")[0] in done.error
    assert list(tmp_path.iterdir()) == [model]


def test_a_bug_shows_its_traceback_when_asked(run, engine, tmp_path, monkeypatch):
    engine.raises = ZeroDivisionError("a bug of ours")
    assert "internal error at conftest.py:" in run("optimize", small_file(tmp_path)).error
    monkeypatch.setenv("TENSAUR_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("optimize", small_file(tmp_path))


def test_an_import_that_was_interrupted_is_an_interruption(run, engine, tmp_path):
    engine.raises = ImportError("initialization failed")
    engine.raises.__cause__ = KeyboardInterrupt()
    assert run("optimize", small_file(tmp_path)).code == 130


RULES = """
from tensaur.ir.rule import Rule
from tensaur.ir.term import Var
from tensaur.ops import neg, sub

x, y = Var("x"), Var("y")
"""


def test_own_rules_are_verified_before_they_are_used(run, engine, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(RULES + 'RULES = (Rule("mine-twice", neg(neg(x)), x),)', encoding="utf-8")
    assert run("optimize", small_file(tmp_path), "--rules", path).code == 0
    assert [rule.name for rule in engine.options[0].rules] == ["mine-twice"]


def test_a_refuted_rule_is_refused_with_its_counterexample(run, engine, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(RULES + 'RULES = (Rule("mine-swap", sub(x, y), sub(y, x)),)', encoding="utf-8")
    done = run("optimize", small_file(tmp_path), "--rules", path)
    assert done.code == 1
    assert "rule mine-swap is refuted: mine-swap: Sub" in done.error
    assert engine.models == []


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x09\x12"])
def test_a_file_that_is_no_model_is_refused(run, tmp_path, content):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    done = run("optimize", path)
    assert done.code == 1
    assert "broken.onnx" in done.error
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_or_truncated_model_is_refused(run, tmp_path):
    done = run("optimize", tmp_path / "none.onnx")
    assert done.code == 1
    assert "none.onnx" in done.error
    path = small_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    done = run("optimize", path)
    assert done.code == 1
    assert "model.onnx" in done.error
    assert [Path(item).name for item in tmp_path.iterdir()] == ["model.onnx"]


OWN_COST = """
def products(op, inputs, output):
    return 1.0 if type(op).__name__ == "MatMul" else 0.0

text = "latency"
number = 3
"""


def test_a_cost_of_the_users_own(run, engine, tmp_path):
    path = tmp_path / "my costs.py"
    path.write_text(OWN_COST, encoding="utf-8")
    assert run("optimize", small_file(tmp_path), "--cost", f"{path}:products").code == 0
    assert engine.options[0].objective.text == "products"


@pytest.mark.parametrize(
    ("content", "name", "part"),
    [
        (OWN_COST, "missing", "does not define missing"),
        (OWN_COST, "text", "text is a text, expected a function or a cost model"),
        (OWN_COST, "number", "cost: 3 is no text, no function and has neither quote nor price"),
        ("1 / 0", "mine", "ZeroDivisionError: division by zero"),
        ("def", "mine", "line 1: SyntaxError"),
    ],
)
def test_files_without_such_a_cost_are_refused(run, engine, tmp_path, content, name, part):
    path = tmp_path / "mine.py"
    path.write_text(content, encoding="utf-8")
    done = run("optimize", small_file(tmp_path), "--cost", f"{path}:{name}")
    assert done.code == 2
    assert part in done.error
    assert not engine.options


def test_the_egraph_is_written_if_there_is_one(run, engine, tmp_path):
    done = run("optimize", small_file(tmp_path), "--egraph", tmp_path / "e.json")
    assert done.code != 0
    assert "e.json: not written, there was no time to extract anything" in done.err
