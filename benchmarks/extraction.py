"""Extraction: every method on the papers' e-graphs and on e-graphs in files; cost, bound, gap, seconds, memory.

Run as ``python -m benchmarks.extraction``. Each method has a process of its own for each e-graph, with one
thread a solver; memory (MB) is what it adds at most to what was in use before. What it chose is judged from
the e-graph's file by code that shares nothing with the methods (`verdict.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks import memory, published
from benchmarks.apart import apart
from benchmarks.cases import ITERATIONS
from benchmarks.environment import environment
from benchmarks.exploring import Case, explore
from benchmarks.models.networks import NETWORKS as ALL_NETWORKS
from benchmarks.saturation import ONE_THREAD
from benchmarks.tables import Table, tables_markdown, tables_text
from benchmarks.verdict import verdict
from tensaur.cost.analytic import Roofline
from tensaur.cost.query import never
from tensaur.egraph.explore import Limits
from tensaur.errors import RuntimeFailure
from tensaur.extract.cpsat import is_installed
from tensaur.extract.serialized import operators, read, write
from tensaur.extract.solve import ALONE, METHODS, extract
from tensaur.extract.space import Space

_PACKAGES = ("tensaur", "numpy", "scipy", "highspy", "ortools")
# What TenSat's paper calls BERT, NasRNN and NasNet-A, and its limit of e-nodes.
NETWORKS = ("bert-tensat", "nasrnn-unshared", "nasnet-a")
NODES, EXPLORING_SECONDS = 50_000, 120.0
# With the library's rules.
OWN_NODES, OWN_METHODS = 20_000, ("ilp", "dag", "tree")
# Without CP-SAT, HiGHS alone is all there is.
_METHODS = [name for name in METHODS if name not in ALONE or is_installed()]
# Programs with order variables are there for e-graphs with cycles, the one without for those without.
FILTERS = {
    "efficient": tuple(name for name in _METHODS if name not in ("ilp-real", "ilp-integer")),
    "none": tuple(name for name in _METHODS if name != "ilp-acyclic"),
}
# A process may take so much longer than its time limit.
_GRACE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Solved:
    """What a method gave on one e-graph; costs in the file's unit."""

    nodes: int
    classes: int
    cost: Decimal
    bound: Decimal
    gap: float
    proved: bool
    prover: str
    stop: str
    seconds: float
    megabytes: float | None
    fault: str


def solved(path: Path, method: str, seconds: float, seed: int) -> Solved:
    """Solve what a file holds, in a process in which nothing was solved before."""
    found = read(path)
    memory.reset_peak()
    before = memory.resident_mb()
    solution = extract(found.problem, method, seconds=seconds, seed=seed)
    peak = memory.peak_mb()
    cost = Decimal(solution.cost) / found.scale
    chosen = [found.node[row] for row in solution.rows.tolist() if found.node[row]]
    file = json.loads(path.read_text(), parse_float=Decimal)
    return Solved(
        len(file["nodes"]),
        len(np.unique(found.problem.node_class)),
        cost,
        Decimal(solution.lower_bound) / found.scale,
        solution.gap,
        solution.proved,
        solution.prover,
        solution.stop.name.lower().replace("_", " "),
        solution.seconds,
        None if before is None or peak is None else peak - before,
        verdict(file, chosen, cost),
    )


def as_tensat(network: str, multi: int, cycle_filter: str) -> Case:
    """Return how TenSat explores a network."""
    limits = Limits(NODES, EXPLORING_SECONDS, ITERATIONS, multi)
    return Case(network, ("tensat",), limits, biases=False, cycle_filter=cycle_filter)


def explored(case: Case, path: Path) -> str:
    """Explore a network and write its e-graph, priced on paper; return why it ended."""
    graph = case.build()
    run = explore(case, graph, case.rule_set())
    space = Space(run.egraph, run.root, graph.constants, never)
    pricer = Roofline()
    prices = np.array([pricer.estimate(query) for query in space.queries], dtype=float)
    problem = space.problem(prices, np.zeros(len(prices), dtype=bool), None)
    write(problem, operators(space, problem), path, space.scale(prices))
    return run.exploration.stop.name.lower().replace("_", " ")


HEAD = ("e-graph", "e-nodes", "classes", "method", "cost", "bound", "gap, %", "by", "s", "MB")


