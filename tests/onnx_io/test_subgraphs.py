"""Operators with subgraph bodies: what the bodies take from outside follows the values it names."""

import numpy as np
import onnx
import pytest

from tensaur.ir.graph import Graph, Output
from tensaur.ir.operator import Opaque
from tensaur.onnx_io import read, write
from tensaur.onnx_io.scopes import captured_names, rename_free
from tensaur.ops import Add
from tests.onnx_io.models import (
    BOOL,
    FLOAT,
    INT64,
    body,
    const,
    floats,
    model,
    node,
    operators,
    round_trip,
    run,
    same,
    value,
)


def branches(then, other, inputs="c", output="y"):
    return node("If", inputs, output, then_branch=then, else_branch=other)


def vector(name):
    return value(name, FLOAT, [2])


def simple(op_type, inputs, output="t", constants=()):
    return body([node(op_type, inputs, output)], [], [vector(output)], constants)


def if_model(then, other, before=(), after=(), constants=(), outputs=("y",)):
    return model(
        [*before, branches(then, other), *after],
        [value("c", BOOL, []), vector("x")],
        [vector(name) for name in outputs],
        constants,
    )


def check_both(proto, result=None):
    result = round_trip(proto) if result is None else result
    for c in (True, False):
        feeds = {"c": np.array(c), "x": floats(2, seed=3)}
        assert same(run(proto, **feeds), run(result, **feeds))
    return result


def test_captured_values_become_inputs():
    proto = if_model(
        simple("Add", "h x"),
        simple("Sub", "h k"),
        [node("Relu", "x", "h")],
        [],
        [const("k", floats(2))],
    )
    source = read(proto)
    (opaque,) = (item for item in source.graph if isinstance(item.op, Opaque))
    assert opaque.op.formal == 1
    assert sorted(opaque.op.captured) == ["h", "k", "x"]
    assert len(opaque.inputs) == 4
    assert opaque.op.unique
    check_both(proto)


def test_bodies_follow_removed_identities():
    proto = if_model(
        simple("Add", "a1 x"),
        simple("Sub", "a2 x", "e"),
        [node("Identity", "k1", "a1"), node("Identity", "k2", "a2")],
        [],
        [const("k1", floats(2)), const("k2", floats(2, seed=1))],
    )
    assert operators(check_both(proto)) == ["If"]


def test_bodies_follow_renamed_values():
    proto = if_model(simple("Add", "h x"), simple("Sub", "h x"), [node("Relu", "x", "h")])
    source = read(proto)
    nodes = tuple(item._replace(name="") if item.name == "h" else item for item in source.graph)
    result = write(Graph(nodes, source.graph.outputs), source)
    assert "h" not in [item.output[0] for item in result.graph.node]
    check_both(proto, result)


def test_a_body_may_define_what_is_defined_outside_later():
    then = body([node("Relu", "x", "h"), node("Neg", "h", "t")], [], [vector("t")])
    after = [node("Exp", "y", "h"), node("Add", "h y", "z")]
    proto = if_model(then, simple("Neg", "x", "e"), [], after, outputs=("z",))
    (conditional,) = (item for item in proto.graph.node if item.op_type == "If")
    assert captured_names(conditional) == ("x",)
    check_both(proto)


def test_a_local_name_is_renamed_if_the_outer_value_comes_first():
    then = body([node("Relu", "x", "h"), node("Neg", "h", "t")], [], [vector("t")])
    after = [node("Exp", "x", "h"), node("Add", "h y", "z")]
    proto = if_model(then, simple("Neg", "x", "e"), [], after, outputs=("z",))
    source = read(proto)
    c, x, conditional, exp, add = source.graph.nodes
    nodes = (c, x, exp, conditional, add._replace(inputs=(2, 3)))
    result = write(Graph(nodes, source.graph.outputs), source)
    onnx.checker.check_model(result)
    check_both(proto, result)


def test_a_local_name_does_not_capture_a_renamed_value():
    then = body([node("Relu", "x", "k"), node("Add", "k a", "t")], [], [vector("t")])
    after = [node("Neg", "y", "k"), node("Add", "k y", "z")]
    proto = if_model(then, simple("Sub", "a x"), [node("Exp", "x", "a")], after, outputs=("z",))
    source = read(proto)
    nodes = tuple(item._replace(name="k") if item.name == "a" else item for item in source.graph)
    result = write(Graph(nodes, source.graph.outputs), source)
    onnx.checker.check_model(result)
    check_both(proto, result)


