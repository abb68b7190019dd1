"""Exploring the papers' networks: e-graphs, seconds by part, memory, filters, schedules, provenance.

Run as ``python -m benchmarks.saturation``. Every exploration has a process of its own with one thread; a
short one is repeated there, in a fresh e-graph each time, and the quickest counts. Memory is what the
first one adds at most to what was in use before it. Loading a network is not timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace

from benchmarks.apart import apart
from benchmarks.cases import FULL, QUICK, Scale
from benchmarks.environment import environment
from benchmarks.exploring import Case, Explored
from benchmarks.models.networks import NETWORKS
from benchmarks.parts import PARTS, Found, Part, Row
from benchmarks.tables import Table, tables_markdown, tables_text
from tensaur.errors import RuntimeFailure

_PACKAGES = ("tensaur", "numpy", "scipy", "highspy")
# Set before anything is imported that would start threads.
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
}
# A process may take so many times an exploration's limit, and so many seconds, before it is stopped.
_GRACE, _GRACE_SECONDS = 4.0, 60.0


def measured(case: Case, measure: Callable[[Case], Found]) -> Row:
    """Measure one case in a process of its own; whatever goes wrong there is told, not raised."""
    try:
        return Row(case, apart(measure, case, seconds=allowed(case), environment=ONE_THREAD))
    except RuntimeFailure as error:
        return Row(case, None, str(error))


def allowed(case: Case) -> float:
    """Return the seconds after which the process of a case is stopped."""
    return _GRACE * (case.limits.seconds + (case.priced or 0.0)) + _GRACE_SECONDS


def rows(part: Part, cases: Iterable[Case]) -> list[Row]:
    """Measure the cases of a part; whatever goes wrong with one, the others go on."""
    found = []
    for case in cases:
        row = measured(case, part.measure)
        _say(f"{part.name}: {part.label(row)}: {row.fault or 'done'}")
        found.append(row)
    return found


def table(part: Part, found: Sequence[Row], scale: Scale) -> Table:
    """Return the table of a part."""
    return Table(
        [column.head for column in part.columns],
        [[column.text(row) for column in part.columns] for row in found],
        [f"{part.label(row)}: {fault}" for row in found for fault in faults(row)],
        part.title,
        part.remark(scale),
    )


def faults(row: Row) -> list[str]:
    """Return what is wrong with a row."""
    if row.found is None:
        return [row.fault]
    if not isinstance(row.found, Explored):
        return []
    checks = {"a cycle is left": row.found.acyclic, "a class is lost": row.found.extractable}
    return [text for text, passed in checks.items() if passed is False]


def chosen(names: Sequence[str], quick: bool) -> Scale:
    """Return the scale of a run that is restricted to some networks, if any are named."""
    scale = QUICK if quick else FULL
    unknown = [name for name in names if name not in NETWORKS]
    if unknown:
        raise SystemExit(f"no network {unknown[0]!r}; there are {', '.join(NETWORKS)}")
    return replace(scale, networks=tuple(names)) if names else scale


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saturation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of each part, under a minute")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these networks")
    parser.add_argument(
        "--part",
        nargs="+",
        default=[],
        choices=[part.name for part in PARTS],
        help="only these parts",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the tables as JSON")
    form.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    return parser.parse_args(given)


def main() -> int:
    """Print the tables; 1 if a measurement failed or a check did not pass."""
    options = arguments()
    scale = chosen(options.only, options.quick)
    parts = [part for part in PARTS if not options.part or part.name in options.part]
    found: dict[str, list[Row]] = {}
    for part in parts:
        cases = part.cases(scale)
        wanted = [case for case in cases if not options.only or case.network in options.only]
        if wanted:
            found[part.name] = rows(part, wanted)
    about = environment(_PACKAGES)
    if options.json:
        tables = {name: [asdict(row) for row in part] for name, part in found.items()}
        print(json.dumps({"environment": about, "parts": tables}, indent=2))
    else:
        printed = [table(part, found[part.name], scale) for part in parts if part.name in found]
        print((tables_markdown if options.markdown else tables_text)(printed, about))
    return int(any(faults(row) for part in found.values() for row in part))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
