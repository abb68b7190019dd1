"""Judge mutants of rules: refuted by `verify`, or equivalent as far as the oracle can see, or a failure.

As a program it judges all rules of the library, or a part of them, writes one line of JSON for each mutant,
and goes on where it was stopped:

    python -m tests.synth.sweep verdicts.jsonl [PART PARTS]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from random import Random
from unittest.mock import patch

from tensaur.ir.rule import Rule
from tensaur.rules import ALL_RULES
from tensaur.synth import trial
from tensaur.synth.verify import Verification, directions, verify
from tests.synth.mutations import Mutant, mutants
from tests.synth.oracle import look

FEW_ATTEMPTS = 400  # drawn instances, of which one should show that a mutant ever applies


class Judgement(Enum):
    """What is known of a mutant."""

    REFUTED = "refuted"
    NEVER = "never applicable"
    EQUIVALENT = "equivalent"
    MISSED = "accepted though wrong"


@dataclass(frozen=True)
class Verdict:
    """How a mutant was judged, and what the oracle said of one that was accepted."""

    name: str
    kind: str
    change: str
    judgement: str
    compared: int = 0
    difference: str | None = None


def judge(mutant: Mutant, seed: int = 0) -> Verdict:
    """Ask the verifier, and the oracle about what it accepts."""
    with patch.object(trial, "MOST_ATTEMPTS", FEW_ATTEMPTS):
        found = verify(mutant.rule, seed, examples=1)
    if found.verified:
        found = verify(mutant.rule, seed, examples=1)
    return _verdict(mutant, found)


def _verdict(mutant: Mutant, found: Verification) -> Verdict:
    about = (mutant.rule.name, mutant.kind, mutant.change)
    if found.counterexample is not None:
        return Verdict(*about, Judgement.REFUTED.value)
    if not found.verified:
        return Verdict(*about, Judgement.NEVER.value)
    seen = look(mutant.rule)
    if seen.difference is not None:
        return Verdict(*about, Judgement.MISSED.value, seen.compared, seen.difference)
    return Verdict(*about, Judgement.EQUIVALENT.value, seen.compared)


def mutants_of(rule: Rule) -> list[Mutant]:
    """Return the mutants of a rule in each of its directions."""
    return [mutant for one_way in directions(rule) for mutant in mutants(one_way)]


def main(path: Path, part: int = 0, parts: int = 1) -> None:
    """Judge the mutants of the library that the file does not have yet."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    done = {json.loads(line)["name"] for line in lines}
    rules = list(ALL_RULES)
    Random(0).shuffle(rules)  # so that what is done after some time is a fair sample
    with path.open("a", encoding="utf-8") as file:
        for rule in rules[part::parts]:
            for mutant in mutants_of(rule):
                if mutant.rule.name not in done:
                    print(json.dumps(asdict(judge(mutant))), file=file, flush=True)
    verdicts = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    print(Counter(verdict["judgement"] for verdict in verdicts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