def test_a_value_used_before_it_is_shadowed_is_captured():
    nodes = [node("Neg", "h", "g"), node("Relu", "g", "h"), node("Neg", "h", "t")]
    then = body(nodes, [], [vector("t")])
    assert set(captured_names(branches(then, simple("Neg", "x")))) == {"h", "x"}
    rename_free(then, {"h": "g"}, {"g"}, lambda name: f"{name}_fresh")
    assert [list(item.input) + list(item.output) for item in then.node] == [
        ["g", "g_fresh"], ["g_fresh", "h"], ["h", "t"],
    ]  # fmt: skip


def test_bodies_in_bodies():
    inner = branches(simple("Add", "h k", "u"), simple("Neg", "w", "u"), output="t")
    then = body([node("Exp", "x", "w"), inner], [], [vector("t")])
    proto = if_model(
        then,
        simple("Sub", "h x", "e"),
        [node("Identity", "x", "h"), node("Identity", "q", "k")],
        [],
        [const("q", floats(2))],
    )
    (conditional,) = (item for item in proto.graph.node if item.op_type == "If")
    assert set(captured_names(conditional)) == {"x", "c", "h", "k"}
    check_both(proto)


def test_a_body_may_return_its_own_constants():
    then = body(
        [node("Identity", "own", "t")], [], [vector("t")], [const("own", floats(2, seed=9))]
    )
    check_both(if_model(then, simple("Neg", "x", "e")))


def test_weights_that_only_bodies_use_are_written():
    weight = const("w", floats(2, 40))
    then = body([node("MatMul", "x w", "m"), node("ReduceMax", "m", "r", keepdims=0), node("Add", "x r", "t")],
                [], [vector("t")])  # fmt: skip
    result = check_both(if_model(then, simple("Neg", "x", "e"), constants=[weight]))
    assert [tensor.name for tensor in result.graph.initializer] == ["w"]


def test_loop():
    loop = body(
        [
            node("Add", "state k", "next"),
            node("Identity", "next", "scan"),
            node("Identity", "going", "go"),
        ],
        [value("i", INT64, []), value("going", BOOL, []), vector("state")],
        [value("go", BOOL, []), vector("next"), vector("scan")],
    )
    proto = model(
        [
            node("Relu", "x", "h"),
            node("Identity", "h", "k"),
            node("Loop", "n c h", "last all", body=loop),
        ],
        [value("n", INT64, []), value("c", BOOL, []), vector("x")],
        [vector("last"), value("all", FLOAT, [None, 2])],
    )
    result = round_trip(proto)
    assert operators(result) == ["Relu", "Loop"]
    feeds = {"n": np.array(3), "c": np.array(True), "x": floats(2)}
    assert same(run(proto, **feeds), run(result, **feeds))


def test_scan():
    scan = body(
        [node("Add", "s xi", "so"), node("Mul", "so two", "yo")],
        [value("s", FLOAT, [3]), value("xi", FLOAT, [3])],
        [value("so", FLOAT, [3]), value("yo", FLOAT, [3])],
    )
    proto = model(
        [node("Scan", "z x", "last ys", body=scan, num_scan_inputs=1)],
        [value("x", FLOAT, [5, 3])],
        [value("last", FLOAT, [3]), value("ys", FLOAT, [5, 3])],
        [const("z", np.zeros(3), np.float32), const("two", 2, np.float32)],
    )
    result = round_trip(proto)
    assert same(run(proto, x=floats(5, 3)), run(result, x=floats(5, 3)))


@pytest.mark.parametrize("name", ["t", "u"])
def test_fresh_names_avoid_those_inside_bodies(name):
    proto = if_model(
        simple("Add", "h x", f"{name}_1"), simple("Sub", "h x", "e"), [node("Relu", "x", "h")]
    )
    source = read(proto)
    nodes = list(source.graph.nodes)
    position = next(i for i, item in enumerate(nodes) if item.name == "h")
    nodes[position] = nodes[position]._replace(name=name)
    nodes[-1] = nodes[-1]._replace(name=name)
    double = nodes[-1]._replace(op=Add(), inputs=(position, len(nodes) - 1), name=name)
    result = write(Graph((*nodes, double), (Output("y", len(nodes)),)), source)
    inner = {
        item.name for a in result.graph.node[1].attribute for item in (*a.g.input, *a.g.output)
    }
    outer = [item.output[0] for item in result.graph.node]
    assert len(set(outer)) == 3
    assert not inner & set(outer) - {"y"}
