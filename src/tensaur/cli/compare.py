"""`tensaur compare`: are two models equal, and which is faster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tensaur import comparison, report
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.options import Options

First = Annotated[Path, typer.Argument(metavar="A.ONNX", show_default=False)]
Second = Annotated[Path, typer.Argument(metavar="B.ONNX", show_default=False)]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", metavar="SECONDS", help="Time for timing.")
]


def command(
    first: First,
    second: Second,
    time_limit: TimeLimit = 10.0,
    threads: given.Threads = 1,
    dim: given.Dims = [],  # noqa: B006  # read by typer, never changed
    inputs: given.Inputs = None,
    seed: given.Seed = 0,
    json: given.JsonReport = None,
    quiet: given.Quiet = False,
) -> None:
    """Compare the outputs of two models and time them in turn; exit code 1 if the outputs differ."""
    settings = Options(
        seconds=time_limit,
        threads=threads,
        sizes=given.sizes(dim),
        inputs=given.arrays(inputs),
        seed=seed,
    )
    given.check_outputs([first, second, inputs], [json])
    with progress(quiet) as say:
        found = comparison.compare(
            first,
            second,
            threads=settings.threads,
            sizes=settings.sizes,
            inputs=settings.inputs,
            seed=settings.seed,
            seconds=settings.seconds,
            say=say,
        )
    if json is not None:
        report.save_json(
            {"schema": report.SCHEMA, "equal": found.equal, **report.plain(found)}, json
        )
    if not quiet:
        print(report.side_by_side_text(found, str(first), str(second)))
    if not found.equal:
        raise typer.Exit(1)
