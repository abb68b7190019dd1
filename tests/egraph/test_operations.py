"""Random sequences of everything that can be done to an e-graph: its invariants hold all the time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensaur.egraph.budget import Limits
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.ir.rule import Rule
from tensaur.ir.term import Var, derived
from tests.egraph.networks import rows_of
from tests.egraph.test_cycle_filter import is_acyclic
from tests.egraph.test_exploring import ALL, GROUP, X, load, random_graphs, tree
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
    add,
    leaf,
    mul,
    scalar,
)

_number = st.integers(0, 99)
_operators = st.sampled_from(
    [Neg(), Relu(), Scale(1), Scale(2), Transpose(), Add(), Mul(), MatMul(), Wide()]
)
OPERATIONS = st.one_of(
    st.tuples(st.just("add"), _operators, st.lists(_number, min_size=3, max_size=3)),
    st.tuples(st.just("union"), st.lists(st.tuples(_number, _number), min_size=1, max_size=3)),
    st.tuples(st.just("rebuild")),
    st.tuples(st.just("ban"), st.lists(_number, max_size=3)),
    st.tuples(
        st.just("explore"),
        st.sampled_from(["none", "efficient", "vanilla"]),
        st.integers(0, 40),
        st.integers(0, 2),
    ),
    st.tuples(st.just("load"), random_graphs()),
)


class Session:
    """An e-graph with all that was ever put into it; checks it after every operation."""

    def __init__(self):
        self.egraph = EGraph()
        self.history = []
        for name in "ab":
            self.add(leaf(name, 4, 4), [])

    def add(self, op, children):
        kids = [self.history[child % len(self.history)][2] for child in children]
        arity = 3 if type(op).arity is None else type(op).arity
        self.note(op, kids[:arity])

    def note(self, op, kids):
        self.history.append((op, kids, self.egraph.add(op, kids)))

    def union(self, pairs):
        classes = np.array(
            [[self.history[i % len(self.history)][2] for i in pair] for pair in pairs]
        )
        if len(pairs) == 1:
            self.egraph.union(*classes[0].tolist())
        else:
            self.egraph.union_many(*classes.T, np.full(len(pairs), -1))
        self.egraph.rebuild()

    def rebuild(self):
        before = self.egraph.node_count, self.egraph.class_count
        self.egraph.rebuild()
        assert (self.egraph.node_count, self.egraph.class_count) == before

    def ban(self, chosen):
        rows = [row.number for row in rows_of(self.egraph) if row.number != row.cls]
        if rows:
            self.egraph.ban(np.array([rows[i % len(rows)] for i in chosen], np.int64))

    def explore(self, kind, room, multi):
        limits = Limits(self.egraph.node_count + room, iterations=2, multi=multi)
        Explorer(self.egraph, ALL, limits, kind, clock=lambda: 0.0).run()
        self.egraph.node_limit = None
        if kind != "none":
            assert is_acyclic(
                [(row.number, row.cls, row.kids) for row in rows_of(self.egraph) if not row.banned]
            )

    def load(self, graph):
        root = self.egraph.load(graph)
        assert self.egraph.represents(graph, root)
        classes = []
        for node in graph.nodes:
            self.note(node.op, [classes[item] for item in node.inputs])
            classes.append(self.history[-1][2])

    def check(self):
        self.egraph.check_invariants()
        size = self.egraph.node_count
        for op, kids, cls in self.history:
            assert self.egraph.add(op, kids) == self.egraph.find(cls)
        assert self.egraph.node_count == size, "a term was lost"


@settings(max_examples=60)
@given(random_graphs(), st.lists(OPERATIONS, min_size=6, max_size=12))
def test_invariants_hold_and_nothing_is_lost_after_any_operation(graph, operations):
    session = Session()
    session.load(graph)
    for kind, *arguments in operations:
        getattr(session, kind)(*arguments)
        session.check()


def test_members_of_a_group_may_all_be_above_a_cycle():
    minus = tree(Neg(), X)
    egraph, value, twice, *_ = load(
        X, tree(Neg(), minus), *(tree(MatMul(), X, item) for item in (X, minus))
    )
    egraph.union(value, twice)
    Explorer(egraph, (GROUP,), Limits(), "none").run()
    assert egraph.represents(tree(Concat(-1), X, minus))


@derived
def known(item):
    return item.value is not None


@pytest.mark.parametrize("kind", ["none", "efficient", "vanilla"])
def test_the_node_limit_holds_where_what_rules_make_is_folded(kind):
    x, y = Var("x"), Var("y")
    double = Rule("double", mul(x, y), mul(x, add(y, y)), when=(known(y),))
    terms = [tree(Mul(), tree(leaf(f"x{i}")), tree(scalar(i + 0.3))) for i in range(40)]
    egraph, *_ = load(*terms)
    limits = Limits(nodes=egraph.node_count + 30, iterations=1)
    Explorer(egraph, (double,), limits, kind).run()
    assert egraph.node_count <= limits.nodes
