"""Small graphs and what becomes of them, as text side by side; `make golden` rewrites what stands below `=>`."""

from pathlib import Path

import numpy as np
import pytest

from tensaur import onnx_io
from tensaur.cost.sizes import named_sizes
from tensaur.ir.graph import ArrayData
from tensaur.ir.operator import Weight
from tensaur.ir.text import graph_text, parse_graph
from tensaur.ops import OPERATORS
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.runtime.build import model_of

FILES = sorted((Path(__file__).parent / "golden").glob("*.txt"))
ARROW = "=>\n"
SIZES = {"N": 8}


def read(path):
    """Return the graph above the arrow, its weights filled with seeded numbers."""
    text = path.read_text(encoding="utf-8").partition(ARROW)[0]
    graph = parse_graph(text, OPERATORS, {})
    random = np.random.default_rng(0)
    for node in graph.nodes:
        if isinstance(node.op, Weight):
            data = random.standard_normal(node.op.type.static_shape)
            graph.constants[node.op.name] = ArrayData(data.astype(node.op.type.dtype.numpy))
    return text, graph


def test_there_are_golden_files():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path, golden):
    text, graph = read(path)
    options = Options(cost="flops", gate=False, sizes=named_sizes(graph, SIZES))
    result = optimize(model_of(graph, {"": 18}), options=options)
    after = graph_text(onnx_io.read(result.model).graph)
    figures = f"{result.cost_before} -> {result.cost_after} FLOP"
    golden(path.name, f"{text}{ARROW}{after.rstrip()}\n# {figures}")
