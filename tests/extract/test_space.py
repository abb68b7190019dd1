"""The choices of extraction: what is offered, at which price, within which size."""

import numpy as np
import pytest

from tensaur.extract.groups import GROUPS_PER_ROW
from tensaur.extract.solve import extract
from tensaur.extract.space import used_queries
from tensaur.ir.operator import Absent, Input, Literal, Weight
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Var
from tensaur.ops import (
    Add,
    Conv,
    Exp,
    MatMul,
    Relu,
    add,
    exp,
    matmul,
    mul,
    relu,
    tanh,
    transpose,
)
from tests.extract.oracle import METHODS
from tests.extract.spaces import explored

x, y, z = (Var(name) for name in "xyz")
p = AttrVar("p")
ASSOCIATE = Rule("associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), (), ROUNDING)
DISTRIBUTE = Rule("distribute", exp(add(x, y)), mul(exp(x), exp(y)), (), ROUNDING)
TWICE = Rule("twice", relu(relu(x)), relu(x))
RENAMED = Rule(
    "renamed", relu(x), tanh(x), (), ROUNDING
)  # not true, but no value is looked at here

PRODUCTS = """\
input x: f32[2,64]
weight a: f32[64,64]
weight b: f32[64,64]
xa = MatMul(x, a)
y = MatMul(xa, b)
output y
"""


def test_every_row_is_an_option_of_its_class():
    found = explored("input x: f32[4]\ny = Relu(x)\noutput y\n", RENAMED)
    first, second = found.of_class("y")
    assert (found.ops(first), found.ops(second)) == ("Relu", "Tanh")
    assert first.loaded
    assert not second.loaded
    assert first.children == second.children == (found.cls("x"),)


def test_leaves_cost_nothing_and_have_no_query():
    found = explored("""\
input x: f32[64]
weight w: f32[64]
two = f32[](2.0)
_ = Absent()
m = Mul(x, w)
y = Clip(m, _, two)
output y
""")
    free = {
        type(found.space.operator(option.rows[0])): option.nbytes
        for option in found.space.options
        if option.query < 0
    }
    assert {free[kind] for kind in (Input, Absent)} == {0}
    assert (free[Weight], free[Literal]) == (256, 4)
    assert found.space.loaded_nbytes == 260


def test_new_constants_are_offered_folded_only():
    found = explored(PRODUCTS, ASSOCIATE)
    (made,) = (o for o in found.space.options if not o.rows)
    assert made.nbytes == 64 * 64 * 4
    assert made.query == -1
    assert not made.loaded
    assert [o for o in found.space.options if o.cls == made.cls] == [made], "only folded"
    assert found.ops(found.picked()[found.cls("y")]) == "MatMul"
    assert made.cls in found.picked()


def test_the_original_s_constants_may_stay_unfolded():
    found = explored("""\
input x: f32[512]
weight a: f32[512]
e = Exp(a)
y = Mul(x, e)
output y
""")
    options = found.of_class("e")
    assert sorted(found.ops(option) for option in options) == ["Exp", "folded"]
    assert {option.loaded for option in options} == {True, False}


@pytest.mark.parametrize(("growth", "folds"), [(None, True), (64 * 64 * 4, True), (100, False)])
def test_what_the_file_may_grow_by(growth, folds):
    # The other products keep both weights in use.
    others = "p = Mul(x, a)\nq = Mul(x, b)\noutput y\noutput p\noutput q\n"
    text = PRODUCTS.replace("f32[2,64]", "f32[64,64]").replace("output y\n", others)
    found = explored(text, ASSOCIATE)
    budget = None if growth is None else found.space.loaded_nbytes + growth
    picked = found.picked("flops", budget)
    (product,) = (option for option in found.space.options if not option.rows)
    assert (product.cls in picked) == folds
    size = sum(option.nbytes for option in picked.values())
    assert budget is None or size <= budget


def test_folding_may_take_the_place_of_what_it_is_made_of():
    found = explored(PRODUCTS, ASSOCIATE)
    picked = found.picked("flops", found.space.loaded_nbytes)
    assert sum(option.nbytes for option in picked.values()) == 64 * 64 * 4


def test_what_cannot_be_folded_is_offered_as_it_is():
    # An operator of another domain on constants: known to be constant, but not computable here.
    first = explored(PRODUCTS, ASSOCIATE)
    (folded,) = (o for o in first.space.options if not o.rows)
    second = explored(PRODUCTS, ASSOCIATE, unfoldable=frozenset({folded.cls}))
    made = [o for o in second.space.options if o.cls == folded.cls]
    assert [second.ops(option) for option in made] == ["MatMul"]
    assert not made[0].loaded


def test_new_operators_that_cannot_be_written_are_not_offered():
    text = "input x: f32[4]\ny = Relu(x)\noutput y\n"
    seen = []

    def writes(op, inputs, output):
        seen.append((op, inputs, output))
        return False

    found = explored(text, RENAMED, writes=writes)
    assert [found.ops(option) for option in found.of_class("y")] == ["Relu"]
    ((op, inputs, output),) = seen
    assert type(op).__name__ == "Tanh"
    assert [str(fact.type) for fact in (*inputs, output)] == ["f32[4]", "f32[4]"]


def test_refused_options_are_dropped_unless_they_are_the_original_s():
    found = explored("input x: f32[4]\ny = Relu(x)\noutput y\n", RENAMED)
    prices = np.array(
        [9.0 if query.nodes[1].op == Relu() else 1.0 for query in found.space.queries]
    )
    assert found.ops(found.picked(prices=prices)[found.cls("y")]) == "Tanh"
    everything = np.ones(len(prices), dtype=bool)
    picked = found.picked(prices=prices, refused=everything)
    assert found.ops(picked[found.cls("y")]) == "Relu"


@pytest.mark.parametrize("method", METHODS)
def test_the_original_alone_is_always_feasible(method):
    found = explored(PRODUCTS, ASSOCIATE, fuses=lambda inner, outer: True)
    everything = np.ones(len(found.space.queries), dtype=bool)
    problem = found.space.problem(found.prices(), everything, None, loaded_only=True)
    picked = found.space.picked(problem, extract(problem, method))
    assert all(option.loaded or not option.rows for option in picked.values())
    tight = found.space.problem(found.prices(), everything, found.space.loaded_nbytes)
    assert extract(tight).size <= found.space.loaded_nbytes


def test_the_bias_keeps_what_is_hardly_dearer():
    found = explored("input x: f32[4]\ny = Relu(x)\noutput y\n", RENAMED)
    prices = np.array([100.0 if q.nodes[1].op == Relu() else 99.0 for q in found.space.queries])
    for bias, winner in ((0.0, "Tanh"), (0.02, "Relu")):
        picked = found.picked(prices=prices, bias=bias)
        assert found.ops(picked[found.cls("y")]) == winner


def test_equal_prices_keep_the_original():
    found = explored("input x: f32[4]\ny = Relu(x)\noutput y\n", RENAMED)
    for price in (0.0, 1.0, 1e12):
        picked = found.picked(prices=np.full(len(found.space.queries), price))
        assert found.ops(picked[found.cls("y")]) == "Relu"


def test_of_free_forms_the_shorter_one_wins():
    text = """\
input x: f32[4,6]
a = Transpose{perm=(1, 0)}(x)
y = Transpose{perm=(1, 0)}(a)
output y
"""
    rule = Rule("back", transpose(transpose(x, perm=p), perm=p), x)
    found = explored(text, rule)
    picked = found.picked(prices=np.zeros(len(found.space.queries)))
    assert len(picked) == 2, "x and the root"


def test_a_node_never_outweighs_a_price():
    # Three free nodes instead of one that costs a single unit.
    rule = Rule("longer", relu(x), exp(exp(exp(x))), (), ROUNDING)
    found = explored("input x: f32[4]\ny = Relu(x)\noutput y\n", rule)
    prices = np.array([1.0 if q.nodes[1].op == Relu() else 0.0 for q in found.space.queries])
    picked = found.picked(prices=prices)
    assert found.ops(picked[found.cls("y")]) == "Exp"
    assert found.space.price(picked, prices) == 0


def test_large_prices_are_not_scaled():
    found = explored(PRODUCTS)
    assert found.space.scale(found.prices()) > 1
    assert found.space.scale(np.full(len(found.space.queries), 1e15)) == 1
    problem = found.space.problem(np.full(len(found.space.queries), 1e15), found.none(), None)
    assert int(problem.cost.max()) >= 10**15


def test_the_price_of_a_choice_is_the_sum_of_its_queries():
    found = explored(PRODUCTS)
    picked = found.picked()
    assert used_queries(picked.values()) == [0], "both products are of the same types"
    assert found.space.price(picked, np.array([7.25])) == 14.5


def test_bytes_of_constants_may_cost_too():
    found = explored(PRODUCTS, byte_price=0.5)
    picked = found.picked("launches")
    nbytes = sum(option.nbytes for option in picked.values())
    assert nbytes > 0
    assert found.space.price(picked, found.prices("launches")) == 2 + 0.5 * nbytes


def test_where_bytes_alone_cost_a_folded_constant_has_to_be_smaller():
    for shape, other, folded in (((64, 2), (2, 64), False), ((2, 64), (64, 2), True)):
        a, b = ("f32[" + ",".join(map(str, item)) + "]" for item in (shape, other))
        found = explored(
            f"input x: f32[3,{shape[0]}]\nweight a: {a}\nweight b: {b}\n"
            "p = MatMul(x, a)\ny = MatMul(p, b)\noutput y\n",
            ASSOCIATE,
            byte_price=1,
        )
        picked = found.picked("none")
        assert any(not option.rows for option in picked.values()) == folded


def test_small_fractional_prices_are_told_apart():
    found = explored(PRODUCTS)
    prices = np.array([1e-6] * len(found.space.queries))
    problem = found.space.problem(prices, found.none(), None)
    assert 1e-6 * found.space.scale(prices) > 1000
    assert int(problem.cost.max()) > 1000


def test_the_root_alone_is_a_problem():
    found = explored("input x: f32[4]\noutput x\noutput y = x\n")
    assert found.space.queries == []
    assert found.picked() != {}
    assert found.text() == "input x: f32[4]\noutput x\noutput y = x\n"


# --- fused groups -------------------------------------------------------------------------------------

CHAIN = """\
input x: f32[1,2,4,4]
weight w: f32[4,2,3,3]
weight b: f32[1,4,1,1]
c = Conv{strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1)}(x, w)
s = Add(c, b)
y = Relu(s)
output y
"""


def fuse_chain(inner, outer):
    kinds = tuple(type(op) for op in inner)
    return (kinds, type(outer)) in (((Conv,), Add), ((Conv, Add), Relu))


def test_pairs_and_triples_are_offered():
    found = explored(CHAIN, fuses=fuse_chain)
    groups = [option for option in found.space.options if len(option.rows) > 1]
    assert [found.ops(option) for option in groups] == ["Conv+Add", "Conv+Add+Relu"]
    pair, triple = groups
    assert pair.cls == found.cls("s")
    assert triple.cls == found.cls("y")
    leaves = [found.cls(name) for name in "xwb"]
    assert sorted(pair.children) == sorted(triple.children) == sorted(leaves)
    assert pair.loaded
    assert triple.loaded


def test_a_group_s_query_is_wired_as_the_rows_are():
    found = explored(CHAIN, fuses=fuse_chain)
    (triple,) = (option for option in found.space.options if len(option.rows) == 3)
    query = found.space.queries[triple.query]
    assert [type(node.op) for node in query.nodes if node.inputs] == [Conv, Add, Relu]
    conv, add_, relu_ = (i for i, node in enumerate(query.nodes) if node.inputs)
    assert query.nodes[add_].inputs[0] == conv
    assert query.nodes[relu_].inputs == (add_,)
    assert query.outputs[0].node == relu_
    assert str(query.facts[relu_].type) == "f32[1,4,4,4]"


@pytest.mark.parametrize("side", ["s = Add(c, b)", "s = Add(b, c)"])
def test_the_position_of_the_inner_value_is_kept(side):
    found = explored(CHAIN.replace("s = Add(c, b)", side), fuses=fuse_chain)
    (pair,) = (option for option in found.space.options if len(option.rows) == 2)
    query = found.space.queries[pair.query]
    (place,) = (i for i, node in enumerate(query.nodes) if isinstance(node.op, Add))
    (conv,) = (i for i, node in enumerate(query.nodes) if isinstance(node.op, Conv))
    assert query.nodes[place].inputs.index(conv) == (0 if "(c" in side else 1)


def test_a_cheap_group_is_taken_and_lowered_to_its_operators():
    found = explored(CHAIN, fuses=fuse_chain)
    prices = np.array([10.0 / sum(bool(n.inputs) for n in q.nodes) for q in found.space.queries])
    picked = found.picked(prices=prices)
    assert found.ops(picked[found.cls("y")]) == "Conv+Add+Relu"
    assert found.cls("c") not in picked
    assert found.text(prices=prices) == found.text(), "the same operators, whatever their price"


def test_an_inner_value_that_others_read_is_computed_for_them_too():
    # The group is priced as if nobody else read c; the other reader then pays for c once more.
    found = explored(CHAIN.replace("output y", "output y\noutput c"), fuses=fuse_chain)
    prices = np.array([10.0 / sum(bool(n.inputs) for n in q.nodes) for q in found.space.queries])
    picked = found.picked(prices=prices)
    assert found.ops(picked[found.cls("c")]) == "Conv"
    assert found.ops(picked[found.cls("y")]) == "Conv+Add+Relu"
    graph = found.lowered(prices=prices)
    assert sum(isinstance(node.op, Conv) for node in graph.nodes) == 1, "but is written once"


def test_no_group_with_a_value_used_twice_by_its_consumer():
    text = "input x: f32[4]\na = Exp(x)\ny = Mul(a, a)\nz = Add(a, x)\noutput y\noutput z\n"
    found = explored(text, fuses=lambda inner, outer: isinstance(inner[-1], Exp))
    groups = [option for option in found.space.options if len(option.rows) > 1]
    assert [found.ops(option) for option in groups] == ["Exp+Add"]
    query = found.space.queries[groups[0].query]
    assert len([node for node in query.nodes if not node.inputs]) == 1, "x is read by both rows"


def test_constants_are_no_part_of_groups():
    text = "input x: f32[64]\nweight w: f32[64]\na = Exp(w)\ny = Mul(x, a)\noutput y\n"
    found = explored(text, fuses=lambda inner, outer: True)
    assert all(len(option.rows) < 2 for option in found.space.options)


def test_groups_do_not_close_cycles():
    # x and relu(x) are one class after the rule: no group may be made of a class and itself.
    rule = Rule("nothing", relu(x), x)
    found = explored(
        "input x: f32[4]\na = Relu(x)\ny = Exp(a)\noutput y\n", rule, fuses=lambda i, o: True
    )
    for option in found.space.options:
        assert option.cls not in option.children or not len(option.rows) > 1
    assert "Relu" not in found.text()


def test_groups_per_row_are_few():
    names = ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Neg", "Relu", "Sigmoid", "Sign", "Sin")
    text = "input x: f32[4]\n" + "".join(f"a{i} = {op}(x)\n" for i, op in enumerate(names))
    every = ", ".join(f"a{i}" for i in range(len(names)))
    found = explored(f"{text}y = Sum({every})\noutput y\n", fuses=lambda inner, outer: True)
    pairs = [option for option in found.space.options if len(option.rows) == 2]
    assert len(pairs) == GROUPS_PER_ROW < len(names)


# --- small things -------------------------------------------------------------------------------------


def test_the_first_name_of_a_class_is_kept():
    found = explored("input x: f32[4]\na = Relu(x)\ny = Relu(a)\noutput y\n", TWICE)
    assert found.space.names[found.cls("y")] == "a"
    assert found.space.names[found.cls("x")] == "x"


def test_dimensions_known_to_the_e_graph_alone_do_not_make_bad_queries():
    # The declared result says more than inference can: the group then has no price, and is left out.
    found = explored(
        "input x: f32[?a,4]\ninput s: i64[2]\nr = Reshape(x, s)\ny = Relu(r)\noutput y\n",
        fuses=lambda inner, outer: True,
    )
    assert all(query.facts for query in found.space.queries)


def test_queries_of_weights_do_not_depend_on_their_names():
    text = """\
input x: f32[2,64]
weight a: f32[64,64]
weight b: f32[64,64]
p = MatMul(x, a)
q = MatMul(x, b)
y = Sub(p, q)
output y
"""
    found = explored(text)
    products = [o for o in found.space.options if found.ops(o) == "MatMul"]
    assert products[0].query == products[1].query
    query = found.space.queries[products[0].query]
    assert [type(node.op) for node in query.nodes] == [Input, Weight, MatMul]
