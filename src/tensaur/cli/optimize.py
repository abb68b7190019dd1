"""`tensaur optimize`: one model in, one model out, and what happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tensaur import pipeline, report
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.errors import ExtractionError, UsageError
from tensaur.options import Extractor, Options
from tensaur.rulefile import UserRules, load_rules
from tensaur.rules import ALL_RULES

DEFAULT = Options()

Out = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FAST.ONNX", help="Where to write; MODEL.opt.onnx if left out."
    ),
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", metavar="SECONDS", help="Bound on the whole run.")
]
NodeLimit = Annotated[int, typer.Option("--node-limit", help="Bound on the e-graph's nodes.")]
Iterations = Annotated[int, typer.Option("--iterations", help="Rounds of exploration.")]
Multi = Annotated[int, typer.Option("--multi", help="Rounds in which multi-pattern rules run.")]
Extract = Annotated[
    Extractor,
    typer.Option(
        "--extract",
        help="Extraction: optimal (ilp), greedy on the graph (dag) or on trees; the others, one solver "
        "alone and TenSat's programs, are there to compare with.",
    ),
]
CycleFilter = Annotated[
    Literal["efficient", "vanilla", "none"],
    typer.Option("--cycle-filter", help="How exploration keeps the e-graph free of cycles."),
]
Math = Annotated[
    Literal["exact", "rounding", "fast"],
    typer.Option(
        "--math",
        help="Rules admitted: equal bit for bit, over the reals, or up to NaN and overflow.",
    ),
]
MaxGrowth = Annotated[
    str | None,
    typer.Option(
        "--max-growth",
        metavar="BYTES",
        help="How much constants may grow (500kB, 2MB); if left out, the greater of 1 % and 1 MiB.",
    ),
]
Limit = Annotated[
    list[str],
    typer.Option(
        "--limit",
        metavar="METRIC=AMOUNT",
        help="Drop candidates above this (peak_memory=200MB, size, flops=2G, bytes, launches); a filter, "
        "not a search for the best below it. Repeat it for several.",
    ),
]
Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules",
        metavar="FILE.PY",
        help="Your own rules (its RULES); each is verified before it is used.",
    ),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Use those of your rules too that nothing could be tried on."),
]
EGraph = Annotated[
    Path | None,
    typer.Option(
        "--egraph",
        metavar="EGRAPH.JSON",
        help="Write the priced e-graph too, in the egraph-serialize format.",
    ),
]


def command(
    model: given.Model,
    output: Out = None,
    cost: given.Cost = "latency",
    time_limit: TimeLimit = DEFAULT.seconds,
    node_limit: NodeLimit = DEFAULT.nodes,
    iterations: Iterations = DEFAULT.iterations,
    multi: Multi = DEFAULT.multi,
    extract: Extract = "ilp",
    cycle_filter: CycleFilter = "efficient",
    math: Math = "rounding",
    max_growth: MaxGrowth = None,
    limit: Limit = [],  # noqa: B006  # read by typer, never changed
    threads: given.Threads = DEFAULT.threads,
    dim: given.Dims = [],  # noqa: B006  # read by typer, never changed
    inputs: given.Inputs = None,
    rules: Rules = None,
    trust: Trust = False,
    seed: given.Seed = DEFAULT.seed,
    json: given.JsonReport = None,
    egraph: EGraph = None,
    quiet: given.Quiet = False,
) -> None:
    """Optimise a model for this machine; the result is checked and never slower than the original."""
    settings = Options(
        cost=given.cost(cost),
        seconds=time_limit,
        nodes=node_limit,
        iterations=iterations,
        multi=multi,
        extract=extract,
        cycle_filter=cycle_filter,
        math=math,
        max_growth=None if max_growth is None else given.nbytes(max_growth, "--max-growth"),
        limits=given.limits(limit),
        threads=threads,
        sizes=given.sizes(dim),
        inputs=given.arrays(inputs),
        seed=seed,
        store=given.store(),
    )
    beside = model.parent / f"{model.stem}.opt.onnx"
    target = beside if output is None else output
    given.check_outputs([model, inputs, rules], [target, json, egraph])
    if rules is not None:
        own = _own_rules(rules, trust, quiet)
        settings = replace(settings, rules=own.rules, trusted=own.trusted)
    elif trust:
        raise UsageError("--trust: there are no --rules to trust")
    run(model, target, settings, json, quiet, egraph)


def _own_rules(path: Path, trust: bool, quiet: bool) -> UserRules:
    with progress(quiet) as say:
        taken = [rule.name for rule in ALL_RULES]
        return load_rules(path, taken, say, trust, given.verdicts())


def run(
    model: Path,
    output: Path,
    settings: Options,
    json: Path | None,
    quiet: bool,
    egraph: Path | None = None,
) -> None:
    """Optimise `model` into `output` and report."""
    with progress(quiet) as say:
        result = pipeline.optimize(model, options=settings, progress=say)
        result.save(output)
    if egraph is not None:
        if result.egraph is None:
            raise ExtractionError(f"{egraph}: not written, there was no time to extract anything")
        result.egraph.save(egraph)
    if json is not None:
        report.save_json(report.as_dict(result), json)
    if not quiet:
        print(report.result_text(result, str(model), str(output)))
