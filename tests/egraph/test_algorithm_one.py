"""The engine against TenSat's algorithms 1 and 2 taken literally, number by number.

The order in which matches are applied decides which rows are older, and with a cycle filter also what
is skipped and what is banned. So the oracle is told the engine's order, and nothing else: what there is
to apply, what is skipped, how rows and classes are numbered and what is banned must come out the same.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.models.recurrent import nasrnn
from benchmarks.models.transformers import bert_tensat
from tensaur.egraph.budget import Limits, StopReason
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer
from tensaur.egraph.schedule import Schedule
from tensaur.ir.graph import GraphBuilder, Output
from tensaur.ir.rule import Rule
from tensaur.ir.term import AttrVar, OpVar, Var, derived
from tests.egraph.naive import AlgorithmOne, Match, NaiveEGraph
from tests.egraph.naive_explorer import NaiveExplorer
from tests.egraph.networks import RULE_SETS, rows_of
from tests.egraph.test_exploring import SHARE, pair
from tests.egraph.test_matching import egraphs, naive_matches, real_matches, rule_of
from tests.egraph.toy import (
    Add,
    MatMul,
    Mul,
    Neg,
    Relu,
    Scale,
    Transpose,
    add,
    concat,
    leaf,
    matmul,
    mul,
    neg,
    relu,
    scale,
    split,
    times,
    transpose,
    weight,
    wide,
)

x, y, z, w = (Var(name) for name in "xyzw")
p, q = AttrVar("p"), AttrVar("q")
FILTERS = ["none", "efficient", "vanilla"]


# --- what patterns match ---------------------------------------------------------------------------

_f = OpVar("f", (Neg, Relu, Scale))
_values = st.sampled_from([x, y, z])


@st.composite
def patterns(draw, depth=2):
    """Draw a term over few variables, so that terms drawn one by one share some."""
    below = _values if depth == 0 else st.one_of(_values, _values, patterns(depth - 1))
    make = draw(
        st.sampled_from(
            [
                neg, relu, _f, add, mul, add, mul,
                lambda item: scale(item, factor=p),
                lambda item: scale(item, factor=2),
                lambda *items: wide(*items),
            ]
        )
    )  # fmt: skip
    return make(*(draw(below) for _ in range(2 if make in (add, mul) else 1)))


@settings(max_examples=100)
@given(finds=st.lists(patterns(), min_size=2, max_size=3), egraph=egraphs())
def test_pairs_and_triples_of_patterns_match_what_algorithm_one_finds(finds, egraph):
    rule = rule_of(tuple(finds))
    assert real_matches(egraph, rule) == naive_matches(egraph, rule)


def test_algorithm_one_searches_each_canonical_pattern_once():
    other = Rule("other", (matmul(z, y), neg(z)), (matmul(z, y), relu(z)))
    patterns = AlgorithmOne([SHARE, other, Rule("one", neg(w), w)]).patterns
    assert patterns == (matmul(Var("i_0"), Var("i_1")), neg(Var("i_0")))


# --- what exploring makes --------------------------------------------------------------------------


@derived
def narrow(item):
    return item.shape[-1] <= 4


@derived
def low(item):
    return item.shape[0] <= 4


@derived
def rows(item):
    return item.shape[0]


SHARE_RIGHT = Rule(
    "share-right",
    (matmul(x, z), matmul(y, z)),
    split(matmul(concat(x, y, axis=-2), z), axis=-2, sizes=pair(rows(x), rows(y))),
)
# With these, pairs are merged only of what was not merged before, so that exploring comes to an end.
NARROW = Rule("share-narrow", SHARE.find, SHARE.make, when=(narrow(y), narrow(z)))
LOW = Rule("share-low", SHARE_RIGHT.find, SHARE_RIGHT.make, when=(low(x), low(y)))
TWICE = Rule("neg-twice", neg(neg(x)), x)
SINGLE = (
    TWICE,
    Rule("add-associate", add(add(x, y), z), add(x, add(y, z))),
    Rule("transpose-twice", transpose(transpose(x)), x),
    Rule("neg-product", neg(matmul(x, y)), matmul(neg(x), y), both_ways=True),
    Rule("compose", scale(scale(x, factor=p), factor=q), scale(x, factor=times(p, q))),
    Rule("turn", (neg(x), mul(x, y)), (neg(mul(x, x)), mul(y, x))),
)
EXPLOSIVE = (
    *SINGLE,
    SHARE,
    SHARE_RIGHT,
    Rule("distribute", add(mul(x, y), mul(x, z)), mul(x, add(y, z)), both_ways=True),
    Rule("transpose-product", transpose(matmul(x, y)), matmul(transpose(y), transpose(x))),
    Rule("matmul-associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)), both_ways=True),
    # What is above goes below: these close cycles.
    Rule("upwards", (neg(x), relu(y)), (relu(y), relu(neg(y)))),
    Rule("crossed", (relu(x), mul(y, z)), (add(y, z), neg(relu(x)))),
)


@dataclass
class Attempt:
    """One call of the engine's insertion: the matches of one rule in order, and if they were skipped."""

    rule: Rule
    matches: list[Match]
    skipped: bool


