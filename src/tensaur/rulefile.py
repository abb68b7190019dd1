"""Rules from a user's file: run, read, verified; nothing else about rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tensaur.errors import RuleError, TensaurError, UnsoundRule
from tensaur.ir.rule import Rule
from tensaur.remembered import Remembered
from tensaur.synth.verify import TRIALS, Verification, verify
from tensaur.userfile import names_of

NAMES = ("ALL_RULES", "RULES")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class UserRules:
    """The rules of a file, and the names of those that are trusted: they could not be verified."""

    rules: tuple[Rule, ...]
    trusted: frozenset[str] = frozenset()


def load_rules(
    path: Path,
    taken: Sequence[str] = (),
    say: Say = lambda message: None,
    trust: bool = False,
    verdicts: Path | None = None,
) -> UserRules:
    """Read the rules of a file and verify every one; with `trust`, keep those that nothing decides.

    A file whose rules were all verified is remembered in the folder `verdicts` and not verified again.
    UsageError: no such file; RuleError: the file or a rule is malformed, or a rule never applies;
    UnsoundRule: a rule is refuted, with an example, whether trusted or not.
    """
    rules = read_rules(path, taken)
    remembered = None if verdicts is None else Remembered(verdicts, path)
    if remembered is not None and remembered.verified:
        return UserRules(rules)
    trusted = []
    for rule in rules:
        say(f"verifying {rule.name}")
        verdict = verified(path, rule)
        if verdict.counterexample is not None:
            raise UnsoundRule(f"{path}: rule {rule.name} is refuted: {verdict.counterexample}")
        if not verdict.verified and not trust:
            raise RuleError(
                f"{path}: rule {rule.name} cannot be verified: no instance was found on which it "
                "applies (--trust uses it nevertheless)"
            )
        if not verdict.verified:
            trusted.append(rule.name)
    if remembered is not None and not trusted:
        remembered.note()
    return UserRules(rules, frozenset(trusted))


def read_rules(path: Path, taken: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Run a Python file and return the rules of its ALL_RULES or RULES, unverified.

    `taken` are names that the file may not use again. UsageError: no such file; RuleError: the file or a
    rule is malformed.
    """
    rules = _run(path)
    names = set(taken)
    for rule in rules:
        if not _is_word(rule.name):
            raise RuleError(f"{path}: the rule name {rule.name!r} is not a word")
        if rule.name in names:
            raise RuleError(f"{path}: the rule name {rule.name!r} is taken")
        names.add(rule.name)
    return rules


def verified(path: Path, rule: Rule, seed: int = 0, trials: int = TRIALS) -> Verification:
    """Verify a rule of a file; RuleError if its conditions or attributes fail."""
    try:
        return verify(rule, seed, trials)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # conditions are the user's code too: sys.exit as well
        own = isinstance(error, TensaurError)
        fault = str(error) if own else f"{type(error).__name__}: {error}"
        raise RuleError(f"{path}: rule {rule.name} cannot be verified: {fault}") from error


def _is_word(name: object) -> bool:
    """Tell whether a name can stand in a line of text and be asked for in one argument."""
    return isinstance(name, str) and name.isprintable() and len(name.split()) == 1


def _run(path: Path) -> tuple[Rule, ...]:
    variables = names_of(path, RuleError)
    name = next((name for name in NAMES if name in variables), None)
    if name is None:
        raise RuleError(f"{path}: defines neither {' nor '.join(NAMES)}")
    rules = variables[name]
    if not isinstance(rules, (tuple, list)) or not all(isinstance(item, Rule) for item in rules):
        raise RuleError(f"{path}: {name} is not a tuple of rules")
    return tuple(rules)
