"""`tensaur inspect`: what a model consists of and what its operators cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tensaur import inspection, onnx_io, report
from tensaur.cli import options as given
from tensaur.options import Options
from tensaur.output import write_beside

Dot = Annotated[
    Path | None,
    typer.Option("--dot", metavar="GRAPH.DOT", help="Write the graph for Graphviz too."),
]


def command(
    model: given.Model,
    cost: given.Cost = "latency",
    threads: given.Threads = 1,
    dim: given.Dims = [],  # noqa: B006  # read by typer, never changed
    json: given.JsonReport = None,
    dot: Dot = None,
) -> None:
    """Show a model's interface, operators, parameters and estimated cost by operator."""
    settings = Options(
        cost=given.cost(cost), threads=threads, sizes=given.sizes(dim), store=given.store()
    )
    given.check_outputs([model], [json, dot])
    source = onnx_io.read(model)
    found = inspection.inspect_source(source, settings)
    if json is not None:
        report.save_json({"schema": report.SCHEMA, **report.inspection_dict(found)}, json)
    if dot is not None:
        write_beside(dot, report.dot(source.graph).encode())
    print(report.inspection_text(found, str(model)))