@dataclass
class Recorded:
    """What the engine did and where it was after each iteration."""

    attempts: list[list[Attempt]] = field(default_factory=lambda: [[]])
    ends: list[list[Any]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    stop: StopReason | None = None


def naive_rows_of(egraph):
    """Return the same of the oracle: number, operator, children, class, whether it is banned."""
    return [
        (row, *egraph.canonical(row), egraph.find(row), row in egraph.banned)
        for row in egraph.live()
    ]


def matches_of(egraph, rule, matches):
    """Return the engine's matches in the oracle's form."""
    values = {"$": egraph.symbols.values, "?": egraph.operators}
    bound = {
        name: [values[name[0]][i] if name[0] in values else i for i in column.tolist()]
        for name, column in matches.columns.items()
    }
    return [
        Match(
            rule.name,
            tuple(int(root[i]) for root in matches.roots),
            frozenset((name, column[i]) for name, column in bound.items()),
        )
        for i in range(len(matches))
    ]


def recorded(egraph, rules, kind, phases=False, **limits):
    """Explore with the engine and note every attempt to apply matches."""
    found = Recorded()
    insert = Explorer._insert

    def noted(self, item, number, share):
        rule, tally = self._rules[item.rule], self._tallies[item.rule]
        matches, skipped = matches_of(egraph, rule, item.matches), tally.skipped
        result = insert(self, item, number, share)
        found.attempts[-1].append(Attempt(rule, matches, tally.skipped > skipped))
        assert result[0] == len(matches), "all that is found fits"
        return result

    def end(record):
        found.ends.append(rows_of(egraph))
        found.skipped.append(sum(rule.skipped for rule in record.rules))
        found.attempts.append([])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explorer, "_insert", noted)
        explorer = Explorer(
            egraph,
            rules,
            Limits(nodes=10**6, seconds=1.0, **limits),
            cycle_filter=kind,
            on_iteration=end,
            schedule=Schedule(phases=phases),
            clock=lambda: 0.0,
        )
        found.stop = explorer.run().stop
    egraph.check_invariants()
    return found


def is_multi(rule):
    return rule.is_multi


def is_single(rule):
    return not rule.is_multi


def phases_of(number, multi, phases):
    """Return which rules have their turn together in an iteration."""
    if number >= multi:
        return [is_single]
    return [is_multi, is_single] if phases else [lambda rule: True]


