"""Adding, joining, rebuilding, class data and provenance, against the naive e-graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.unions import CONGRUENCE, FOLDED, LOADED
from tensaur.errors import TypeMismatch, UnsoundRule
from tensaur.ir.dims import symbol
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Literal, Root
from tensaur.ir.term import Tree
from tensaur.ir.types import Known
from tests.egraph.naive import NaiveEGraph
from tests.egraph.toy import (
    Add,
    Concat,
    MatMul,
    Mul,
    Neg,
    Relu,
    Scale,
    Transpose,
    Wide,
    leaf,
    scalar,
    weight,
)

UNARY = [Neg(), Relu(), Scale(1), Scale(2)]
BINARY = [Add(), Mul()]

operations = st.lists(
    st.one_of(
        st.tuples(st.just("leaf"), st.integers(0, 4)),
        st.tuples(st.just("unary"), st.sampled_from(UNARY), st.integers(0, 99)),
        st.tuples(
            st.just("binary"), st.sampled_from(BINARY), st.integers(0, 99), st.integers(0, 99)
        ),
        st.tuples(st.just("wide"), st.lists(st.integers(0, 99), min_size=1, max_size=6)),
        st.tuples(st.just("union"), st.integers(0, 99), st.integers(0, 99)),
        st.tuples(st.just("batch"), st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)))),
        st.tuples(st.just("rebuild")),
    ),
    max_size=60,
)


class Both:
    """The real and the naive e-graph side by side; classes are numbered by when they were added."""

    def __init__(self):
        self.real, self.naive = EGraph(), NaiveEGraph()
        self.classes: list[tuple[int, int]] = []

    def add(self, op, *children):
        if len(self.classes) == 0 and children:
            return
        kids = [self.classes[child % len(self.classes)] for child in children]
        real = self.real.add(op, [kid[0] for kid in kids])
        self.classes.append((real, self.naive.add(op, tuple(kid[1] for kid in kids))))

    def union(self, pairs):
        if self.classes:
            chosen = [
                (self.classes[a % len(self.classes)], self.classes[b % len(self.classes)])
                for a, b in pairs
            ]
            for a, b in chosen:
                self.naive.union(a[1], b[1])
            if len(chosen) == 1:
                self.real.union(chosen[0][0][0], chosen[0][1][0])
            else:
                first, second = (
                    np.array([pair[side][0] for pair in chosen], np.int64) for side in (0, 1)
                )
                self.real.union_many(first, second, np.full(len(chosen), LOADED))

    def rebuild(self):
        self.real.rebuild()
        self.naive.rebuild()

    def check(self):
        self.real.check_invariants()
        count = len(self.classes)
        for i in range(count):
            for j in range(i):
                (a, c), (b, d) = self.classes[i], self.classes[j]
                assert (self.real.find(a) == self.real.find(b)) == (
                    self.naive.find(c) == self.naive.find(d)
                )
        assert self.real.node_count == len(self.naive.canonical_nodes())


@given(operations)
def test_any_operations_give_the_partition_of_the_naive_egraph(steps):
    both = Both()
    for kind, *arguments in steps:
        if kind == "leaf":
            both.add(leaf(f"x{arguments[0]}", 2))
        elif kind in ("unary", "binary"):
            both.add(*arguments)
        elif kind == "wide":
            both.add(Wide(), *arguments[0])
        elif kind == "union":
            both.union([arguments])
        elif kind == "batch":
            both.union(arguments[0])
        else:
            both.rebuild()
    both.rebuild()
    both.check()


def test_equal_nodes_are_one():
    egraph = EGraph()
    x = egraph.add(leaf("x", 2))
    assert egraph.add(Neg(), [x]) == egraph.add(Neg(), [x])
    assert egraph.add(Neg(), [x]) != egraph.add(Relu(), [x])
    assert egraph.node_count == 3


def test_attributes_of_other_types_are_other_operators():
    egraph = EGraph()
    x = egraph.add(leaf("x", 2))
    assert egraph.add(Scale(1), [x]) != egraph.add(Scale(2), [x])


def test_ill_typed_nodes_are_refused_and_leave_nothing():
    egraph = EGraph()
    x = egraph.add(leaf("x", 2, 3))
    with pytest.raises(TypeMismatch, match="matmul"):
        egraph.add(MatMul(), [x, x])
    assert egraph.node_count == 1
    egraph.check_invariants()


def test_congruence_goes_up_through_many_levels():
    egraph = EGraph()
    tops = [egraph.add(leaf("x", 2)), egraph.add(leaf("y", 2))]
    pairs = [tuple(tops)]
    for _ in range(50):
        tops = [egraph.add(Neg(), [top]) for top in tops]
        pairs.append(tuple(tops))
    egraph.union(*pairs[0])
    egraph.rebuild()
    assert all(egraph.find(a) == egraph.find(b) for a, b in pairs)
    assert egraph.node_count == 2 + 50
    egraph.check_invariants()


def test_duplicates_keep_the_oldest_row_and_stay_banned_only_if_all_are():
    egraph = EGraph()
    x, y, z = (egraph.add(leaf(name, 2)) for name in "xyz")
    a, b, c = (egraph.add(Neg(), [item]) for item in (x, y, z))
    egraph.ban(np.array([a, b]))
    egraph.union(x, y)
    egraph.rebuild()
    rows = egraph.rows()
    assert rows.banned[rows.row == a].tolist() == [True]
    assert b not in rows.row
    egraph.union(x, z)
    egraph.rebuild()
    rows = egraph.rows()
    assert rows.banned[rows.row == a].tolist() == [False]
    assert c not in rows.row


def test_known_values_become_literals_and_equal_values_one_class():
    egraph = EGraph()
    one = egraph.add(scalar(1.0))
    two = egraph.add(Add(), [one, one])
    four = egraph.add(Mul(), [two, two])
    egraph.rebuild()
    assert egraph.represents(Tree(scalar(4.0), ()), four)
    assert egraph.find(egraph.add(Add(), [two, two])) != four
    egraph.rebuild()
    assert egraph.find(egraph.add(Add(), [two, two])) == egraph.find(four)
    rows = egraph.rows()
    literals = [
        int(origin)
        for symbol_, origin in zip(rows.symbol, rows.origin, strict=True)
        if isinstance(egraph.operators[symbol_], Literal)
    ]
    assert sorted(literals) == [FOLDED, FOLDED, LOADED]
    egraph.check_invariants()


def test_constancy_travels_up_when_classes_are_joined():
    egraph = EGraph()
    x, w = egraph.add(leaf("x", 2)), egraph.add(weight("w", 2))
    top = egraph.add(Neg(), [egraph.add(Relu(), [x])])
    assert not egraph.fact(top).constant
    egraph.union(x, w)
    egraph.rebuild()
    assert egraph.fact(top).constant
    egraph.check_invariants()


def test_a_refined_dimension_travels_up():
    egraph = EGraph()
    x, y = egraph.add(leaf("x", symbol("n"), 3)), egraph.add(leaf("y", 5, 3))
    top = egraph.add(Transpose(), [egraph.add(Neg(), [x])])
    assert egraph.fact(top).shape == (3, symbol("n"))
    egraph.union(x, y)
    egraph.rebuild()
    assert egraph.fact(top).shape == (3, 5)


def test_a_contradiction_names_both_sides():
    egraph = EGraph()
    builder = GraphBuilder()
    x, y = builder.add(leaf("x", 2), name="first"), builder.add(leaf("y", 3), name="second")
    egraph.load(builder.build([Output("a", x), Output("b", y)]))
    with pytest.raises(UnsoundRule, match=r"'first'.*'second'.*contradict"):
        egraph.union(0, 1)
    with pytest.raises(UnsoundRule, match=r"'first'.*'second'.*contradict"):
        egraph.union_many(np.array([0, 0]), np.array([0, 1]), np.array([LOADED, LOADED]))


def test_contradictory_values_are_refused():
    egraph = EGraph()
    one, two = egraph.add(scalar(1.0)), egraph.add(scalar(2.0))
    with pytest.raises(UnsoundRule, match="contradict"):
        egraph.union(one, two)


def test_loading_keeps_names_and_gives_the_root():
    builder = GraphBuilder()
    x = builder.add(leaf("x", 2), name="x")
    y = builder.add(Neg(), [x], "minus")
    graph = builder.build([Output("o", y), Output("p", x)])
    egraph = EGraph()
    root = egraph.load(graph)
    rows = egraph.rows()
    assert egraph.operators[int(rows.symbol[rows.cls == root][0])] == Root()
    assert egraph.names == {0: "x", 1: "minus"}
    assert set(rows.origin.tolist()) == {LOADED}
    assert egraph.represents(graph, root)
    other = builder.build([Output("o", builder.add(Relu(), [x]))])
    assert not egraph.represents(other)


def test_rows_are_csr_columns():
    egraph = EGraph()
    x, y = egraph.add(leaf("x", 2)), egraph.add(leaf("y", 2))
    egraph.add(Concat(0), [x, y, x])
    rows = egraph.rows()
    assert rows.child_start.tolist() == [0, 0, 0, 3]
    assert rows.child.tolist() == [0, 1, 0]
    assert rows.birth.tolist() == rows.row.tolist() == [0, 1, 2]


def test_causes_lead_through_congruence():
    egraph = EGraph()
    x, y, z = (egraph.add(leaf(name, 2)) for name in "xyz")
    a, b = egraph.add(Neg(), [x]), egraph.add(Neg(), [z])
    c, d = egraph.add(Relu(), [a]), egraph.add(Relu(), [b])
    egraph.union(x, y, 5)
    egraph.union(y, z, 7)
    egraph.rebuild()
    assert [item.cause for item in egraph.unions.log()] == [5, 7, CONGRUENCE, CONGRUENCE]
    assert egraph.causes(c, d) == (5, 7)
    assert egraph.causes(x, y) == (5,)
    assert egraph.causes(x, x) == ()
    with pytest.raises(KeyError):
        egraph.causes(x, a)


def test_birth_children_survive_canonicalisation():
    egraph = EGraph()
    x, y = egraph.add(leaf("x", 2)), egraph.add(leaf("y", 2))
    egraph.add(Neg(), [y])
    egraph.union(x, y)
    egraph.rebuild()
    assert egraph.nodes.birth_kids.view.tolist() == [y]
    assert egraph.nodes.kids.view.tolist() == [x]


def test_staging_finds_old_rows_makes_new_ones_once_and_can_be_undone():
    egraph = EGraph()
    x, y = egraph.add(leaf("x", 2)), egraph.add(leaf("y", 2))
    a = egraph.add(Neg(), [x])
    neg = egraph.symbols.intern(Neg())
    nodes = (np.full(4, neg), np.array([[x], [y], [x], [y]]), np.arange(4))
    before = egraph.nodes.end
    classes = egraph.stage(*nodes)
    assert classes.tolist() == [a, 3, a, 3]
    assert egraph.nodes.end == before + 1
    egraph.rollback()
    assert egraph.node_count == 3
    egraph.check_invariants()
    classes = egraph.stage(*nodes)
    egraph.commit()
    assert egraph.node_count == 4
    assert egraph.add(Neg(), [y]) == 3
    egraph.check_invariants()


def test_staged_nodes_that_are_ill_typed_are_marked():
    egraph = EGraph()
    x, y = egraph.add(leaf("x", 2)), egraph.add(leaf("y", 3))
    add, neg = egraph.symbols.intern(Add()), egraph.symbols.intern(Neg())
    sums = egraph.stage(np.full(2, add), np.array([[x, x], [x, y]]), np.zeros(2, np.int64))
    tops = egraph.stage(np.full(2, neg), sums[:, None], np.zeros(2, np.int64))
    assert egraph.ill_typed(tops).tolist() == [False, True]
    egraph.rollback()
    egraph.check_invariants()


def test_literals_stay_within_the_node_limit():
    egraph = EGraph()
    one = egraph.add(scalar(1.0))
    two = egraph.add(Add(), [one, one])
    egraph.add(Add(), [two, one])
    egraph.node_limit = 4
    egraph.rebuild()
    assert egraph.node_count == 4
    egraph.node_limit = None
    egraph.rebuild()
    assert egraph.node_count == 5


def test_a_wrong_hash_hit_is_noticed(monkeypatch):
    import tensaur.egraph.columns as columns

    monkeypatch.setattr(columns, "hash_node", lambda symbol, kids: 7)
    monkeypatch.setattr(columns, "hash_nodes", lambda symbol, kids: np.full(len(symbol), 7))
    both = Both()
    for name in "abc":
        both.add(leaf(name, 2))
    for i in range(3):
        both.add(Neg(), i)
        both.add(Relu(), i)
        both.add(Add(), i, i + 1)
    both.union([(0, 1), (2, 1)])
    both.rebuild()
    both.check()
    neg = both.real.symbols.intern(Neg())
    kids = np.array([[3], [0], [3]])
    before = both.real.nodes.end
    classes = both.real.stage(np.full(3, neg), kids, np.zeros(3, np.int64))
    assert classes[0] == classes[2] != classes[1]
    assert both.real.nodes.end == before + 1


def test_facts_are_those_of_known():
    egraph = EGraph()
    cls = egraph.add(Literal(Known.of(np.arange(3))))
    assert egraph.fact(cls).value == Known.of(np.arange(3))
    assert egraph.facts[egraph.fact_of[cls]] == egraph.fact(cls)