def line(name: str, method: str, found: Solved) -> list[str]:
    """Return a row of the table."""
    return [
        name,
        f"{found.nodes:,}",
        f"{found.classes:,}",
        method,
        f"{found.cost:,}",
        "proved" if found.proved else f"{found.bound:,}",
        "0" if found.proved else f"{100 * found.gap:.2f}",
        found.prover if found.proved else found.stop,
        f"{found.seconds:.2f}",
        "" if found.megabytes is None else f"{found.megabytes:,.0f}",
    ]


def table(title: str, remark: str, files: Iterator[File], options: argparse.Namespace) -> Table:
    """Solve some files by every method that each is for."""
    body, notes = [], []
    for file in files:
        for method in file.methods:
            if options.method is not None and method not in options.method:
                continue
            label = f"{file.name}, {method}"
            try:
                found = apart(
                    solved,
                    file.path,
                    method,
                    options.seconds,
                    options.seed,
                    seconds=options.seconds + _GRACE_SECONDS,
                    environment=ONE_THREAD,
                )
            except RuntimeFailure as error:
                notes.append(f"{label}: {error}")
                continue
            body.append(line(file.name, method, found))
            if found.fault:
                notes.append(f"{label}: {found.fault}")
            print(f"{label}: {found.cost} in {found.seconds:.1f} s", file=sys.stderr, flush=True)
    return Table(HEAD, body, notes, title, remark)


@dataclass(frozen=True, slots=True)
class File:
    """An e-graph in a file, what the table calls it, and the methods that are for it."""

    name: str
    path: Path
    methods: Sequence[str]


def given_files(folder: Path) -> Iterator[File]:
    """Yield the e-graphs of a folder."""
    for path in sorted(folder.glob("*.json")):
        yield File(path.stem.removeprefix("egraph_"), path, _METHODS)


def network_files(networks: Sequence[str], multi: Sequence[int], folder: Path) -> Iterator[File]:
    """Explore the networks, each in a process of its own, and yield the files of their e-graphs."""
    for network in networks:
        for rounds in multi:
            for cycle_filter, methods in FILTERS.items():
                path = folder / f"{network}-{rounds}-{cycle_filter}.json"
                case = as_tensat(network, rounds, cycle_filter)
                apart(explored, case, path, environment=ONE_THREAD)
                cycles = "" if cycle_filter == "efficient" else ", cycles"
                yield File(f"{network}, k{rounds}{cycles}", path, methods)


def library_files(networks: Sequence[str], multi: Sequence[int], folder: Path) -> Iterator[File]:
    """Explore networks with all rules of the library, as optimising does, and yield the files."""
    for network in networks:
        for rounds in multi:
            path = folder / f"{network}-{rounds}.json"
            limits = Limits(OWN_NODES, EXPLORING_SECONDS, ITERATIONS, rounds)
            apart(explored, Case(network, ("library",), limits), path, environment=ONE_THREAD)
            yield File(f"{network}, k{rounds}", path, OWN_METHODS)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extraction", description=__doc__)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="e-graphs in files (*.json) instead"
    )
    parser.add_argument("--quick", action="store_true", help="one small network, short limits")
    parser.add_argument(
        "--library", action="store_true", help="all networks of the project, with its own rules"
    )
    parser.add_argument("--only", nargs="+", choices=ALL_NETWORKS, help="only these networks")
    parser.add_argument("--multi", nargs="+", type=int, default=[1, 2], help="rounds of k_multi")
    parser.add_argument("--method", nargs="+", choices=METHODS, help="only these methods")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a method")
    parser.add_argument("--seed", type=int, default=0, help="seed of the solvers")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    return parser.parse_args(given)


def main() -> int:
    """Print the tables; 1 if a method failed, or what it chose is no solution."""
    options = arguments()
    networks = options.only or (list(ALL_NETWORKS) if options.library else NETWORKS)
    multi = options.multi
    if options.quick:
        networks, multi, options.seconds = NETWORKS[:1], [1], min(options.seconds, 5.0)
    limit = f"At most {options.seconds:.0f} s each."
    with tempfile.TemporaryDirectory() as folder:
        if options.data is not None:
            found = table("E-graphs in files", limit, given_files(options.data), options)
        elif options.library:
            files = library_files(networks, multi, Path(folder))
            found = table("The project's networks and rules", limit, files, options)
        else:
            files = network_files(networks, multi, Path(folder))
            found = table("The papers' e-graphs", f"{limit} {published.EXTRACTION}", files, options)
    print((tables_markdown if options.markdown else tables_text)([found], environment(_PACKAGES)))
    return int(bool(found.notes))


if __name__ == "__main__":
    sys.exit(main())
