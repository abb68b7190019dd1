"""The cycle filter: descendants, what is banned and what never, and acyclic extraction afterwards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensaur.egraph.banning as banning
import tensaur.egraph.cycles as cycles
from tensaur.egraph.banning import ban_cycles
from tensaur.egraph.budget import Limits
from tensaur.egraph.cycles import (
    CycleFilter,
    Descendants,
    Uses,
    closes_cycle,
)
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.egraph.unions import LOADED
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.rule import Rule
from tensaur.ir.term import Var
from tests.egraph.test_exploring import ALL, random_graphs
from tests.egraph.toy import Add, Neg, Relu, Scale, leaf, neg, relu, scale

x, y = Var("x"), Var("y")
FILTERS = ["efficient", "vanilla"]


def unbanned(egraph):
    """Return (row, class, children) of the rows that the filter lets through."""
    rows = egraph.rows()
    for i in np.flatnonzero(~rows.banned).tolist():
        kids = rows.child[rows.child_start[i] : rows.child_start[i + 1]].tolist()
        yield int(rows.row[i]), int(rows.cls[i]), kids


def extractable(nodes):
    """Return the classes that have a finite term over some rows."""
    done: set[int] = set()
    while True:
        more = {cls for _, cls, kids in nodes if cls not in done and done.issuperset(kids)}
        if not more:
            return done
        done |= more


def is_acyclic(nodes):
    """Tell whether classes can be peeled off so that all rows of a class come after their children."""
    left = list(nodes)
    while left:
        classes = {cls for _, cls, _ in left}
        free = classes - {cls for _, cls, kids in left if classes.intersection(kids)}
        if not free:
            return False
        left = [node for node in left if node[1] not in free]
    return True


def reach(nodes):
    """Return for every class the set of classes below it, itself included."""
    below = {cls: {cls} for _, cls, _ in nodes}
    changed = True
    while changed:
        changed = False
        for _, cls, kids in nodes:
            new = set().union(*(below[kid] for kid in kids)) - below[cls] if kids else set()
            if new:
                below[cls] |= new
                changed = True
    return below


@st.composite
def egraphs(draw):
    """E-graphs with joined classes and so, often, cycles."""
    egraph = EGraph()
    classes = [egraph.add(leaf(name, 2)) for name in "ab"]
    pick = st.integers(0, 99)
    for number in range(draw(st.integers(1, 30))):
        op = draw(st.sampled_from([Neg(), Relu(), Add(), Add()]))
        kids = [classes[draw(pick) % len(classes)] for _ in range(type(op).arity or 1)]
        origin = LOADED if number < 5 else number
        classes.append(egraph.add(op, kids, origin=origin))
    for _ in range(draw(st.integers(0, 6))):
        egraph.union(classes[draw(pick) % len(classes)], classes[draw(pick) % len(classes)])
    egraph.rebuild()
    return egraph


@settings(max_examples=150)
@given(egraphs())
def test_banning_leaves_no_cycle_and_every_class_extractable(egraph):
    count = ban_cycles(egraph)
    nodes = list(unbanned(egraph))
    assert is_acyclic(nodes)
    rows = egraph.rows()
    assert count == int(rows.banned.sum()) == egraph.banned_count
    assert extractable(nodes) == set(rows.cls.tolist())
    egraph.check_invariants()
    assert ban_cycles(egraph) == 0


@pytest.mark.parametrize("few", [0, 4, 512])
@settings(max_examples=100)
@given(egraph=egraphs())
def test_only_rows_that_close_a_cycle_with_older_rows_are_banned(egraph, few):
    everything = list(unbanned(egraph))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(banning, "FEW", few)
        ban_cycles(egraph)
    kept = {row for row, _, _ in unbanned(egraph)}
    rows = egraph.rows()
    origin = dict(zip(rows.row.tolist(), rows.origin.tolist(), strict=True))
    for row, cls, kids in everything:
        if row not in kept:
            older = [node for node in everything if node[0] in kept and node[0] < row]
            assert not is_acyclic([*older, (row, cls, kids)])
            if origin[row] == LOADED:
                loaded = [node for node in older if origin[node[0]] == LOADED]
                assert len(loaded) == len(older)


@settings(max_examples=100)
@given(egraph=egraphs(), looks=st.integers(0, 12))
def test_without_time_too_many_rows_may_be_banned_but_no_class_is_lost(egraph, looks):
    asked = 0

    def is_over():
        nonlocal asked
        asked += 1
        return asked > looks

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(banning, "FEW", 0)
        ban_cycles(egraph, is_over)
    nodes = list(unbanned(egraph))
    assert is_acyclic(nodes)
    assert extractable(nodes) == set(egraph.rows().cls.tolist())


@pytest.mark.parametrize("block_bytes", [1, 64 << 20])
@settings(max_examples=60)
@given(egraph=egraphs())
def test_descendants_are_those_found_by_walking(egraph, block_bytes):
    ban_cycles(egraph)
    nodes = list(unbanned(egraph))
    below = reach(nodes)
    classes = np.array(sorted(below))
    above, under = (item.ravel() for item in np.meshgrid(classes, classes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cycles, "BLOCK_BYTES", block_bytes)
        found = Descendants(egraph, lambda: None).depends(above, under)
    expected = [b in below[a] for a, b in zip(above.tolist(), under.tolist(), strict=True)]
    assert found.tolist() == expected


def chain():
    """Return an e-graph of a, neg(a), relu(neg(a)) and the three classes."""
    egraph = EGraph()
    a = egraph.add(leaf("a", 2))
    b = egraph.add(Neg(), [a])
    c = egraph.add(Relu(), [b])
    egraph.rebuild()
    return egraph, a, b, c


def closes(egraph, roots, below):
    descendants = Descendants(egraph, lambda: None)
    variables = sorted({cls for each in below for cls in each})
    uses = Uses(
        tuple(np.array([root]) for root in roots),
        tuple(np.array([cls]) for cls in variables),
        tuple(tuple(variables.index(cls) for cls in each) for each in below),
    )
    (found,) = closes_cycle(descendants, [uses])
    return bool(found[0])


def test_a_match_closes_a_cycle_if_its_root_is_or_is_below_a_variable():
    egraph, a, b, c = chain()
    assert closes(egraph, [b], [[c]])
    assert closes(egraph, [b], [[b]])
    assert not closes(egraph, [b], [[a]])
    assert not closes(egraph, [b], [[]])


def test_two_roots_close_a_cycle_only_through_each_other_or_themselves():
    egraph, a, b, c = chain()
    d = egraph.add(leaf("d", 2))
    e = egraph.add(Neg(), [d])
    f = egraph.add(Relu(), [e])
    assert closes(egraph, [b, e], [[f], [c]])
    assert closes(egraph, [b, e], [[c], [a]])
    # b will depend on e through f, but e on nothing that leads back to b.
    assert not closes(egraph, [b, e], [[f], [a]])


def test_too_large_questions_are_left_to_the_filter_after(monkeypatch):
    egraph, _, b, c = chain()
    monkeypatch.setattr(cycles, "TOTAL_BYTES", 0)
    assert not closes(egraph, [b], [[c]])


UPWARDS = Rule("upwards", (neg(x), scale(y)), (relu(y), scale(y)))


def crossed():
    """Return an e-graph in which `UPWARDS` would put what is above a class below it."""
    egraph, _a, b, c = chain()
    q = egraph.add(leaf("q", 2))
    egraph.union(q, c)
    egraph.add(Scale(1), [q])
    egraph.rebuild()
    return egraph, b, c


@pytest.mark.parametrize("kind", FILTERS)
def test_a_match_that_would_close_a_cycle_is_skipped(kind):
    egraph, _b, _ = crossed()
    before = egraph.node_count
    result = Explorer(egraph, (UPWARDS,), Limits(multi=5), cycle_filter=kind).run()
    record = result.records[0].rules[0]
    assert (record.matches, record.skipped, record.applied) == (1, 1, 0)
    assert (egraph.node_count, egraph.banned_count) == (before, 0)


@pytest.mark.parametrize("kind", FILTERS)
def test_a_skipped_match_is_applied_when_its_cycle_is_gone(kind):
    egraph, b, c = crossed()
    explorer = Explorer(
        egraph,
        (UPWARDS,),
        Limits(multi=5),
        cycle_filter=kind,
        on_iteration=lambda record: egraph.ban(np.array([2])),
    )
    result = explorer.run()
    assert [record.rules[0].applied for record in result.records[:2]] == [0, 1]
    assert egraph.add(Relu(), [c]) == egraph.find(b)


def test_without_a_filter_cycles_stay():
    egraph = EGraph()
    a = egraph.add(leaf("a", 2))
    b = egraph.add(Neg(), [egraph.add(Neg(), [a])])
    egraph.rebuild()
    Explorer(egraph, (Rule("twice", neg(neg(x)), x),), cycle_filter=CycleFilter.NONE).run()
    assert egraph.find(a) == egraph.find(b)
    assert egraph.banned_count == 0
    assert not is_acyclic(list(unbanned(egraph)))


def test_where_loaded_rows_alone_form_a_cycle_the_newest_is_banned():
    builder = GraphBuilder()
    a = builder.add(leaf("a", 2))
    b = builder.add(Neg(), [a])
    c = builder.add(Neg(), [b])
    egraph = EGraph()
    root = egraph.load(builder.build([Output("o", c), Output("p", b)]))
    Explorer(egraph, (Rule("twice", neg(neg(x)), x),)).run()
    rows = egraph.rows()
    assert rows.row[rows.banned].tolist() == [2]
    assert root in extractable(list(unbanned(egraph)))


@pytest.mark.parametrize("kind", FILTERS)
@settings(max_examples=30)
@given(graph=random_graphs())
def test_after_exploration_extraction_is_acyclic_and_feasible(graph, kind):
    egraph = EGraph()
    root = egraph.load(graph)
    iterations = 3 if kind == "efficient" else 2
    limits = Limits(nodes=300, seconds=1e6, iterations=iterations, multi=2)

    def check(record):
        nodes = list(unbanned(egraph))
        assert is_acyclic(nodes)
        assert egraph.find(root) in extractable(nodes)

    Explorer(egraph, ALL, limits, cycle_filter=kind, on_iteration=check).run()
    egraph.check_invariants()
    loaded = [node for node in unbanned(egraph) if egraph.nodes.origin.view[node[0]] == LOADED]
    assert egraph.find(root) in extractable(loaded)
