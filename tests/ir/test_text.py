"""The text form: what is printed parses to what was printed, and faults are named with their line."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensaur import ops, rules
from tensaur.errors import ParseError
from tensaur.ir.dims import dim_max, dim_min, floordiv, symbol
from tensaur.ir.graph import Graph, Node, Output
from tensaur.ir.notation import (
    Tokens,
    attribute_text,
    dim_text,
    known_text,
    parse_attribute,
    parse_dim,
    parse_known,
    parse_type,
    type_text,
)
from tensaur.ir.operator import Absent, Input, Literal, Opaque, Project, Weight
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Choose,
    Const,
    Derived,
    Each,
    Elem,
    Index,
    OpVar,
    Pick,
    Seq,
    Tree,
    Var,
    subterms,
)
from tensaur.ir.text import (
    graph_text,
    operator_text,
    parse_graph,
    parse_term,
    parse_tree,
    term_text,
    tree_text,
)
from tensaur.ir.types import DType, Known, OtherType, TensorType, TupleType
from tests.ops.draws import draw

SMALL = """\
input x: f32[N,4]
weight w: f32[4,6]
two = f32[](2.0)
%3 = MatMul(x, w)
h as "a b" = Add(%3, two)
_ = Absent()
c = Clip(h, _, two)
s = Split{axis=-1, sizes=(2, 4)}(c)
y = s[0]
output y
output "odd name" = x
"""

names = st.one_of(
    st.text('abx_./%:? -"\\#$\n', min_size=1, max_size=4),
    st.sampled_from(
        ["f32", "input", "output", "as", "max", "inf", "nan.x", "true", "%1", "_", "é"]
    ),
)
numbers = st.integers(-3, 9)


def dims():
    atoms = st.one_of(numbers, names.filter(lambda n: n != "?").map(symbol))
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
            st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
            st.tuples(inner, inner).map(lambda p: dim_max(*p)),
            st.tuples(inner, inner).map(lambda p: dim_min(*p)),
            st.tuples(inner, st.integers(1, 5)).map(lambda p: floordiv(*p)),
            inner.map(lambda d: d * -1),
        ),
        max_leaves=5,
    )


dtypes = st.sampled_from(list(DType))
tensor_types = st.builds(
    TensorType, dtypes, st.one_of(st.none(), st.lists(dims(), max_size=3).map(tuple))
)
types = st.recursive(
    st.one_of(tensor_types, st.builds(OtherType, st.text(max_size=5))),
    lambda inner: st.lists(inner, max_size=3).map(lambda items: TupleType(tuple(items))),
    max_leaves=4,
)


@st.composite
def constants(draw_from):
    dtype = draw_from(dtypes.filter(lambda d: d is not DType.STRING))
    shape = tuple(draw_from(st.lists(st.integers(0, 3), max_size=2)))
    size = int(np.prod(shape, dtype=int)) * dtype.numpy.itemsize
    raw = draw_from(st.binary(min_size=size, max_size=size))
    if dtype is DType.BOOL:
        raw = bytes(item & 1 for item in raw)
    return Known(dtype, shape, raw)


symbolic = st.lists(dims(), min_size=1, max_size=4).map(Known.of_dims)
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5),
        st.binary(max_size=4), dtypes, types, constants(), symbolic,
        dims().filter(lambda d: not isinstance(d, int)),
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)  # fmt: skip


def parsed(parse, text):
    tokens = Tokens(text)
    result = parse(tokens)
    tokens.end()
    return result


@given(dims())
def test_dimensions(dim):
    assert parsed(parse_dim, dim_text(dim)) == dim


@given(types)
def test_types(kind):
    assert parsed(parse_type, type_text(kind)) == kind


@given(constants() | symbolic)
def test_constants_to_the_bit(value):
    assert parsed(parse_known, known_text(value)) == value


@given(values)
def test_attributes(value):
    assert repr(parsed(parse_attribute, attribute_text(value))) == repr(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Known.of(np.float32(0.1)), "f32[](0.1)"),
        (Known.of(np.array([1, -2])), "i64[2](1, -2)"),
        (Known.of(np.array([-0.0, np.inf, -np.inf])), "f64[3](-0.0, inf, -inf)"),
        (Known.of(np.array([True, False])), "bool[2](true, false)"),
        (Known.of(1.5, DType.BFLOAT16), "bf16[](1.5)"),
        (Known.of(1e-7, DType.FLOAT16), "f16[](1e-07)"),
        (Known(DType.FLOAT32, (), b"\x01\x00\xc0\x7f"), "f32[](0x0100c07f)"),
        (Known.of_dims([symbol("N"), 3]), "i64[2](dim(N), 3)"),
    ],
)
def test_constants_read_well(value, text):
    assert known_text(value).replace("dim(3)", "3") == text
    assert parsed(parse_known, text) == value


def test_attributes_without_a_text_form():
    with pytest.raises(TypeError):
        attribute_text({"a": 1})


def test_a_small_graph():
    graph = parse_graph(SMALL, ops.OPERATORS)
    assert [node.name for node in graph] == ["x", "w", "two", "", "a b", "", "c", "s", "y"]
    assert graph_text(graph) == SMALL.replace('h as "a b"', '"a b"').replace("(h,", '("a b",')
    assert graph.nodes[7].op == ops.Split(-1, (2, 4))
    assert graph.nodes[8] == Node(Project(0), (7,), "y")
    assert graph.nodes[6].inputs == (4, 5, 2)
    assert graph.outputs == (Output("y", 8), Output("odd name", 0))
    assert graph.facts[8].type == TensorType(DType.FLOAT32, (symbol("N"), 2))


def test_comments_and_empty_lines_are_skipped():
    text = SMALL.replace("output y", "\n  # the result\noutput y  # here")
    assert parse_graph(text, ops.OPERATORS) == parse_graph(SMALL, ops.OPERATORS)


def test_constants_come_from_the_caller():
    data = object()
    graph = parse_graph(SMALL, ops.OPERATORS, {"w": data})
    assert graph.constants == {"w": data}


@st.composite
def graphs(draw_from):
    """Draw any graph, well typed or not."""
    leaves = st.one_of(
        st.builds(Input, names, types),
        st.builds(Weight, names, tensor_types),
        constants().map(Literal),
        st.just(Absent()),
    )
    unary = st.one_of(
        st.just(ops.Relu()),
        st.builds(Project, st.integers(0, 3)),
        st.builds(ops.Transpose, st.lists(numbers, max_size=3).map(tuple)),
        st.builds(ops.LeakyRelu, st.floats(allow_nan=False)),
        st.builds(ops.Cast, dtypes),
        st.builds(ops.ReduceSum, st.none() | st.lists(numbers, max_size=2).map(tuple), st.booleans()),
        st.builds(
            Opaque, st.text(max_size=3), st.text(max_size=3), st.just(""),
            st.lists(st.tuples(st.text(max_size=2), st.binary(max_size=3)), max_size=2).map(tuple),
            st.lists(types, max_size=2).map(tuple), st.just(1),
            st.lists(st.text(max_size=2), max_size=2).map(tuple), st.text(max_size=2),
        ),
    )  # fmt: skip
    hints = st.just("") | names
    nodes = [
        Node(draw_from(leaves), (), draw_from(hints)) for _ in range(draw_from(st.integers(1, 4)))
    ]
    for leaf, node in enumerate(nodes):
        if isinstance(node.op, (Input, Weight)) and draw_from(st.booleans()):
            nodes[leaf] = node._replace(name=node.op.name)
    for _ in range(draw_from(st.integers(0, 4))):
        op = draw_from(unary | st.just(ops.Add()))
        count = 2 if isinstance(op, ops.Add) else 1
        places = st.integers(0, len(nodes) - 1)
        inputs = draw_from(st.lists(places, min_size=count, max_size=count))
        nodes.append(Node(op, tuple(inputs), draw_from(hints)))
    outputs = st.builds(Output, names, st.integers(0, len(nodes) - 1))
    return Graph(tuple(nodes), tuple(draw_from(st.lists(outputs, max_size=3))))


@given(graphs())
def test_graphs(graph):
    assert parse_graph(graph_text(graph), ops.OPERATORS) == graph


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_operators(cls):
    for seed in range(5):
        wanted = (DType.FLOAT32, DType.BOOL, DType.INT64)
        case = next(c for dtype in wanted if (c := draw(cls, Random(seed), dtype)))
        names_of = tuple(Var(f"v{i}") for i in range(len(case.inputs)))
        tree = Tree(case.op, names_of)
        assert parse_tree(tree_text(tree), ops.OPERATORS) == tree


def test_defaults_are_left_out():
    assert operator_text(ops.Relu()) == "Relu"
    assert operator_text(ops.Transpose((1, 0))) == "Transpose{perm=(1, 0)}"
    assert operator_text(ops.Shape(0, -1)) == "Shape{end=-1}"


def test_trees_with_constants():
    x = Var("x")
    tree = Tree(ops.Add(), (Tree(Literal(Known.of(np.float32(2))), ()), Tree(ops.Relu(), (x,))))
    assert tree_text(tree) == "Add(f32[](2.0), Relu(x))"
    assert parse_tree(tree_text(tree), ops.OPERATORS) == tree
    assert parse_tree("x", ops.OPERATORS) == x


def compose(p, q):
    """Stand for a derived value."""
    return (p, q)


X, Y, XS, P = Var("x"), Var("y"), Seq("xs"), AttrVar("p")
DERIVED = Derived(compose, (P, X))
TERMS = {
    "x": X,
    'var("odd name")': Var("odd name"),
    'var("f32")': Var("f32"),
    "Relu(x)": ops.relu(X),
    "Transpose{perm=$p}(x)": ops.transpose(X, perm=P),
    "Transpose{perm=(1, 0)}(x)": ops.transpose(X, perm=(1, 0)),
    "Transpose{perm=@compose($p, x)}(x)": ops.transpose(X, perm=DERIVED),
    "Split{axis=0, sizes=(@compose($p, x), 2)}(x)": ops.split(X, axis=0, sizes=(DERIVED, 2)),
    "Concat{axis=$p}(*xs)": ops.concat(XS, axis=P),
    "Concat{axis=0}(*(Relu(~xs) for xs))": ops.concat(Each(XS, ops.relu(Elem(XS))), axis=0),
    "xs[0]": Pick(XS, 0),
    "xs[@compose(^xs, *xs)]": Pick(XS, Derived(compose, (Index(XS), XS))),
    "const(f32[](2.0))": Const(Known.of(np.float32(2))),
    "const(@compose($p, x))": Const(DERIVED),
    "choose(@compose($p, x); x, Relu(y))": Choose(DERIVED, (X, ops.relu(Y))),
    "?f<Relu, Tanh>(x)": OpVar("f", (ops.Relu, ops.Tanh))(X),
    '@compose(?f<Relu>, "text")': Derived(compose, (OpVar("f", (ops.Relu,)), "text")),
    "@compose(none, f32)": Derived(compose, (None, DType.FLOAT32)),
    "@compose(Relu(x), -1)": Derived(compose, (ops.relu(X), -1)),
}


@pytest.mark.parametrize("text", TERMS)
def test_terms(text):
    term = TERMS[text]
    assert term_text(term) == text
    assert parse_term(text, ops.OPERATORS, [compose]) == term


@pytest.mark.parametrize("rule", rules.ALL_RULES, ids=lambda rule: rule.name)
def test_every_rule_can_be_printed_and_parsed(rule):
    for term in (*rule.finds, *rule.makes, *rule.when):
        functions = {item.function for item in subterms(term) if isinstance(item, Derived)}
        assert parse_term(term_text(term), ops.OPERATORS, functions) == term


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input x", "line 1: expected ':', found the end"),
        ("\ninput x: f33[2]", "line 2: expected a type, found 'f33'"),
        ("input x: f32[2] 3", "line 1: expected the end of the line, found '3'"),
        ("y = Relu(x)", "line 1: no value is called 'x' up to here"),
        ("input x: f32[2]\ny = Reluu(x)", "line 2: no operator is called 'Reluu'"),
        ("input x: f32[2]\ny = Relu(x, x)", "line 2: Relu cannot have 2 inputs"),
        ("input x: f32[2]\ninput x: f32[2]", "line 2: value 'x' is defined twice"),
        ("input x: f32[2]\ny = Relu{a=1}(x)", "line 2: .*unexpected keyword argument 'a'"),
        ("input x: f32[2]\ny = Relu(x", "line 2: expected ',', found the end"),
        ("output y", "line 1: no value is called 'y'"),
        ("c = f32[2](1.0)", "line 1: 1 elements for f32\\[2\\]"),
        ("c = i64[1](1.5)", "line 1: 1.5 is no i64"),
        ("c = u8[1](300)", "line 1: 300 is no u8"),
        ("c = f32[N](1.0)", "line 1: 1 elements for f32\\[N\\]"),
        ("input x: f32[1.5]", "line 1: expected an integer, found '1.5'"),
        ("!", "line 1: unexpected '!'"),
        ("y =", "line 1: expected a name, found the end"),
    ],
)
def test_faults_are_named_with_their_line(text, message):
    with pytest.raises(ParseError, match=message):
        parse_graph(text, ops.OPERATORS)


@pytest.mark.parametrize(
    "text",
    ["", "Relu(3)", "@none(x)", "const(x)", "choose(x; y)", "xs[y]", "Relu(x))", "Foo{a=1}(x)"],
)
def test_terms_that_are_none(text):
    with pytest.raises(ParseError):
        parse_term(text, ops.OPERATORS)


@given(st.text("xyRelu(){}[]<>=*~^@$?;:, \"'0123456789.-f%_#\n", max_size=30))
def test_any_text_parses_or_is_refused(text):
    for parse in (parse_graph, parse_term, parse_tree):
        try:
            parse(text, ops.OPERATORS)
        except ParseError as error:
            assert str(error).startswith("line ")


def test_apply_is_hashable_after_parsing():
    term = parse_term("Relu(x)", ops.OPERATORS)
    assert isinstance(term, Apply)
    assert {term: 1}[ops.relu(X)] == 1
