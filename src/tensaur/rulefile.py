"""Rules from a user's file: run, read, verified; nothing else about rules."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from pathlib import Path

from tensaur.errors import RuleError, TensaurError, UnsoundRule, UsageError
from tensaur.ir.rule import Rule
from tensaur.synth.verify import verify

NAMES = ("ALL_RULES", "RULES")

Say = Callable[[str], None]


def load_rules(
    path: Path, taken: Sequence[str] = (), say: Say = lambda message: None
) -> tuple[Rule, ...]:
    """Run a Python file and return the rules of its ALL_RULES or RULES, every one verified.

    `taken` are names that the file may not use again. UsageError: no such file; RuleError: the file or
    a rule is malformed, or a rule never applies; UnsoundRule: a rule is refuted, with an example.
    """
    rules = _read(path)
    names = set(taken)
    for rule in rules:
        if rule.name in names:
            raise RuleError(f"{path}: the rule name {rule.name!r} is taken")
        names.add(rule.name)
        say(f"verifying {rule.name}")
        _check(path, rule)
    return rules


def _read(path: Path) -> tuple[Rule, ...]:
    if not path.is_file():
        raise UsageError(f"--rules {path}: no such file")
    try:
        variables = runpy.run_path(str(path), run_name="tensaur_rules")
    except TensaurError as error:
        raise RuleError(f"{path}: {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it is the user's code: anything can happen, sys.exit as well
        raise RuleError(f"{path}: {_place(error)}{type(error).__name__}: {error}") from error
    name = next((name for name in NAMES if name in variables), None)
    if name is None:
        raise RuleError(f"{path}: defines neither {' nor '.join(NAMES)}")
    rules = variables[name]
    if not isinstance(rules, (tuple, list)) or not all(isinstance(item, Rule) for item in rules):
        raise RuleError(f"{path}: {name} is not a tuple of rules")
    return tuple(rules)


def _place(error: BaseException) -> str:
    line = error.lineno if isinstance(error, SyntaxError) else None
    return "" if line is None else f"line {line}: "


def _check(path: Path, rule: Rule) -> None:
    try:
        verdict = verify(rule)
    except TensaurError:
        raise
    except Exception as error:  # conditions and computed attributes are the user's code too
        fault = f"{type(error).__name__}: {error}"
        raise RuleError(f"{path}: rule {rule.name} cannot be verified: {fault}") from error
    if verdict.counterexample is not None:
        raise UnsoundRule(f"{path}: rule {rule.name} is refuted: {verdict.counterexample}")
    if not verdict.verified:
        raise RuleError(
            f"{path}: rule {rule.name} cannot be verified: no instance was found on which it applies"
        )
