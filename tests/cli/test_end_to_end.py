"""The real engine behind the command line."""

import json
import runpy
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "every_stage.py"


@pytest.fixture
def head(tmp_path):
    """The first row of x * A * B: 250 times less work if it is rewritten."""
    path = tmp_path / "head.onnx"
    path.write_bytes(runpy.run_path(str(EXAMPLE))["model"]().SerializeToString())
    return path


def test_a_model_becomes_faster_and_stays_equal(run, head, tmp_path):
    fast, report = tmp_path / "fast.onnx", tmp_path / "report.json"
    done = run("optimize", head, "-o", fast, "--json", report, "--time-limit", "60")
    assert done.code == 0, done.err
    assert "slicing-slice-product" in done.out
    read = json.loads(report.read_text(encoding="utf-8"))
    assert not read["kept_original"]
    assert read["speedup"] > 2
    assert read["cost_after"] < read["cost_before"]
    assert read["comparison"]["outputs"][0]["equal"]
    x = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32)
    expected, found = (
        ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})[0] for path in (head, fast)
    )
    np.testing.assert_allclose(expected, found, rtol=1e-3, atol=1e-2)
    assert run("compare", head, fast, "--time-limit", "0").code == 0


def test_no_time_is_no_error(run, head, tmp_path):
    done = run("optimize", head, "--time-limit", "0", "--quiet")
    assert done.code == 0, done.err
    onnx.checker.check_model(onnx.load(tmp_path / "head.opt.onnx"))


@pytest.mark.slow
def test_the_demo_is_not_slower(run, tmp_path):
    fast = tmp_path / "fast.onnx"
    done = run("demo", "-o", fast)
    assert done.code == 0, done.err
    assert "faster" in done.out
    onnx.checker.check_model(onnx.load(fast))
