"""`tensaur rules`: what the rule library holds."""

from __future__ import annotations

from typing import Annotated

import typer

from tensaur import report
from tensaur.cli.optimize import Math
from tensaur.options import MATHS
from tensaur.rules import ALL_RULES

app = typer.Typer(help="Look at the rule library.", no_args_is_help=True)

Only = Annotated[str, typer.Argument(metavar="[PREFIX]", show_default=False)]


@app.callback()
def _group() -> None:
    """Look at the rule library."""


@app.command("list")
def list_rules(prefix: Only = "", math: Math = "fast") -> None:
    """List the rules whose names begin with PREFIX (all, if it is left out), as equations."""
    chosen = [
        rule for rule in ALL_RULES if rule.name.startswith(prefix) and rule.exactness <= MATHS[math]
    ]
    print(report.rule_list(chosen))
