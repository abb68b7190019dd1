import onnx
import pytest
from onnx import TensorProto, helper

from tensaur import inspection, onnx_io, report
from tensaur.cost.analytic import Flops
from tensaur.options import Options
from tests.small import small_graph, small_model


def test_every_figure_of_a_small_graph():
    found = inspection.inspect(small_graph(), Flops(), opset=18, cost_unit="flops")
    assert [(item.name, str(item.type)) for item in found.inputs] == [("x", "f32[2,4]")]
    assert [(item.name, str(item.type)) for item in found.outputs] == [("y", "f32[2,8]")]
    assert (found.parameters, found.parameter_nbytes) == (33, 132)
    assert {row.operator: row.count for row in found.rows} == {"MatMul": 1, "Add": 1, "Relu": 1}
    product = found.rows[0]
    assert (product.operator, product.flops, product.known) == ("MatMul", 2 * 2 * 4 * 8, True)
    assert found.nodes == 3
    assert found.cost == sum(row.cost for row in found.rows)


def test_unknown_operators_and_symbolic_sizes_are_shown():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["length", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["length", 3])
    nodes = [helper.make_node("Hardmax", ["x"], ["h"]), helper.make_node("Abs", ["h"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 18)]
    )
    onnx.checker.check_model(model)
    source = onnx_io.read(model)
    found = inspection.inspect_source(source, Options(cost="flops", sizes={"length": 10}))
    rows = {row.operator: row for row in found.rows}
    assert not rows["Hardmax"].known
    assert rows["Abs"].flops == 30
    assert found.sizes["length"] == 10
    text = report.inspection_text(found, "model.onnx")
    assert "Hardmax (kept as is)" in text
    assert "length=10" in text


@pytest.mark.parametrize("cost", ["flops", "bytes", "launches", "size", "flops + 2*size"])
def test_costs_on_paper(cost):
    found = inspection.inspect_source(onnx_io.read(small_model()), Options(cost=cost))
    assert found.cost_unit == cost
    assert found.cost > 0
    assert all(row.measured == 0 for row in found.rows)
    table = report.inspection_text(found, "m").split("\n\n")[1].splitlines()
    assert table[-1].split()[0] == "all"
    assert len(table) == 5


def test_size_is_a_cost_of_the_first_reader():
    found = inspection.inspect_source(onnx_io.read(small_model()), Options(cost="size"))
    costs = {row.operator: row.cost for row in found.rows}
    assert costs == {"MatMul": 4 * 32, "Add": 4, "Relu": 0}
    assert found.cost == found.parameter_nbytes


def test_latency_is_estimated_where_nothing_was_measured(tmp_path):
    store = tmp_path / "costs.sqlite"
    found = inspection.inspect_source(onnx_io.read(small_model()), Options(store=store))
    assert found.cost_unit == "ns"
    assert found.cost > 0
    assert sum(row.measured for row in found.rows) == 0