@dataclass
class Replay:
    """Lets the oracle do in the engine's order what the engine did; asserts that all is the same."""

    naive: NaiveEGraph
    explorer: NaiveExplorer
    kind: str

    def run(self, engine, multi, phases):
        self.end()
        for number, end in enumerate(engine.ends):
            skipped = 0
            for due in phases_of(number, multi, phases):
                skipped += self.phase(due, [i for i in engine.attempts[number] if due(i.rule)])
            assert skipped == engine.skipped[number]
            assert naive_rows_of(self.naive) == end

    def phase(self, due, attempts):
        """Check that what is to do was tried, each match once; return how many were skipped."""
        found = self.explorer.candidates(due)
        tried = [match for attempt in attempts for match in attempt.matches]
        assert len(tried) == len(set(tried))
        skipped = 0
        if self.kind == "efficient":  # asks once, of the e-graph before anything is applied
            closing = {match for match, made in found.items() if self.closes(match, made)}
            skipped = len(closing)
            found = {match: made for match, made in found.items() if match not in closing}
        assert set(tried) == found.keys()
        for attempt in attempts:
            self.apply(attempt, {match: found[match] for match in attempt.matches})
            skipped += attempt.skipped
        self.end()
        return skipped

    def apply(self, attempt, made):
        if self.kind == "vanilla":
            ((match, one),) = made.items()
            assert attempt.skipped == self.closes(match, one)
        if not attempt.skipped:
            self.explorer.apply(made)
        if self.kind == "vanilla":
            self.end()

    def closes(self, match, made):
        return self.explorer.closes_cycle(match, made)

    def end(self):
        self.explorer.finish()
        if self.kind != "none":
            self.naive.ban_cycles()


def compared(graph, rules, kind, multi=2, iterations=2, phases=False):
    """Explore with both and compare after every iteration; return what both came to."""
    egraph, naive = EGraph(), NaiveEGraph()
    egraph.load(graph)
    naive.load(graph)
    engine = recorded(egraph, rules, kind, phases, multi=multi, iterations=iterations)
    Replay(naive, NaiveExplorer(naive, rules), kind).run(engine, multi, phases)
    return engine, naive


@st.composite
def graphs(draw):
    """Draw graphs in which products share operands, with few sums."""
    builder = GraphBuilder()
    values = [builder.add(leaf(name, 4, 4)) for name in "ab"]
    values += [builder.add(weight(name, 4, 4)) for name in "vw"]
    kinds = [Neg(), Relu(), Add(), Mul(), MatMul(), MatMul(), MatMul(), Transpose(), Scale(2)]
    for _ in range(draw(st.integers(3, 9))):
        op = draw(st.sampled_from(kinds))
        pick = st.integers(0, len(values) - 1)
        values.append(builder.add(op, [values[draw(pick)] for _ in range(type(op).arity or 1)]))
    return builder.build([Output("o", values[-1]), Output("p", values[-2])])


@settings(max_examples=50)
@given(graph=graphs())
def test_saturation_with_merged_pairs_is_that_of_algorithm_one(graph):
    engine, _ = compared(graph, (*SINGLE, NARROW, LOW), "none", multi=30, iterations=30)
    assert engine.stop is StopReason.SATURATED


@pytest.mark.parametrize("phases", [False, True], ids=["together", "phases"])
@pytest.mark.parametrize("kind", FILTERS)
@settings(max_examples=30)
@given(graph=graphs())
def test_every_iteration_does_what_the_oracle_does_in_that_order(kind, phases, graph):
    compared(graph, EXPLOSIVE, kind, phases=phases)


@pytest.mark.slow
@pytest.mark.parametrize("phases", [False, True], ids=["together", "phases"])
@pytest.mark.parametrize("kind", FILTERS)
@settings(max_examples=300)
@given(graph=graphs())
def test_on_many_graphs_every_iteration_does_what_the_oracle_does(kind, phases, graph):
    compared(graph, EXPLOSIVE, kind, multi=1, iterations=3, phases=phases)


