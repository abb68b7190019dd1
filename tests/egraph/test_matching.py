"""Matching as joins against backtracking (and Cartesian products) in the naive matcher."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensaur.egraph.budget import Budget, Limits, Stopped, StopReason
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.match import Matcher
from tensaur.egraph.pattern import sequence_operators, sources
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, OpVar, Pick, Seq, Var
from tests.egraph.naive import AlgorithmOne
from tests.egraph.toy import (
    Add,
    Concat,
    Mul,
    Neg,
    Relu,
    Scale,
    Wide,
    add,
    leaf,
    mul,
    neg,
    relu,
    scale,
    wide,
)

x, y, z = Var("x"), Var("y"), Var("z")
p, q = AttrVar("p"), AttrVar("q")
f = OpVar("f", (Neg, Relu, Scale))
g = OpVar("g", (Add, Mul))
xs = Seq("xs")

FINDS = {
    "one": neg(x),
    "nested": neg(relu(x)),
    "commutative": add(x, neg(y)),
    "both inputs": add(neg(x), relu(y)),
    "same variable twice": mul(x, x),
    "same variable at depth": mul(neg(x), add(x, y)),
    "associate": add(add(x, y), z),
    "distribute": add(mul(x, y), mul(x, z)),
    "whole and part": mul(neg(x), neg(neg(x))),
    "attribute": scale(x, factor=p),
    "attribute twice": scale(scale(x, factor=p), factor=p),
    "two attributes": scale(scale(x, factor=p), factor=q),
    "literal attribute": scale(x, factor=2),
    "default attribute": scale(x),
    "operator variable": f(x),
    "operator variable twice": f(f(x)),
    "operator above operator": f(g(x, y)),
    "commutative operator variable": g(neg(x), y),
    "sequence": wide(xs),
    "nested sequence": neg(wide(xs)),
    "fixed arity": wide(x, y),
    "fixed arity, nonlinear": wide(x, neg(y), x),
    "pair": (neg(x), relu(x)),
    "pair of one form": (mul(x, y), mul(x, z)),
    "pair without shared variables": (neg(x), relu(y)),
    "pair on two variables": (add(x, y), mul(x, y)),
    "pair with attributes": (scale(x, factor=p), scale(y, factor=p)),
    "pair with operators": (f(x), f(y)),
    "triple": (neg(x), relu(x), scale(x, factor=p)),
    "pair with a sequence": (wide(xs), neg(x)),
    "operator over a sequence": OpVar("g", (Wide, Concat))(xs),
    "chain": (neg(x), add(relu(x), y), mul(y, z)),
}


def rule_of(find):
    terms = find if isinstance(find, tuple) else (find,)
    makes = tuple(_any_variable(term) for term in terms)
    return Rule("test", find, makes if isinstance(find, tuple) else makes[0])


def _any_variable(term):
    for item in term.inputs:
        if isinstance(item, Apply):
            return _any_variable(item)
        return Pick(item, 0) if isinstance(item, Seq) else item
    raise AssertionError


def real_matches(egraph, rule, budget=None):
    matcher = Matcher(egraph, budget or Budget(Limits()))
    found = []
    for source in sources(0, rule, matcher.lengths(sequence_operators(rule))):
        matches = matcher.find(source)
        for i in range(len(matches)):
            bindings = {}
            for name, column in matches.columns.items():
                value = int(column[i])
                if name[0] == "$":
                    bindings[name] = egraph.symbols.values[value]
                elif name[0] == "?":
                    bindings[name] = egraph.operators[value]
                else:
                    bindings[name] = value
            roots = tuple(int(root[i]) for root in matches.roots)
            rows = tuple(int(row[i]) for row in matches.rows)
            assert roots == tuple(egraph.find(row) for row in rows)
            found.append((roots, frozenset(bindings.items())))
    assert len(found) == len(set(found)), "a match is found twice"
    return set(found)


def naive_matches(egraph, rule):
    rows = egraph.rows()
    nodes = set()
    for i in np.flatnonzero(~rows.banned).tolist():
        kids = rows.child[rows.child_start[i] : rows.child_start[i + 1]].tolist()
        nodes.add(((egraph.operators[int(rows.symbol[i])], tuple(kids)), int(rows.cls[i])))
    algorithm = AlgorithmOne([rule])
    algorithm.search(nodes)
    return {(match.roots, match.bindings) for match in algorithm.matches(rule)}


@st.composite
def egraphs(draw):
    egraph = EGraph()
    classes = [egraph.add(leaf(name, 2)) for name in "ab"]
    pick = st.integers(0, 99)
    for _ in range(draw(st.integers(0, 25))):
        op = draw(
            st.sampled_from([Neg(), Relu(), Scale(1), Scale(2), Add(), Mul(), Add(), Mul(), Wide()])
        )
        count = draw(st.integers(1, 4)) if type(op).arity is None else type(op).arity
        kids = [classes[draw(pick) % len(classes)] for _ in range(count)]
        classes.append(egraph.add(op, kids))
    for _ in range(draw(st.integers(0, 4))):
        egraph.union(classes[draw(pick) % len(classes)], classes[draw(pick) % len(classes)])
    egraph.rebuild()
    live = egraph.rows().row
    chosen = [int(live[draw(pick) % len(live)]) for _ in range(draw(st.integers(0, 2)))]
    egraph.ban(np.array([row for row in chosen if egraph.find(row) != row], np.int64))
    return egraph


@pytest.mark.parametrize("find", FINDS.values(), ids=FINDS.keys())
@settings(max_examples=25)
@given(egraph=egraphs())
def test_joins_find_what_backtracking_finds(find, egraph):
    rule = rule_of(find)
    assert real_matches(egraph, rule) == naive_matches(egraph, rule)


def test_the_patterns_do_match_somewhere():
    egraph = EGraph()
    a, b = egraph.add(leaf("a", 2)), egraph.add(leaf("b", 2))
    classes = [a, b]
    for op in (Relu(), Neg(), Scale(1), Neg(), Scale(2)):
        classes += [egraph.add(op, [item]) for item in tuple(classes)]
    for op in (Add(), Mul()):
        for item in tuple(classes[:14]):
            for other in tuple(classes[:14]):
                egraph.add(op, [item, other])
    products = [egraph.add(Mul(), [a, item]) for item in (a, b)]
    sums = [egraph.add(Add(), products), egraph.add(Add(), [egraph.add(Add(), [a, b]), b])]
    for item in sums:
        egraph.add(Relu(), [item])
    egraph.add(Neg(), [egraph.add(Wide(), [a, egraph.add(Neg(), [b]), a])])
    egraph.add(Wide(), [a, b])
    egraph.add(Scale(2), [egraph.add(Scale(2), [a])])
    minus = egraph.add(Neg(), [a])
    egraph.add(Mul(), [minus, egraph.add(Add(), [a, b])])
    egraph.add(Add(), [minus, egraph.add(Relu(), [b])])
    egraph.add(Mul(), [egraph.add(Add(), [b, a]), egraph.add(Neg(), [a])])
    egraph.add(Mul(), [egraph.add(Neg(), [a]), egraph.add(Neg(), [egraph.add(Neg(), [a])])])
    egraph.rebuild()
    for name, find in FINDS.items():
        if name not in ("triple", "chain"):
            assert real_matches(egraph, rule_of(find)), name
    assert len(real_matches(egraph, rule_of(FINDS["triple"]))) > 3
    assert len(real_matches(egraph, rule_of(FINDS["chain"]))) > 3


def big_star(count):
    egraph = EGraph()
    hub = egraph.add(leaf("hub", 2))
    for i in range(count):
        egraph.add(Mul(), [hub, egraph.add(leaf(f"x{i}", 2))])
    egraph.rebuild()
    return egraph


def test_many_chunks_give_the_same_matches(monkeypatch):
    import tensaur.egraph.match as match

    egraph = big_star(20)
    rule = rule_of(FINDS["pair of one form"])
    whole = real_matches(egraph, rule)
    assert len(whole) == 20 * 19
    monkeypatch.setattr(match, "CHUNK", 7)
    assert real_matches(egraph, rule) == whole


def test_what_does_not_fit_in_memory_is_found_in_other_turns():
    egraph = big_star(60)
    rule = rule_of(FINDS["pair of one form"])
    whole = real_matches(egraph, rule)
    budget = Budget(Limits(match_bytes=1))
    seen = set()
    for turn in range(20):
        budget.begin(turn, 0)
        part = real_matches(egraph, rule, budget)
        assert budget.truncated
        assert 0 < len(part) <= 2 * 1024
        assert part <= whole
        seen |= part
    assert seen == whole


def test_the_clock_is_looked_at_inside_a_join(monkeypatch):
    import tensaur.egraph.match as match

    monkeypatch.setattr(match, "CHUNK", 100)
    ticks = iter(range(1000))
    budget = Budget(Limits(seconds=10), clock=lambda: next(ticks))
    with pytest.raises(Stopped) as stopped:
        real_matches(big_star(60), rule_of(FINDS["pair of one form"]), budget)
    assert stopped.value.reason is StopReason.TIME_LIMIT
