"""The tables of exploring: every part runs, says what went wrong, and checks what it claims to check."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import cases, memory, saturation
from benchmarks.cases import FULL, QUICK
from benchmarks.exploring import RULES, Case, Explored, explored
from benchmarks.models.networks import NETWORKS
from benchmarks.parts import PARTS, Part, Row
from benchmarks.provenance import overhead, without_provenance
from benchmarks.published import SECONDS, seconds
from benchmarks.saturation import chosen, faults, measured, rows, table
from benchmarks.soundness import is_acyclic, is_extractable
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer, Limits, StopReason
from tensaur.errors import RuntimeFailure
from tests.benchmarks import child

WIDTHS = {"bert-tensat": 32, "nasrnn": 8, "nasrnn-unshared": 8, "nasnet-a": 2}
SMALL = Case("nasrnn", ("tensat",), Limits(3000, 60.0, 6, 1), width=8, runs=1)


def _small(case: Case) -> Case:
    """Return a case with a network and limits that take no time to speak of."""
    limits = replace(case.limits, nodes=1000, seconds=min(0.5, case.limits.seconds))
    if case.cycle_filter == "efficient":
        limits = replace(limits, seconds=60.0)
    layers = 2 if case.network == "bert-tensat" else None
    width = WIDTHS[case.network]
    return replace(case, limits=limits, layers=layers, width=width, runs=min(case.runs, 2))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_runs(part: Part) -> None:
    found = []
    for case in list(part.cases(QUICK))[:6]:
        small = _small(case)
        found.append(Row(small, part.measure(small)))
    made = table(part, found, QUICK)
    assert all(len(line) == len(made.head) for line in made.body)
    assert "failed" not in made.text() + made.markdown()
    assert not made.notes, "no check may fail"
    assert json.loads(json.dumps([asdict(row) for row in found]))


def test_both_forms_tell_the_same() -> None:
    part = PARTS[0]
    found = [Row(SMALL, explored(SMALL)), Row(SMALL, None, "crashed: SIGKILL")]
    made = table(part, found, FULL)
    for form in (made.text(), made.markdown()):
        words = form.replace("|", " ").split()
        for line in made.body:
            assert all(word in words for cell in line for word in cell.split())
        assert "1,000,000 e-nodes" in " ".join(words)
        assert "nasrnn, k_multi 1: crashed: SIGKILL" in form
    assert made.body[1] == ["nasrnn", "1", *["failed"] * 11, ""]


def test_an_exploration_is_what_the_engine_gives() -> None:
    found = explored(replace(SMALL, runs=3, checked=True, priced=5.0))
    egraph = EGraph()
    egraph.load(SMALL.build())
    exploration = Explorer(egraph, RULES["tensat"](), SMALL.limits).run()
    assert (found.nodes, found.classes) == (egraph.node_count, egraph.class_count)
    assert (found.banned, found.iterations) == (egraph.banned_count, len(exploration.records))
    assert exploration.stop is StopReason.SATURATED and found.stop == "saturated"
    assert found.loaded < found.nodes
    assert found.runs == 3 and 0 < found.parts.total <= found.seconds
    assert found.acyclic and found.extractable
    assert found.price is not None
    assert found.price.bound <= found.price.cost <= found.price.before


def test_a_process_gives_what_exploring_here_gives() -> None:
    row = measured(SMALL, explored)
    here = explored(SMALL)
    assert isinstance(row.found, Explored), row.fault
    assert (row.found.nodes, row.found.classes) == (here.nodes, here.classes)
    assert row.found.megabytes is None or 0 <= row.found.megabytes < 500


def test_a_process_that_dies_gives_a_row_and_the_others_go_on() -> None:
    part = replace(PARTS[0], measure=child.dies)  # type: ignore[arg-type]  # it returns nothing
    found = rows(part, [SMALL, replace(SMALL, network="rnntc")])
    assert [row.case.network for row in found] == ["nasrnn", "rnntc"]
    assert all(row.fault == "crashed: SIGKILL" and row.found is None for row in found)
    assert table(part, found, QUICK).notes == [
        "nasrnn, k_multi 1: crashed: SIGKILL",
        "rnntc, k_multi 1: crashed: SIGKILL",
    ]


def test_a_process_that_takes_too_long_gives_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saturation, "allowed", lambda case: 0.01)
    assert measured(SMALL, explored).fault == "stopped after 0 s"


def test_a_check_that_fails_is_noted() -> None:
    found = replace(explored(SMALL), acyclic=False, extractable=False)
    assert faults(Row(SMALL, found)) == ["a cycle is left", "a class is lost"]
    part = next(part for part in PARTS if part.name == "filters")
    assert table(part, [Row(SMALL, found)], QUICK).notes == [
        "nasrnn, k_multi 1, filter efficient: a cycle is left",
        "nasrnn, k_multi 1, filter efficient: a class is lost",
    ]


def test_an_exploration_cut_off_takes_longer_than_shown() -> None:
    found = replace(explored(SMALL), stop="time limit", seconds=12.0)
    assert "> 12.0" in table(PARTS[0], [Row(SMALL, found)], QUICK).body[0]


# --- checks and what they check --------------------------------------------------------------------


def _explored(cycle_filter: str) -> EGraph:
    egraph = EGraph()
    egraph.load(SMALL.build())
    Explorer(egraph, RULES["tensat"](), SMALL.limits, cycle_filter=cycle_filter).run()
    return egraph


def test_cycles_are_seen() -> None:
    assert not is_acyclic(_explored("none").rows())
    assert is_acyclic(_explored("efficient").rows())


def test_a_row_that_has_its_own_class_below_it_is_a_cycle() -> None:
    rows = _explored("efficient").rows()
    assert is_acyclic(rows)
    at = int(np.flatnonzero(np.diff(rows.child_start) & ~rows.banned)[0])
    child = rows.child.copy()
    child[rows.child_start[at]] = rows.cls[at]
    assert not is_acyclic(replace(rows, child=child))
    banned = rows.banned.copy()
    banned[at] = True
    assert is_acyclic(replace(rows, child=child, banned=banned))


def test_a_class_without_unbanned_row_is_lost() -> None:
    rows = _explored("efficient").rows()
    assert is_extractable(rows)
    assert not is_extractable(replace(rows, banned=rows.banned | (rows.cls == rows.cls[0])))


def test_exploring_without_provenance_gives_the_same_and_keeps_nothing() -> None:
    kept = _explored("efficient")
    with without_provenance():
        bare = _explored("efficient")
    again = _explored("efficient")
    for egraph in (bare, again):
        for name in ("symbol", "cls", "child", "banned"):
            np.testing.assert_array_equal(
                getattr(egraph.rows(), name), getattr(kept.rows(), name), err_msg=name
            )
    for egraph, keeps in ((kept, True), (bare, False), (again, True)):
        assert bool(list(egraph.instances.batches())) is keeps
        assert bool(len(egraph.unions.cause.view)) is keeps
        assert bool(len(egraph.nodes.birth_kids.view)) is keeps


def test_an_e_graph_that_differs_without_provenance_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert overhead(SMALL).rounds == 1
    counts = iter(range(10))
    monkeypatch.setattr("benchmarks.provenance._outline", lambda run: next(counts))
    with pytest.raises(RuntimeFailure, match="without provenance there are other e-nodes"):
        overhead(SMALL)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_memory_that_is_given_back_counts_until_the_next_reset() -> None:
    memory.reset_peak()
    before = memory.resident_mb()
    block = b"x" * 200_000_000
    del block
    peak = memory.peak_mb()
    assert before is not None and peak is not None
    assert 190 < peak - before < 300
    memory.reset_peak()
    after = memory.peak_mb()
    assert after is not None and after < peak - 100


# --- choosing --------------------------------------------------------------------------------------


def test_choice_of_networks() -> None:
    assert chosen([], quick=True) == QUICK
    assert chosen([], quick=False) == FULL
    assert chosen(["vgg19"], quick=True).networks == ("vgg19",)
    with pytest.raises(SystemExit, match="no network 'nothing'"):
        chosen(["nothing"], quick=False)


def test_parts_have_names_and_cases_of_their_own() -> None:
    assert len({part.name for part in PARTS}) == len(PARTS)
    for part in PARTS:
        for scale in (QUICK, FULL):
            made = list(part.cases(scale))
            assert made
            assert len({part.label(Row(case, None)) for case in made}) == len(made)
            assert {case.network for case in made} <= set(NETWORKS)
            assert {name for case in made for name in case.rules} <= set(RULES)


def test_rule_sets_are_what_their_names_say() -> None:
    pairwise, group, library = (set(RULES[name]()) for name in ("pairwise", "group", "library"))
    assert pairwise and group and not pairwise & group
    assert pairwise | group < library
    assert not any(rule.is_multi for rule in RULES["tensat-single"]())


def test_biases_are_left_out_where_there_are_some() -> None:
    with_biases = replace(SMALL, network="vgg19", width=2)
    without = replace(with_biases, biases=False)
    assert len(without.build()) < len(with_biases.build())
    assert len(replace(SMALL, biases=False).build()) == len(SMALL.build())


def test_published_seconds_stand_beside_the_cases_they_are_of() -> None:
    for network, by_multi in SECONDS.items():
        for multi in by_multi:
            assert cases.FULL.multi.count(multi) and network in FULL.networks
            assert network in FULL.compared and multi in FULL.compared_multi
    assert seconds("nasrnn-unshared", 2, "vanilla") == "2932"
    assert seconds("nasrnn", 2, "vanilla") == ""
