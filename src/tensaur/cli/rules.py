"""`tensaur rules`: what the rule library holds, and what is true of it and of the user's own rules."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from tensaur import report
from tensaur.cli import options as given
from tensaur.cli import taso
from tensaur.cli.optimize import Math
from tensaur.cli.progress import Say, progress
from tensaur.errors import RuleError, UsageError
from tensaur.ir.rule import Rule
from tensaur.options import MATHS
from tensaur.proving.proofs import Method, Report
from tensaur.proving.prove import prove
from tensaur.proving.smt import import_z3
from tensaur.rulefile import read_rules, verified
from tensaur.rules import ALL_RULES
from tensaur.synth.instances import Instance
from tensaur.synth.parallel import verify_all
from tensaur.synth.trial import Application, applications
from tensaur.synth.verify import TRIALS, Verification, directions, verify

EPILOG = "Exit codes: 0 done; 1 a rule is refuted or could not be tried, or a file was refused; 2 wrong usage."
WORKERS = min(os.cpu_count() or 1, 4)
PROVING_SECONDS = 600.0
_EXAMPLES = 40  # drawn instances, of which the one that is easiest to read is shown

app = typer.Typer(help="Look at rules and verify them.", no_args_is_help=True, epilog=EPILOG)

Only = Annotated[str, typer.Argument(metavar="PREFIX", show_default=False)]
Name = Annotated[str, typer.Argument(metavar="NAME", show_default=False)]
RuleFile = Annotated[Path | None, typer.Argument(metavar="FILE.PY", show_default=False)]
Library = Annotated[bool, typer.Option("--library", help="Verify the rule library, not a file.")]
Prefix = Annotated[
    str, typer.Option("--only", metavar="PREFIX", help="Only rules whose names begin with PREFIX.")
]
Trials = Annotated[int, typer.Option("--trials", help="Instances to try a direction on.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random instances.")]
Workers = Annotated[
    int, typer.Option("--workers", help="Processes that verify the library's rules.", min=1)
]
By = Literal["saturation", "z3", "both"]
Prove = Annotated[
    bool, typer.Option("--prove", help="Prove from axioms too what no instance refutes.")
]
Way = Annotated[
    By,
    typer.Option(
        "--method",
        help="Prove by saturating e-graphs with the axioms, by Z3 (extra `prove`), or both.",
    ),
]
Seconds = Annotated[
    float, typer.Option("--seconds", metavar="N", help="Time for proving all rules together.")
]
Own = Annotated[
    Path | None,
    typer.Option("--rules", metavar="FILE.PY", help="Look in a file of your own rules too."),
]


@app.callback()
def _group() -> None:
    """Look at rules and verify them."""


@app.command("list", epilog=EPILOG)
def list_rules(prefix: Only = "", math: Math = "fast") -> None:
    """List the library's rules whose names begin with PREFIX (all, if it is left out), as equations."""
    chosen = [
        rule for rule in ALL_RULES if rule.name.startswith(prefix) and rule.exactness <= MATHS[math]
    ]
    print(report.rule_list(chosen))


@app.command("show", epilog=EPILOG)
def show(name: Name, rules: Own = None) -> None:
    """Show one rule: equation, conditions, exactness, what it was tried on, and an example."""
    own = () if rules is None else read_rules(rules, _taken())
    rule = _named(name, (*ALL_RULES, *own))
    found = verify(rule) if rules is None else verified(rules, rule)
    print(report.rule_text(rule, found, _example(rule)))
    _finish([found])


