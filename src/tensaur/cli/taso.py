"""`tensaur rules import-taso`: TASO's rules as a file of rules, and what is true of each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tensaur import report, taso
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.output import write_beside

Source = Annotated[Path, typer.Argument(metavar="FILE.PB", show_default=False)]
Target = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE.PY", help="Where to write the rules.")
]


def command(file: Source, output: Target = Path("taso.py"), quiet: given.Quiet = False) -> None:
    """Read TASO's rules, try each, and write them as a file for `--rules`; refuted ones are set apart."""
    given.check_outputs([file], [output])
    records = taso.read_rules(file)
    with progress(quiet) as say:
        judged = taso.judge(records, say)
    write_beside(output, taso.file_text(file.name, judged).encode())
    if quiet:
        return
    print(taso.table_text(judged))
    for item in judged:
        if item.counterexample is not None:
            print()
            print("\n".join(report.counterexample_lines(item.counterexample, 0)))
    print(f"written {output}")
