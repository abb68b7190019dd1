"""The commands put together, and the one place that turns errors into a line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tensaur import __version__
from tensaur.cli import compare, costs, demo, inspect, optimize, rules
from tensaur.errors import TensaurError, UsageError

DONE, REFUSED, USAGE, INTERRUPTED = 0, 1, 2, 130
INTERRUPTION = "interrupted before there was a result, nothing was written"

EPILOG = (
    "Exit codes: 0 done (also when the original is kept); 1 a model or file was refused, "
    "or `compare` found a difference; 2 wrong usage; 130 interrupted before there was a result."
)

app = typer.Typer(
    name="tensaur",
    help="Optimise ONNX models: an equivalent model that runs faster on this machine, or the original.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("optimize", epilog=EPILOG)(optimize.command)
app.command("compare", epilog=EPILOG)(compare.command)
app.command("inspect", epilog=EPILOG)(inspect.command)
app.command("demo", epilog=EPILOG)(demo.command)
app.add_typer(rules.app, name="rules")
app.add_typer(costs.app, name="costs")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tensaur {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    command = typer.main.get_command(app)
    given = None if arguments is None else list(arguments)
    try:
        result = command.main(given, prog_name="tensaur", standalone_mode=False)
    except UsageError as error:
        return _fail(str(error), USAGE)
    except TensaurError as error:
        return _fail(str(error), REFUSED)
    except typer.TyperException as error:
        return _usage(error)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; the interpreter would complain once more at exit
        return DONE
    except Exception as error:
        if _was_interrupted(error):
            return _fail(INTERRUPTION, INTERRUPTED)
        if os.environ.get("TENSAUR_DEBUG"):
            raise
        return _fail(_fault(error), REFUSED)
    if result == INTERRUPTED:
        return _fail(INTERRUPTION, INTERRUPTED)
    return int(result or DONE)


def _was_interrupted(error: BaseException) -> bool:
    # Ctrl-C while a compiled module is being imported surfaces as that module's ImportError.
    cause = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt) or (cause is not None and _was_interrupted(cause))


def _fault(error: Exception) -> str:
    """Describe a bug of ours in a line: a traceback is for those who can read it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    what = f"{type(error).__name__}: {error}"
    return f"internal error at {where}: {what} (TENSAUR_DEBUG=1 shows the traceback)"


def _usage(error: typer.TyperException) -> int:
    # Without arguments the help is the message, and it has been printed.
    message = " ".join(error.format_message().replace("Value error, ", "").split())
    if not message:
        return USAGE
    return _fail(f"{message[0].lower()}{message[1:].rstrip('.')}", error.exit_code)


def _fail(message: str, code: int) -> int:
    print(f"tensaur: error: {' '.join(message.split())}", file=sys.stderr)
    return code