@app.command("verify", epilog=EPILOG)
def verify_rules(
    file: RuleFile = None,
    library: Library = False,
    only: Prefix = "",
    trials: Trials = TRIALS,
    seed: Seed = 0,
    workers: Workers = WORKERS,
    proving: Prove = False,
    method: Way = "saturation",
    seconds: Seconds = PROVING_SECONDS,
    quiet: given.Quiet = False,
) -> None:
    """Try every rule of a file, or of the library, and say on what; print what refutes a rule.

    With --prove, what no instance refutes is proved from axioms; that a rule is not proved is no error.
    """
    if library == (file is not None):
        raise UsageError("verify takes a file of rules or --library, and not both")
    for option, value, least in (("--trials", trials, 1), ("--seed", seed, 0)):
        if value < least:
            raise UsageError(f"{option}: {value} is below {least}")
    if not seconds > 0:
        raise UsageError(f"--seconds: {seconds:g} is not above 0")
    if proving and method != "saturation":
        import_z3()
    chosen = _chosen(file, only)
    with progress(quiet) as say:
        done = _verify(chosen, _verdicts(file, chosen, seed, trials, workers), say, quiet)
        proofs = _prove(chosen, done, seed, seconds, method, say) if proving else ()
    if not quiet:
        for proof in proofs:
            print(report.proof_text(proof))
        print(report.verification_summary(done))
        if proofs:
            print(report.proof_summary(proofs))
    _finish(done)


def _chosen(file: Path | None, prefix: str) -> list[Rule]:
    """Return the rules of a file, or of the library, whose names begin with `prefix`; at least one."""
    rules = ALL_RULES if file is None else read_rules(file, _taken())
    if not rules:
        raise RuleError(f"{file}: holds no rules")
    chosen = [rule for rule in rules if rule.name.startswith(prefix)]
    if not chosen:
        raise UsageError(f"--only {prefix}: no rule's name begins so")
    return chosen


def _verdicts(
    file: Path | None, rules: Sequence[Rule], seed: int, trials: int, workers: int
) -> Iterator[Verification]:
    if file is None:
        return verify_all(rules, seed, trials, workers)
    return (verified(file, rule, seed, trials) for rule in rules)


def _verify(
    rules: Sequence[Rule], verdicts: Iterator[Verification], say: Say, quiet: bool
) -> list[Verification]:
    """Try rules, and print what became of each as soon as that is known."""
    done = []
    for number, rule in enumerate(rules, 1):
        say(f"verifying {rule.name} ({number} of {len(rules)})")
        found = next(verdicts)
        done.append(found)
        if not quiet:
            print(report.verification_text(found), flush=True)
    return done


def _prove(
    rules: Sequence[Rule],
    tried: Sequence[Verification],
    seed: int,
    seconds: float,
    method: By,
    say: Say,
) -> tuple[Report, ...]:
    """Prove those rules that were tried and not refuted."""
    tested = {found.rule: found for found in tried if found.verified}
    return prove(
        [rule for rule in rules if rule.name in tested],
        seconds=seconds,
        methods=tuple(Method) if method == "both" else (Method(method),),
        tested=tested,
        seed=seed,
        say=say,
    )


app.command("import-taso", epilog=EPILOG)(taso.command)


def _finish(found: list[Verification]) -> None:
    if not all(item.verified for item in found):
        raise typer.Exit(1)


def _taken() -> list[str]:
    return [rule.name for rule in ALL_RULES]


def _named(name: str, rules: tuple[Rule, ...]) -> Rule:
    by_name = {rule.name: rule for rule in rules}
    if name in by_name:
        return by_name[name]
    holding = [other for other in by_name if name in other][:3]
    near = holding or difflib.get_close_matches(name, by_name, n=3, cutoff=0.5)
    hint = f", perhaps {' or '.join(near)}" if near else " (`tensaur rules list` shows them all)"
    raise UsageError(f"no rule is called {name!r}{hint}")


def _example(rule: Rule) -> tuple[Instance, Application] | None:
    """Return an instance of a rule's first direction that is easy to read."""
    forward = directions(rule)[0]
    drawn = applications(forward, seed=0, attempts=2_000)
    some = [item for item, _ in zip(drawn, range(_EXAMPLES), strict=False)]
    return min(some, key=lambda item: _difficulty(item[0]), default=None)


def _difficulty(instance: Instance) -> tuple[int, int, int]:
    """Order instances by how hard they are to read: symbols, literals, trivial shapes, then size."""
    leaves = instance.leaves.values()
    special = len(instance.sizes) + sum(leaf.fact.value is not None for leaf in leaves)
    shapes = [leaf.type.static_shape or () for leaf in leaves]
    trivial = sum(size < 2 for shape in shapes for size in shape) + sum(
        len(shape) < 2 for shape in shapes
    )
    return (special, trivial, instance.size)
