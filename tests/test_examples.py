"""The examples run and show what they promise."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

FOLDER = Path(__file__).parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == {
        "engine",
        "every_stage",
        "optimise_a_model",
        "own_rule",
    }


def test_every_stage(capsys):
    example = load("every_stage")
    written = example.main()
    out = capsys.readouterr().out
    assert [part.split("\n")[0] for part in out.split("== ")[1:]] == [
        "reading",
        "exploring",
        "choosing",
        "writing",
    ]
    x = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32)
    expected, found = (
        ReferenceEvaluator(model).run(None, {"x": x})[0] for model in (example.model(), written)
    )
    np.testing.assert_allclose(expected, found, rtol=1e-3, atol=1e-2)
    # The first row alone is computed: the Slice now stands before the product.
    assert written.graph.node[0].op_type == "Slice"


def test_own_rule(capsys):
    result = load("own_rule").main()
    out = capsys.readouterr().out
    assert "refuted: mine-sum-of-absolutes" in out
    assert [node.op_type for node in result.model.graph.node] == ["Sub", "Mul", "Abs"]
    assert "mine-product-of-absolutes" in {rewrite.rule for rewrite in result.rewrites}


@pytest.mark.slow
def test_optimise_a_model(capsys):
    result = load("optimise_a_model").main()
    assert result.speedup >= 1
    assert "because:" in capsys.readouterr().out


def test_engine(capsys):
    best = load("engine").main()
    out = capsys.readouterr().out
    # (x * wk) * wk * y = x * (wk * wk * y): the product of the weights is folded, q stays as it is.
    products = 2 * 64 * 64 + 2 * 8 * 64 + 2 * 8 * 64 * 64
    assert products <= best.cost == best.bound <= products + 3
    assert "still represented: True" in out
    assert "because of associate" in out
