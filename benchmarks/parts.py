"""The parts of the table of exploring: what each explores, how it is measured, what its rows say.

Data only; `saturation` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import cases, published
from benchmarks.cases import ITERATIONS, SCHEDULES, Scale, default_limits
from benchmarks.exploring import METRIC, Case, Explored, explored
from benchmarks.provenance import Overhead, overhead
from tensaur.egraph.record import Seconds
from tensaur.options import Options

Found = Explored | Overhead


@dataclass(frozen=True, slots=True)
class Row:
    """One case and what was measured; `fault` says why nothing was."""

    case: Case
    found: Found | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and what a row has below it; `tells` that it helps to tell the cases of a part apart."""

    head: str
    text: Callable[[Row], str]
    tells: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One table: what it explores at a scale, how that is measured, what it says of it."""

    name: str
    title: str
    cases: Callable[[Scale], Iterator[Case]]
    columns: tuple[Column, ...]
    remark: Callable[[Scale], str]
    measure: Callable[[Case], Found] = explored

    def label(self, row: Row) -> str:
        """Return what tells a row from the others."""
        first, *others = (column for column in self.columns if column.tells)
        return ", ".join([first.text(row), *(f"{item.head} {item.text(row)}" for item in others)])


def _of_case(head: str, text: Callable[[Case], str]) -> Column:
    return Column(head, lambda row: text(row.case), tells=True)


def _of_found(head: str, text: Callable[[Any], str]) -> Column:
    return Column(head, lambda row: "failed" if row.found is None else text(row.found))


def _count(value: int) -> str:
    return f"{value:,}"


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _whole(found: Explored) -> str:
    """Return the seconds; where time ran out, the whole exploration takes longer."""
    return ("> " if found.stop == "time limit" else "") + _seconds(found.seconds)


def _megabytes(found: Explored) -> str:
    return "" if found.megabytes is None else f"{found.megabytes:,.0f}"


def _yes(value: bool | None) -> str:
    return {True: "yes", False: "NO", None: ""}[value]


def _part(name: str) -> Column:
    def text(found: Explored) -> str:
        parts: Seconds = found.parts
        return _seconds(getattr(parts, name))

    return _of_found(name, text)


def _schedule(case: Case) -> str:
    return next(name for name, schedule in SCHEDULES.items() if schedule == case.schedule)


def _multi_rules(case: Case) -> str:
    return " + ".join(name for name in case.rules if name in ("pairwise", "group"))


def _published(case: Case) -> str:
    return published.seconds(case.network, case.limits.multi, case.cycle_filter)


def _bound(found: Explored) -> str:
    price = found.price
    assert price is not None
    return "yes" if price.bound == price.cost else f"no, at least {price.bound}"


_NETWORK = _of_case("network", lambda case: case.network)
_MULTI = _of_case("k_multi", lambda case: str(case.limits.multi))
_NODES = _of_found("e-nodes", lambda found: _count(found.nodes))
_CLASSES = _of_found("e-classes", lambda found: _count(found.classes))
_BANNED = _of_found("banned", lambda found: _count(found.banned))
_ITERATIONS = _of_found("iterations", lambda found: str(found.iterations))
_STOP = _of_found("stopped by", lambda found: found.stop.replace("saturated", "saturation"))
_SECONDS = _of_found("s", _whole)
_PARTS = tuple(_part(name) for name in ("match", "apply", "rebuild", "filter"))
_MEMORY = _of_found("MB", _megabytes)
_TENSAT = Column("TenSat, s", lambda row: _published(row.case))
_SIZE = (_NODES, _CLASSES, _BANNED, _ITERATIONS, _STOP)
_ALL = (_NETWORK, _MULTI, *_SIZE, _SECONDS, *_PARTS, _MEMORY)


def _limits(scale: Scale) -> str:
    return (
        f"Rules of `benchmarks/tensat.py`; at most {scale.nodes:,} e-nodes, {ITERATIONS} iterations and "
        f"{scale.seconds:.0f} s."
    )


PARTS: tuple[Part, ...] = (
    Part(
        "explore",
        "TenSat's rules",
        cases.explore_cases,
        (*_ALL, _TENSAT),
        lambda scale: (
            f"{_limits(scale)} Convolutions have no biases, as in TenSat's programs. "
            f"{published.SETTING} {published.FURTHER}"
        ),
    ),
    Part(
        "library",
        "Tensaur's rules and limits",
        cases.library_cases,
        _ALL,
        lambda scale: (
            "The rules that the defaults admit, group rules included, on the networks with their "
            f"biases: at most {Options().nodes:,} e-nodes, {Options().iterations} iterations and "
            f"{default_limits(scale, 0).seconds:.0f} s."
        ),
    ),
    Part(
        "filters",
        "Vanilla and efficient cycle filter",
        cases.filter_cases,
        (
            _NETWORK,
            _MULTI,
            _of_case("filter", lambda case: case.cycle_filter),
            _NODES,
            _BANNED,
            _STOP,
            _SECONDS,
            _of_found("acyclic", lambda found: _yes(found.acyclic)),
            _of_found("all extractable", lambda found: _yes(found.extractable)),
            _TENSAT,
        ),
        lambda scale: (
            f"{_limits(scale)} The vanilla filter, whose time is part of applying, has "
            f"{scale.vanilla_seconds:.0f} s. Whether the unbanned rows "
            "are acyclic and give every class an extraction is worked out from the rows by other code "
            f"than the filters'. {published.SETTING}"
        ),
    ),
    Part(
        "growth",
        "Growth with the number of layers",
        cases.growth_cases,
        (
            _NETWORK,
            _of_case("layers", lambda case: str(case.layers)),
            _MULTI,
            _of_found("loaded", lambda found: _count(found.loaded)),
            *_SIZE,
            _SECONDS,
            *_PARTS,
            _MEMORY,
        ),
        _limits,
    ),
    Part(
        "limits",
        "Growth with the limit of e-nodes",
        cases.limit_cases,
        (_NETWORK, _of_case("limit", lambda case: _count(case.limits.nodes)), *_ALL[1:]),
        lambda scale: (
            "A network that fills every limit. Rules of `benchmarks/tensat.py`; at most "
            f"{ITERATIONS} iterations and {scale.seconds:.0f} s."
        ),
    ),
    Part(
        "phases",
        "All rules at once, phases, backoff",
        cases.phase_cases,
        (_NETWORK, _MULTI, _of_case("schedule", _schedule), *_SIZE, _SECONDS),
        lambda scale: (
            f"{_limits(scale)} Phases are TenSat's: in each iteration the multi-pattern rules first, "
            "then the others on what they made. Backoff is egg's, with its defaults."
        ),
    ),
    Part(
        "groups",
        "Pairwise multi-patterns and group rules",
        cases.group_cases,
        (
            _NETWORK,
            _MULTI,
            _of_case("multi-pattern rules", _multi_rules),
            _of_case(
                "others", lambda case: "TenSat's" if "tensat-single" in case.rules else "none"
            ),
            _NODES,
            _STOP,
            _SECONDS,
            _of_found("cost before", lambda found: _count(found.price.before)),
            _of_found("cost", lambda found: _count(found.price.cost)),
            _of_found("proved", _bound),
        ),
        lambda scale: (
            "Tensaur's multi-pattern rules, alone and together with TenSat's single-pattern rules, under "
            f"Tensaur's limits. The cost is in kernels started (`{METRIC}`), the graph extracted by "
            f"integer programming within {scale.extraction_seconds:.0f} s."
        ),
    ),
    Part(
        "provenance",
        "What provenance costs",
        cases.provenance_cases,
        (
            _NETWORK,
            _MULTI,
            _NODES,
            _of_found("with, s", lambda found: _seconds(found.kept)),
            _of_found("without, s", lambda found: _seconds(found.dropped)),
            _of_found("more, %", lambda found: f"{found.percent:.1f}"),
            _of_found("rounds", lambda found: str(found.rounds)),
        ),
        lambda scale: (
            f"{_limits(scale)} Explored in turns in one process, as it is and with nothing kept that "
            "serves provenance alone; the least seconds of all rounds."
        ),
        overhead,
    ),
)
