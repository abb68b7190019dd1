"""`tensaur costs`: what measured prices are stored, measuring a model's now, and moving them about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tensaur import onnx_io, profiling, report
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.cost import exchange
from tensaur.cost.store import Store, default_path
from tensaur.cost.summary import dearest, summaries
from tensaur.errors import StoreError, UsageError
from tensaur.options import Options
from tensaur.report.costs import profile_text, store_dict, store_text

EPILOG = (
    "Exit codes: 0 done; 1 a model or file was refused, or the store cannot be used; 2 wrong usage."
)

app = typer.Typer(
    help="Look at measured costs, measure, move and clear them.",
    no_args_is_help=True,
    epilog=EPILOG,
)

Table = Annotated[Path, typer.Argument(metavar="FILE.JSON", show_default=False)]
Top = Annotated[int, typer.Option("--top", metavar="N", help="Show the N dearest signatures too.")]
Replace = Annotated[
    bool, typer.Option("--replace", help="Take the file's prices also where newer ones are here.")
]
All = Annotated[bool, typer.Option("--all", help="Clear everything.")]
Runtime = Annotated[
    str | None,
    typer.Option("--runtime", metavar="NAME", help="Clear one runtime, as `show` names it."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", metavar="SECONDS", help="Bound on measuring.")
]


@app.callback()
def _group() -> None:
    """Look at measured costs, measure, move and clear them."""


@app.command("show", epilog=EPILOG)
def show(top: Top = 0, json: given.JsonReport = None) -> None:
    """Show what is stored, how steady it is, the calibrated machine, and the roofline's error."""
    _check_count(top)
    given.check_outputs([], [json])
    store = _store()
    found, entries = summaries(store), dearest(store.entries(), top)
    if json is not None:
        values = store_dict(str(store.path), found, entries)
        report.save_json({"schema": report.SCHEMA, **values}, json)
    print(store_text(str(store.path), found, entries))


@app.command("measure", epilog=EPILOG)
def measure(
    model: given.Model,
    threads: given.Threads = 1,
    dim: given.Dims = [],  # noqa: B006  # read by typer, never changed
    time_limit: TimeLimit = 600.0,
    top: Top = 10,
    json: given.JsonReport = None,
    quiet: given.Quiet = False,
) -> None:
    """Price every operator signature and fused group of a model now."""
    _check_count(top)
    settings = Options(
        threads=threads, sizes=given.sizes(dim), seconds=time_limit, store=_store().path
    )
    given.check_outputs([model], [json])
    source = onnx_io.read(model)
    with progress(quiet) as say:
        found = profiling.profile(source, settings, say)
    if json is not None:
        report.save_json({"schema": report.SCHEMA, **report.plain(found)}, json)
    if not quiet:
        print(profile_text(found, str(model), dearest(found.entries, top)))


@app.command("export", epilog=EPILOG)
def export_table(file: Table) -> None:
    """Write everything that is stored to a file, for `import` on another machine."""
    given.check_outputs([], [file])
    table = exchange.table_json(_store())
    report.save_json(table, file)
    print(f"{file}: {len(table['prices'])} prices, {len(table['machines'])} machines")


@app.command("import", epilog=EPILOG)
def import_table(file: Table, replace: Replace = False) -> None:
    """Put a file's prices into the store; what was measured here later stays."""
    table = exchange.read_table(file)
    store = _store()
    done = exchange.merge(store, table, replace=replace)
    _check_kept(store)
    print(f"{file}: {done.taken} of {done.read} prices taken")


@app.command("clear", epilog=EPILOG)
def clear(everything: All = False, runtime: Runtime = None, yes: Yes = False) -> None:
    """Forget what is stored, of one runtime or of all; it will be measured again when needed."""
    if everything == (runtime is not None):
        raise UsageError("clear takes --all or --runtime NAME, and not both")
    store = _store()
    known = sorted({item.context.runtime for item in summaries(store)})
    if runtime is not None and runtime not in known:
        names = ", ".join(known) or "none"
        raise UsageError(f"--runtime {runtime}: nothing is stored for it (stored: {names})")
    what = "everything" if runtime is None else f"everything about {runtime}"
    if not yes and not _agreed(f"forget {what} in {store.path}?"):
        print("nothing was cleared")
        return
    count = store.clear(runtime)
    _check_kept(store)
    print(f"{store.path}: {count} prices cleared")


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("clear: nobody can be asked here, expected --yes")
    return typer.confirm(question)


def _store() -> Store:
    path = given.store() or default_path()
    store = Store(path)
    if store.path is None:
        raise StoreError(f"{path}: the cost store cannot be opened")
    return store


def _check_kept(store: Store) -> None:
    if store.path is None:
        raise StoreError("the cost store failed, nothing was kept")


def _check_count(top: int) -> None:
    if top < 0:
        raise UsageError(f"--top: {top} is below 0")
