"""`tensaur demo`: a network built here, optimised, and what was gained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tensaur import demo, pipeline, report
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.options import Options
from tensaur.output import check_writable

Keep = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FAST.ONNX", help="Write the optimised network too."),
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", metavar="SECONDS", help="Bound on the whole run.")
]


def command(output: Keep = None, time_limit: TimeLimit = 60.0, quiet: given.Quiet = False) -> None:
    """Optimise a network that is built on the spot: a text-line recogniser as exporters write it."""
    settings = Options(seconds=time_limit, store=given.store())
    if output is not None:
        check_writable(output)
    with progress(quiet) as say:
        result = pipeline.optimize(demo.model(), options=settings, progress=say)
    if output is not None:
        result.save(output)
    if not quiet:
        print(report.result_text(result, demo.TITLE, "" if output is None else str(output)))
