import json
import subprocess
import sys

import pytest

import tensaur
from tests.small import small_file


def test_the_version(run):
    assert run("--version").out == f"tensaur {tensaur.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["optimize", "--help"], ["compare", "--help"], ["inspect", "--help"]]
)
def test_help_tells_the_exit_codes(run, arguments):
    done = run(*arguments)
    assert done.code == 0
    text = " ".join(done.out.split())
    assert "Exit codes: 0 done (also when the original is kept)" in text


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["nonsense"], "nonsense"),
        (["--nonsense"], "--nonsense"),
        (["optimize"], "MODEL.ONNX"),
        (["compare", "a.onnx"], "B.ONNX"),
        (["rules", "nonsense"], "nonsense"),
        (["compare", "a.onnx", "b.onnx", "--threads", "0"], "threads"),
        (["compare", "a.onnx", "b.onnx", "--time-limit", "-1"], "seconds"),
        (["compare", "a.onnx", "b.onnx", "--seed", "-1"], "seed"),
        (["compare", "a.onnx", "b.onnx", "--dim", "n=0"], "size of n"),
    ],
)
def test_wrong_usage_is_one_line(run, arguments, part):
    done = run(*arguments)
    assert done.code == 2
    assert part in done.error
    assert done.out == ""


def test_without_arguments_the_help_is_shown(run):
    done = run()
    assert done.code == 2
    assert "optimize" in done.out


def test_compare_equal_models(run, tmp_path):
    first, second = small_file(tmp_path, "a.onnx"), small_file(tmp_path, "b.onnx")
    path = tmp_path / "report.json"
    done = run("compare", first, second, "--time-limit", "0", "--json", path)
    assert done.code == 0
    assert "equal" in done.out
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["equal"] is True
    assert set(read["ratio"]) == {"ratio", "low", "high"}


def test_compare_tells_differences_by_its_exit_code(run, tmp_path):
    first, second = small_file(tmp_path, "a.onnx"), small_file(tmp_path, "b.onnx", seed=1)
    done = run("compare", first, second, "--time-limit", "0", "--quiet")
    assert (done.code, done.out, done.err) == (1, "", "")


def test_compare_refuses_what_is_no_model(run, tmp_path):
    done = run("compare", small_file(tmp_path), tmp_path / "none.onnx")
    assert done.code == 1
    assert "none.onnx" in done.error


def test_inspect_shows_operators_and_writes_json_and_dot(run, tmp_path):
    files = tmp_path / "model.json", tmp_path / "model.dot"
    done = run("inspect", small_file(tmp_path), "--json", files[0], "--dot", files[1])
    assert done.code == 0
    for part in ("opset", "x f32[2,4]", "MatMul", "parameters", "cost"):
        assert part in done.out
    read = json.loads(files[0].read_text(encoding="utf-8"))
    assert {row["operator"] for row in read["operators"]} == {"MatMul", "Add", "Relu"}
    assert files[1].read_text(encoding="utf-8").startswith("digraph")


def test_inspect_refuses_what_is_no_model(run, tmp_path):
    done = run("inspect", tmp_path / "none.onnx")
    assert done.code == 1
    assert "none.onnx" in done.error


def test_rules_are_listed(run):
    everything = run("rules", "list").out.splitlines()
    assert everything[-1] == f"{len(everything) - 1} rules"
    some = run("rules", "list", "matmul").out.splitlines()
    assert all(line.startswith("matmul") for line in some[:-1])
    assert 1 < len(some) < len(everything)
    exact = run("rules", "list", "--math", "exact").out.splitlines()
    assert all(line.split()[1] == "exact" for line in exact[:-1])


def test_the_demo_reports(run, engine, tmp_path):
    done = run("demo", "-o", tmp_path / "fast.onnx")
    assert done.code == 0
    assert "3.00 ms -> 2.00 ms" in done.out
    assert "matmul-associate x2" in done.out
    assert (tmp_path / "fast.onnx").is_file()


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "tensaur", "optimize", "no-such-file.onnx"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("tensaur: error: no-such-file.onnx")
    assert "Traceback" not in done.stderr
