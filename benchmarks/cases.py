"""What the table of exploring explores: networks, rules, limits and schedules, by part and scale.

Measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from benchmarks.exploring import Case
from benchmarks.models.networks import NETWORKS
from tensaur.egraph.explore import Backoff, Limits, Schedule
from tensaur.options import Options
from tensaur.pipeline import EXPLORING


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is explored: networks, k_multi, limits.

    `compared` networks are those of the filters, the schedules and provenance, `grouped` those of the
    group rules. `nodes` and `seconds` bound a single exploration with TenSat's rules. `runs` of a short
    exploration are made, and `rounds` of each kind for provenance; `largest` adds half a million e-nodes
    to the latter.
    """

    networks: tuple[str, ...]
    compared: tuple[str, ...]
    grouped: tuple[str, ...]
    multi: tuple[int, ...]
    library_multi: tuple[int, ...]
    compared_multi: tuple[int, ...]
    layers: tuple[int, ...]
    node_limits: tuple[int, ...]
    nodes: int
    seconds: float
    vanilla_seconds: float
    extraction_seconds: float
    runs: int
    rounds: int
    largest: bool


# TenSat's k_max.
ITERATIONS = 15
# What TenSat's papers and ours call BERT, NasRNN and NasNet-A.
_COMPARED = ("bert-tensat", "nasrnn-unshared", "nasnet-a")
# Measured to fill a limit of a million e-nodes.
FILLING, FILLING_MULTI = "nasrnn", 4

FULL = Scale(
    networks=tuple(NETWORKS),
    compared=_COMPARED,
    grouped=("bert-tensat", "nasrnn"),
    multi=(0, 1, 2, 3),
    library_multi=(0, 1, 2),
    compared_multi=(1, 2),
    layers=(8, 24, 96),
    node_limits=(10_000, 30_000, 100_000, 300_000, 500_000, 1_000_000),
    nodes=1_000_000,
    seconds=120.0,
    vanilla_seconds=120.0,
    extraction_seconds=20.0,
    runs=5,
    rounds=9,
    largest=True,
)
QUICK = replace(
    FULL,
    networks=("bert-tensat", "nasrnn"),
    compared=_COMPARED[:1],
    grouped=("bert-tensat",),
    multi=(1, 2),
    library_multi=(1,),
    compared_multi=(1,),
    layers=(4, 8),
    node_limits=(10_000, 30_000),
    nodes=100_000,
    seconds=5.0,
    vanilla_seconds=2.0,
    extraction_seconds=5.0,
    runs=1,
    rounds=3,
    largest=False,
)


def _tensat(scale: Scale, network: str, multi: int) -> Case:
    """Return the exploration of a network as TenSat has it: its rules, no biases."""
    limits = Limits(scale.nodes, scale.seconds, ITERATIONS, multi)
    return Case(network, ("tensat",), limits, biases=False, runs=scale.runs)


def explore_cases(scale: Scale) -> Iterator[Case]:
    """Yield every network with the rules of TenSat."""
    for network, multi in product(scale.networks, scale.multi):
        yield _tensat(scale, network, multi)


def default_limits(scale: Scale, multi: int) -> Limits:
    """Return the limits that Tensaur has by default."""
    options = Options()
    seconds = min(scale.seconds, EXPLORING * options.seconds)
    return Limits(options.nodes, seconds, options.iterations, multi)


def library_cases(scale: Scale) -> Iterator[Case]:
    """Yield every network with Tensaur's rules and limits."""
    for network, multi in product(scale.networks, scale.library_multi):
        yield Case(network, ("library",), default_limits(scale, multi), runs=scale.runs)


def _compared(scale: Scale) -> Iterator[Case]:
    for network, multi in product(scale.compared, scale.compared_multi):
        yield _tensat(scale, network, multi)


def filter_cases(scale: Scale) -> Iterator[Case]:
    """Yield explorations with either cycle filter, to be checked."""
    for case in _compared(scale):
        yield replace(case, checked=True)
        limits = replace(case.limits, seconds=scale.vanilla_seconds)
        yield replace(case, checked=True, cycle_filter="vanilla", limits=limits)


def growth_cases(scale: Scale) -> Iterator[Case]:
    """Yield BERT with more and more layers."""
    for layers, multi in product(scale.layers, scale.compared_multi):
        yield replace(_tensat(scale, "bert-tensat", multi), layers=layers)


def limit_cases(scale: Scale) -> Iterator[Case]:
    """Yield one network under larger and larger limits of e-nodes."""
    for nodes in scale.node_limits:
        case = _tensat(scale, FILLING, FILLING_MULTI)
        yield replace(case, limits=replace(case.limits, nodes=nodes))


SCHEDULES = {
    "all at once": Schedule(),
    "phases": Schedule(phases=True),
    "backoff": Schedule(backoff=Backoff()),
}


def phase_cases(scale: Scale) -> Iterator[Case]:
    """Yield explorations by every schedule."""
    for case, schedule in product(_compared(scale), SCHEDULES.values()):
        yield replace(case, schedule=schedule)


def group_cases(scale: Scale) -> Iterator[Case]:
    """Yield pairwise multi-patterns, group rules and both, alone and with other rules."""
    multi_rules = (("pairwise",), ("group",), ("pairwise", "group"))
    for network, other, multi, rules in product(
        scale.grouped, ((), ("tensat-single",)), scale.compared_multi, multi_rules
    ):
        limits = default_limits(scale, multi)
        priced = scale.extraction_seconds
        yield Case(network, (*rules, *other), limits, runs=scale.runs, priced=priced)


def provenance_cases(scale: Scale) -> Iterator[Case]:
    """Yield what provenance is measured on."""
    for network in scale.compared:
        yield replace(_tensat(scale, network, 2), runs=scale.rounds)
    if scale.largest:
        yield replace(_tensat(scale, "nasrnn-unshared", 3), runs=max(5, scale.rounds // 2))
