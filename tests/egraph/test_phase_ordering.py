"""The phase-ordering problem: rewriting in a fixed order loses (a * 2) / 2 = a, saturation does not."""

import numpy as np
import pytest

from tensaur.egraph.budget import Limits
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.egraph.schedule import Schedule
from tensaur.extract.lower import lower
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.operator import Input, Literal
from tensaur.ir.rule import FAST, Rule
from tensaur.ir.term import Tree, Var, derived
from tensaur.ir.types import DType, Fact, Known, TensorType
from tensaur.ops import Add, Div, Mul, add, div, mul
from tensaur.rules.conditions import absorbs, constant, nonzero
from tensaur.synth.verify import verify
from tests.egraph.naive import NaiveEGraph
from tests.egraph.naive_explorer import NaiveExplorer
from tests.extract.spaces import METRICS, never

a, b = Var("a"), Var("b")


@derived
def is_two(fact: Fact) -> bool:
    return fact.value is not None and fact.value.scalar == 2


# Doubling is exact; the other rule changes what happens where the product rounds or overflows.
DOUBLE = Rule("double", mul(a, b), add(a, a), when=(is_two(b), absorbs(a, b)))
CANCEL = Rule(
    "cancel", div(mul(a, b), b), a, when=(constant(b), nonzero(b), absorbs(a, b)), exactness=FAST
)
ORDERS = pytest.mark.parametrize(
    "rules", [(DOUBLE, CANCEL), (CANCEL, DOUBLE)], ids=lambda rules: rules[0].name + "-first"
)

A = Tree(Input("a", TensorType(DType.FLOAT32, (2, 3))), ())
TWO = Tree(Literal(Known.of(np.float32(2))), ())
TERM = Tree(Div(), (Tree(Mul(), (A, TWO)), TWO))


def graph_of(term):
    builder = GraphBuilder()

    def place(tree):
        return builder.add(tree.op, [place(item) for item in tree.inputs])

    return builder.build([Output("y", place(term))])


@pytest.mark.parametrize("rule", [DOUBLE, CANCEL], ids=lambda rule: rule.name)
def test_the_rules_hold(rule):
    assert verify(rule).verified


@pytest.mark.parametrize("phases", [False, True])
@ORDERS
def test_saturation_finds_the_shortest_form_in_either_order(rules, phases):
    graph = graph_of(TERM)
    egraph = EGraph()
    root = egraph.load(graph)
    Explorer(egraph, rules, Limits(), schedule=Schedule(phases=phases)).run()
    assert egraph.lookup(TERM) == egraph.lookup(A)
    # What the first rule made is there too.
    assert egraph.represents(Tree(Add(), (A, A)), egraph.lookup(Tree(Mul(), (A, TWO))))
    space = Space(egraph, root, graph.constants, never)
    prices = np.array([METRICS["launches"].estimate(query) for query in space.queries], float)
    problem = space.problem(prices, np.zeros(len(prices), bool), None)
    best = lower(space, space.picked(problem, extract(problem)), graph)
    assert best.nodes[best.outputs[0].node].op == A.op


def rewritten(term, rules):
    """Apply each rule wherever it applies, until it does so nowhere, and go on to the next rule."""
    for rule in rules:
        while (shorter := rewritten_once(term, rule)) is not None:
            term = shorter
    return term


def rewritten_once(term, rule):
    """Return the term with a rule applied at one place, None if there is none."""
    egraph = NaiveEGraph()
    terms = {}

    def place(tree):
        cls = egraph.add(tree.op, [place(item) for item in tree.inputs])
        terms[cls] = tree
        return cls

    place(term)
    for match, made in NaiveExplorer(egraph, [rule]).candidates().items():
        bindings, nodes = dict(match.bindings), list(made.nodes)

        def tree_of(ref, bindings=bindings, nodes=nodes):
            if isinstance(ref, str):
                return terms[bindings[ref]]
            op, refs = nodes[ref]
            return Tree(op, tuple(tree_of(item) for item in refs))

        return replaced(term, terms[match.roots[0]], tree_of(made.roots[0]))
    return None


def replaced(term, old, new):
    if term == old:
        return new
    return Tree(term.op, tuple(replaced(item, old, new) for item in term.inputs))


@ORDERS
def test_rewriting_in_a_fixed_order_finds_it_in_one_order_only(rules):
    found = rewritten(TERM, rules)
    if rules[0] is CANCEL:
        assert found == A
    else:
        assert found == Tree(Div(), (Tree(Add(), (A, A)), TWO))
