"""Rules as text for people: the list, one rule in full, and what verification tried and found wrong."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set

from tensaur.ir.rule import EXACT, FAST, ROUNDING, Rule
from tensaur.ir.term import Derived, OpVar, subterms
from tensaur.ir.types import DType
from tensaur.proving.proofs import Report, tally
from tensaur.synth.counterexample import Counterexample, side_text
from tensaur.synth.instances import Instance
from tensaur.synth.tiers import Tier
from tensaur.synth.trial import Application
from tensaur.synth.verify import Coverage, Verification

WIDTH = 80
_LABEL = 12  # where the text of a labelled line begins

# How the shapes of two leaves may be related, the simplest first.
_SHAPES = ("equal", "scalar", "stretched", "ranks differ", "different")

_PROMISES = {
    EXACT: "exact: the same bits",
    ROUNDING: "rounding: equal over the reals",
    FAST: "fast: equal over the reals, but for NaN, infinity and overflow",
}


def rule_list(rules: Sequence[Rule]) -> str:
    """Return rules as equations, one a line, after name and exactness."""
    if not rules:
        return "no rules"
    width = max(len(rule.name) for rule in rules)
    lines = [
        f"{rule.name:<{width}}  {rule.exactness.name.lower():<8}  "
        f"{str(rule).removeprefix(rule.name + ': ')}"
        for rule in rules
    ]
    return "\n".join([*lines, f"{len(rules)} rule{'' if len(rules) == 1 else 's'}"])


def verification_text(found: Verification) -> str:
    """Return what became of a rule: what each direction was tried on, and the counterexample."""
    lines = [f"{found.rule}: {_verdict(found)}"]
    for item in found.directions:
        lines += _directed(item, found.rule, 2)
    if found.counterexample is not None:
        lines += counterexample_lines(found.counterexample, 2)
    return "\n".join(lines)


def rule_text(rule: Rule, found: Verification, example: tuple[Instance, Application] | None) -> str:
    """Return one rule in full: equation, conditions, exactness, verification, and an example."""
    lines = [rule.name]
    lines += [line for row in _equation(rule) for line in _labelled(*row, 2)]
    for derived in rule.when:
        lines += _explained("when", derived)
    for derived in _computed(rule):
        lines += _explained("computed", derived)
    types = "every element type" if rule.exactness is EXACT else _types(rule.dtypes)
    lines += _labelled("exactness", f"{_PROMISES[rule.exactness]}; {types}", 2)
    lines += _labelled("tried", _verdict(found), 2)
    for item in found.directions:
        lines += _directed(item, rule.name, 2 + _LABEL)
    if found.counterexample is not None:
        lines += counterexample_lines(found.counterexample, 2)
    if example is not None:
        instance, application = example
        lines += _graph("before", side_text(instance.finds, instance.leaves))
        lines += _graph("after", side_text(application.makes, instance.leaves))
    return "\n".join(lines)


def counterexample_lines(example: Counterexample, indent: int) -> list[str]:
    """Return a counterexample as lines that fit a terminal."""
    return [
        line
        for text in example.text().splitlines()
        for line in _wrapped(text, " " * indent, " " * (indent + 4))
    ]


def proof_text(proof: Report) -> str:
    """Return what was proved of a rule: how, for what, from which axioms, or why it was not."""
    lines = []
    for text in proof.text().splitlines():
        inner = " " * (len(text) - len(text.lstrip()) + 2)
        lines += _wrapped(text, "", inner)
    return "\n".join(lines)


def proof_summary(proofs: Sequence[Report]) -> str:
    """Say in a line of how many rules what was proved."""
    return f"{'1 rule' if len(proofs) == 1 else f'{len(proofs)} rules'}: {tally(proofs)}"


def _verdict(found: Verification) -> str:
    if found.counterexample is not None:
        return "refuted"
    return (
        "verified" if found.verified else "not verified: no instance was found on which it applies"
    )


def _directed(item: Coverage, rule: str, indent: int) -> list[str]:
    """Return what one direction was tried on."""
    name = {rule: "=>", f"{rule}~": "<="}.get(item.direction, item.direction.removeprefix(rule))
    first = f"{' ' * indent}{name:<4}"
    others = " " * len(first)
    lines: list[str] = []
    for text in _tried(item):
        lines += _wrapped(text, others if lines else first, others)
    return lines


def _tried(item: Coverage) -> Iterator[str]:
    if not item.instances:
        yield "no instance on which both sides agree"
        return
    symbolic = f", {item.symbolic} with symbolic sizes" if item.symbolic else ""
    yield f"{item.instances} instances{symbolic}; {_ranks(item.ranks)}; {_types(item.dtypes)}"
    yield f"shapes {', '.join(name for name in _SHAPES if name in item.broadcasts)}"
    tiers = ", ".join(f"{tier.value} {item.tiers[tier]}" for tier in Tier if tier in item.tiers)
    error = f"; error of one below {item.error:.0e}" if item.error else ""
    yield f"{tiers}{error}"


def _ranks(ranks: Set[int]) -> str:
    low, high = min(ranks), max(ranks)
    if len(ranks) > 2 and len(ranks) == high - low + 1:
        return f"ranks {low} to {high}"
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(map(str, sorted(ranks)))}"


def _types(dtypes: Iterable[DType]) -> str:
    ordered = sorted(
        dtypes, key=lambda item: (not item.is_float, item.value[0] == "u", item.bits, item.value)
    )
    return ", ".join(item.value for item in ordered)


def _equation(rule: Rule) -> Iterator[tuple[str, str]]:
    yield from (("found", str(term)) for term in rule.finds)
    made = rule.make if isinstance(rule.make, tuple) else (rule.make,)
    yield from (("made", str(term)) for term in made)
    if rule.both_ways:
        yield "direction", "both ways"
    terms = (term for root in rule.finds for term in subterms(root))
    for variable in dict.fromkeys(term for term in terms if isinstance(term, OpVar)):
        yield "operator", f"{variable}: {' or '.join(item.__name__ for item in variable.choices)}"


def _computed(rule: Rule) -> tuple[Derived, ...]:
    """Return the computed values in a rule that are not conditions themselves."""
    roots = (*rule.makes, *rule.when)
    found = [term for root in roots for term in subterms(root) if isinstance(term, Derived)]
    return tuple(item for item in dict.fromkeys(found) if item not in rule.when)


def _explained(label: str, derived: Derived) -> list[str]:
    lines = _labelled(label, str(derived), 2)
    about = (inspect.getdoc(derived.function) or "").partition("\n")[0]
    return lines + (_labelled("", f"  {about}", 2) if about else [])


def _graph(label: str, text: str) -> list[str]:
    first, *others = text.splitlines()
    lines = _labelled(label, first, 2)
    return lines + [line for other in others for line in _labelled("", other, 2)]


def _labelled(label: str, text: str, indent: int) -> list[str]:
    column = indent + _LABEL
    head = f"{' ' * indent}{label}".ljust(column - 1) + " "
    return _wrapped(text, head, " " * column)


def _wrapped(text: str, first: str, others: str) -> list[str]:
    inner = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=others + inner,
        break_long_words=False,
        break_on_hyphens=False,
    )


def verification_summary(found: Sequence[Verification]) -> str:
    """Say in a line what became of how many rules."""
    refuted = sum(item.counterexample is not None for item in found)
    sound = sum(item.verified for item in found)
    parts = [f"{sound} verified"]
    if refuted:
        parts.append(f"{refuted} refuted")
    if sound + refuted < len(found):
        parts.append(f"{len(found) - sound - refuted} not tried on anything")
    return f"{len(found)} rule{'' if len(found) == 1 else 's'}: {', '.join(parts)}"
