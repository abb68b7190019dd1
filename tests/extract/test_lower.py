"""From choices back to a graph: the interface, names, constants, several outputs."""

import numpy as np
import pytest

from tensaur.egraph.egraph import EGraph
from tensaur.errors import FoldingFailure
from tensaur.extract.lower import lower
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import ArrayData, GraphBuilder, Output
from tensaur.ir.operator import Input, Opaque, Project, Weight
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ir.text import graph_text
from tensaur.ir.types import DType, TensorType
from tensaur.ops import Neg, Split, exp, matmul, relu
from tests.extract.spaces import explored, literals, never


def space_of(graph, unfoldable=frozenset()):
    """Return the choices of a graph without any rule."""
    egraph = EGraph()
    return Space(egraph, egraph.load(graph), graph.constants, never, unfoldable=unfoldable)


def chosen(space):
    """Return the options of the cheapest graph, where whatever runs costs the same."""
    count = len(space.queries)
    problem = space.problem(np.ones(count), np.zeros(count, dtype=bool), None)
    return space.picked(problem, extract(problem))


x, y, z = (Var(name) for name in "xyz")
ASSOCIATE = Rule("associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), (), ROUNDING)

SAME = {
    "one-operator": "input x: f32[4]\ny = Relu(x)\noutput y\n",
    "output-of-another-name": "input x: f32[4]\nr = Relu(x)\noutput y = r\n",
    "unused-input": "input x: f32[4]\ninput idle: i64[N]\ny = Relu(x)\noutput y\n",
    "inputs-in-order": (
        "input b: f32[4]\ninput a: f32[4]\nr = Relu(a)\ns = Sub(r, b)\noutput s\n"
    ),
    "output-is-an-input": "input x: f32[4]\noutput y = x\noutput x\n",
    "one-value-for-two-outputs": (
        "input x: f32[4]\nr = Relu(x)\noutput y = r\noutput z = r\n"
    ),
    "inner-value-as-output": (
        "input x: f32[4]\nr = Relu(x)\ne = Exp(r)\noutput e\noutput r\n"
    ),
    "output-is-a-literal": "input x: f32[4]\none = f32[1](1.0)\noutput one\noutput x\n",
    "output-is-a-weight": "input x: f32[4]\nweight w: f32[64]\noutput w\noutput x\n",
    "several-outputs": (
        "input x: f32[6]\ns = Split{axis=0, sizes=(2, 4)}(x)\n"
        "b = s[1]\na = s[0]\noutput a\noutput b\n"
    ),
    "one-of-several-outputs": (
        "input x: f32[6]\ns = Split{axis=0, sizes=(2, 4)}(x)\nb = s[1]\noutput b\n"
    ),
    "symbolic": "input x: f32[N,4]\nweight w: f32[4,8]\ny = MatMul(x, w)\noutput y\n",
    "absent-input": (
        "input x: f32[4]\n_ = Absent()\ntwo = f32[](2.0)\ny = Clip(x, _, two)\noutput y\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_without_rules_the_graph_is_what_it_was(name):
    found = explored(SAME[name])
    before, after = found.graph, found.lowered()
    assert set(graph_text(after).splitlines()) == set(graph_text(before).splitlines())
    assert after.outputs[0].name == before.outputs[0].name
    assert [o.name for o in after.outputs] == [o.name for o in before.outputs]
    assert after.inputs == before.inputs
    for key, data in after.constants.items():
        assert data is before.constants[key]


def test_constants_are_folded_to_literals_or_weights():
    found = explored("""\
input x: f32[64]
weight a: f32[64]
two = f32[](2.0)
four = Mul(two, two)
b = Neg(a)
s = Mul(x, four)
y = Add(s, b)
output y
""")
    graph = found.lowered()
    assert literals(graph) == [4.0]
    assert graph_text(graph).count("weight") == 1
    assert np.array_equal(graph.constants["b"].numpy(), -found.graph.constants["a"].array)
    assert "a" not in graph.constants


def test_names_of_folded_constants_are_free():
    # The new product has no name of its own, and "folded" is taken.
    found = explored(
        """\
input x: f32[2,8]
weight folded: f32[8,8]
weight folded_1: f32[8,8]
xa = MatMul(x, folded)
y = MatMul(xa, folded_1)
z = MatMul(x, folded_1)
output y
output z
""",
        ASSOCIATE,
    )
    graph = found.lowered(budget=None)
    names = [node.op.name for node in graph.nodes if isinstance(node.op, Weight)]
    assert sorted(names) == ["folded_1", "folded_2"]
    a, b = (found.graph.constants[name].array for name in ("folded", "folded_1"))
    assert np.allclose(graph.constants["folded_2"].numpy(), a @ b, rtol=1e-5)


def test_a_new_form_keeps_the_name_of_the_value():
    found = explored(
        "input x: f32[4]\nr = Relu(x)\ny = Abs(r)\noutput y\n", Rule("other", relu(x), exp(x))
    )
    prices = np.array(
        [9.0 if "Relu" in str(query.nodes[1].op) else 1.0 for query in found.space.queries]
    )
    assert found.text(prices=prices) == ("input x: f32[4]\nr = Exp(x)\ny = Abs(r)\noutput y\n")


def test_operators_of_several_outputs_and_captured_values():
    builder = GraphBuilder()
    kind = TensorType(DType.FLOAT32, (4,))
    a = builder.add(Input("a", kind), (), "a")
    b = builder.add(Input("b", kind), (), "b")
    n = builder.add(Neg(), [b], "n")
    # An If whose body reads the outer value n: its captured names follow its formal inputs.
    opaque = Opaque("", "If", "", (("then_branch", b"..."),), (kind, kind), 1, ("n",))
    both = builder.add(opaque, [a, n])
    ends = [builder.add(Project(i), [both], f"p{i}") for i in range(2)]
    graph = builder.build([Output("p0", ends[0]), Output("p1", ends[1])])
    space = space_of(graph)
    after = lower(space, chosen(space), graph)
    (kept,) = (node for node in after.nodes if isinstance(node.op, Opaque))
    assert kept.op == opaque
    assert [after.nodes[item].name for item in kept.inputs] == ["a", "n"]
    assert [after.nodes[output.node].op for output in after.outputs] == [Project(0), Project(1)]


def test_a_failure_to_fold_is_raised():
    class Broken(Neg):
        def evaluate(self, *inputs):
            raise ValueError("no")

    builder = GraphBuilder()
    builder.constants["w"] = ArrayData(np.ones(64, np.float32))
    w = builder.add(Weight("w", TensorType(DType.FLOAT32, (64,))), (), "w")
    graph = builder.build([Output("y", builder.add(Broken(), [w]))])
    space = space_of(graph)
    with pytest.raises(FoldingFailure, match="folding Broken: no"):
        lower(space, chosen(space), graph)
    again = space_of(graph, space.folder.failed)
    assert len(lower(again, chosen(again), graph)) == 2, "computed at run time instead"


def test_deep_graphs_need_no_deep_stack():
    length = 3000
    text = "input x: f32[4]\n" + "".join(
        f"a{i} = {'Exp' if i % 2 else 'Neg'}({f'a{i - 1}' if i else 'x'})\n" for i in range(length)
    )
    found = explored(f"{text}output y = a{length - 1}\n")
    assert len(found.lowered()) == length + 1


def test_shared_values_are_written_once():
    found = explored(
        "input x: f32[4]\nr = Relu(x)\na = Exp(r)\nb = Neg(r)\ny = Add(a, b)\noutput y\n"
    )
    assert found.text().count("Relu") == 1


def test_splits_keep_their_operator():
    found = explored(SAME["one-of-several-outputs"])
    (split,) = (node for node in found.lowered().nodes if isinstance(node.op, Split))
    assert split.op.sizes == (2, 4)