NETWORKS = {
    "nasrnn": nasrnn(width=8, steps=1),
    "bert": bert_tensat(width=8, heads=2, layers=2),
}
# The oracle knows no groups.
RULES = {
    name: tuple(rule for rule in rules if rule.group is None) for name, rules in RULE_SETS.items()
}


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", NETWORKS)
def test_real_rules_do_to_networks_what_the_oracle_does(name, rules, kind):
    engine, naive = compared(NETWORKS[name], RULES[rules], kind, multi=1)
    assert len(naive.live()) > len(NETWORKS[name]) + 50
    applied = {match.rule for item in engine.attempts[0] for match in item.matches}
    assert {rule for rule in applied if "share" in rule}


@pytest.mark.parametrize("kind", ["efficient", "vanilla"])
def test_the_oracle_sees_matches_skipped_and_rows_banned(kind):
    builder = GraphBuilder()
    a = builder.add(leaf("a", 4, 4))
    b = builder.add(Neg(), [a])
    c = builder.add(Relu(), [b])
    d = builder.add(Neg(), [builder.add(Neg(), [c])])
    graph = builder.build([Output("o", builder.add(Mul(), [d, c])), Output("p", d)])
    engine, naive = compared(graph, EXPLOSIVE, kind, iterations=3)
    assert sum(engine.skipped) > 0
    assert naive.banned


# --- in any order ----------------------------------------------------------------------------------


def unfiltered(graph, rules, complete=False):
    """Return the oracle's e-graph after two iterations in which everything found is applied."""
    naive = NaiveEGraph()
    naive.load(graph)
    explorer = NaiveExplorer(naive, rules, complete)
    for _ in range(2):
        for match, made in explorer.candidates().items():
            explorer.apply({match: made})
        explorer.finish()
    return naive


@pytest.mark.parametrize("kind", FILTERS[1:])
@settings(max_examples=30)
@given(graph=graphs())
def test_a_filter_takes_away_and_never_adds(kind, graph):
    """What is equal under a filter is equal without; if nothing was filtered, that is all there is."""
    egraph = EGraph()
    egraph.load(graph)
    engine = recorded(egraph, EXPLOSIVE, kind, multi=2, iterations=2)
    naive = unfiltered(graph, EXPLOSIVE, complete=True)
    size = len(naive.born)
    place: dict[int, int] = {}
    for row, op, kids, cls, _ in engine.ends[-1]:
        found = place[row] = naive.add(op, [place[kid] for kid in kids])
        assert len(naive.born) == size, "the filtered e-graph has a term that the other one has not"
        assert place[cls] == found, "two values are equal only in the filtered e-graph"
    if not sum(engine.skipped) and not egraph.banned_count:
        same = unfiltered(graph, EXPLOSIVE)
        assert egraph.node_count == len(same.live())
        assert egraph.class_count == len(same.partition())


def test_of_two_matches_that_close_a_cycle_together_the_vanilla_filter_applies_the_first():
    """So under a filter no partition holds for every order of application."""
    builder = GraphBuilder()
    a = builder.add(Neg(), [builder.add(leaf("x", 4, 4))])
    b = builder.add(Relu(), [builder.add(leaf("y", 4, 4))])
    over_b, over_a = builder.add(Scale(1), [b]), builder.add(Scale(2), [a])
    tops = [over_b, over_a, *(builder.add(Transpose(), [item]) for item in (a, b))]
    graph = builder.build([Output(f"o{i}", top) for i, top in enumerate(tops)])
    under_a = Rule("under-a", (neg(x), transpose(y)), (scale(y, factor=1), transpose(y)))
    under_b = Rule("under-b", (relu(x), transpose(y)), (scale(y, factor=2), transpose(y)))
    for first, second in ((under_a, under_b), (under_b, under_a)):
        egraph = EGraph()
        egraph.load(graph)
        Explorer(egraph, (first, second), Limits(multi=5), cycle_filter="vanilla").run()
        assert (egraph.find(a) == egraph.find(over_b)) == (first is under_a)
        assert (egraph.find(b) == egraph.find(over_a)) == (first is under_b)
