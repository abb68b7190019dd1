"""`tensaur rules import-taso`: TASO's rules as a file of rules, and what is true of each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from tensaur import report, taso
from tensaur.cli import options as given
from tensaur.cli.progress import progress
from tensaur.errors import UsageError
from tensaur.output import write_beside

Source = Annotated[Path, typer.Argument(metavar="FILE.PB", show_default=False)]
Target = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE.PY", help="Where to write the rules.")
]
Prove = Annotated[
    bool, typer.Option("--prove/--no-prove", help="Prove rules from axioms, or only test them.")
]
Seconds = Annotated[
    float, typer.Option("--seconds", help="Time for all proofs; rules left over are tested.")
]


def command(
    file: Source,
    output: Target = Path("taso.py"),
    prove: Prove = True,
    seconds: Seconds = taso.SECONDS,
    quiet: given.Quiet = False,
) -> None:
    """Read TASO's rules, prove or refute each, and write them as a file for `--rules`.

    Refuted rules are set apart there, each with a counterexample.
    """
    if not 0 < seconds < math.inf:
        raise UsageError(f"--seconds: {seconds:g} is not a time above 0")
    given.check_outputs([file], [output])
    records = taso.read_rules(file)
    with progress(quiet) as say:
        judged = taso.judge(records, say, seconds=seconds if prove else None)
    write_beside(output, taso.file_text(file.name, judged).encode())
    if quiet:
        return
    print(taso.table_text(judged))
    for item in judged:
        if item.counterexample is not None:
            print()
            print("\n".join(report.counterexample_lines(item.counterexample, 0)))
    print(f"written {output}")
