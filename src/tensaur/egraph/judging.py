"""Judge: which matches a rule may be applied to, decided by distinct signatures, not by matches.

Each condition is asked once for every combination of what it mentions, then only the rest goes on to
the next one: a condition on one variable is evaluated a few dozen times, however many matches there
are. All answers are remembered for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensaur.egraph.budget import Budget
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.match import Matches
from tensaur.egraph.pattern import Source, mentioned
from tensaur.egraph.record import RuleTally
from tensaur.egraph.relations import IntArray, group_rows
from tensaur.egraph.signature import Maker, Plan, Rejection, admits, holds
from tensaur.ir.rule import Rule
from tensaur.ir.term import Bindings

# Answers worked out between two looks at the clock.
_STRIDE = 16

Answer = Plan | Rejection | None


@dataclass(frozen=True, slots=True)
class Judged:
    """The accepted matches by position, and for each which plan it follows."""

    kept: IntArray
    group: IntArray
    plans: Sequence[Answer]


@dataclass(frozen=True, slots=True)
class _Case:
    """A rule with its matches, what rules see of them by column, and the finder's limits."""

    rule: Rule
    source: Source
    seen: Mapping[str, IntArray]
    tally: RuleTally


class Judge:
    """Evaluates the conditions of rules and plans what they make."""

    def __init__(self, egraph: EGraph, rules: Sequence[Rule], budget: Budget) -> None:
        self._egraph = egraph
        self._rules = rules
        self._budget = budget
        self._maker = Maker(egraph.symbols, egraph.classes.facts)
        self._answers: dict[tuple[int, ...], Answer] = {}
        self._instances: dict[tuple[int, int], Rule] = {}

    def judge(self, matches: Matches, facts: IntArray, tally: RuleTally, enough: int) -> Judged:
        """Return the accepted matches; count the others by reason.

        When the accepted ones can add `enough` nodes, the rest is left for another iteration.
        """
        source = matches.source
        rule = self._rule_of(source)
        seen = {
            name: column if name[0] in "$?" else facts[column]
            for name, column in matches.columns.items()
        }
        roots = [f"@root{number}" for number in range(len(matches.roots))]
        seen |= {name: facts[root] for name, root in zip(roots, matches.roots, strict=True)}
        case = _Case(rule, source, seen, tally)
        kept = np.arange(len(matches))
        kept = self._filter(case, kept, -1, roots[:1], lambda bound: self._admits(case, bound))
        for number, condition in enumerate(rule.when):
            names = mentioned([condition], source.lengths)
            question = _asking(case, number, self._bindings)
            kept = self._filter(case, kept, number, names, question)
        made = [*mentioned(rule.makes, source.lengths), *roots]
        group, plans = self._answer(case, kept, -2, made, self._planning(case, roots), enough)
        return self._accepted(case, kept, group, plans)

    def _filter(
        self,
        case: _Case,
        kept: IntArray,
        part: int,
        names: Sequence[str],
        question: Callable[[Mapping[str, int]], Answer],
    ) -> IntArray:
        group, answers = self._answer(case, kept, part, names, question)
        return self._accepted(case, kept, group, answers, passing=True).kept

    def _answer(
        self,
        case: _Case,
        kept: IntArray,
        part: int,
        names: Sequence[str],
        question: Callable[[Mapping[str, int]], Answer],
        enough: int | None = None,
    ) -> tuple[IntArray, list[Answer]]:
        """Ask for every distinct combination of what `names` are; return the answer's number too."""
        columns = [case.seen[name][kept] for name in names]
        grouping = group_rows(columns, len(kept))
        examples = zip(*(column[grouping.first].tolist() for column in columns), strict=True)
        sizes = np.bincount(grouping.group, minlength=len(grouping.first)).tolist()
        head = (case.source.rule, part, *case.source.lengths.values())
        answers: list[Answer] = []
        demand = 0
        for number, values in enumerate(examples if names else [()] * len(sizes)):
            if enough is not None and demand >= enough:
                self._budget.truncated = True
                answers += [None] * (len(sizes) - len(answers))
                break
            if number % _STRIDE == 0:
                self._budget.check()
            key = (*head, *values)
            if key not in self._answers:
                self._answers[key] = question(dict(zip(names, values, strict=True)))
            answer = self._answers[key]
            answers.append(answer)
            if isinstance(answer, Plan):
                demand += sizes[number] * len(answer.symbols)
        return grouping.group, answers

    def _accepted(
        self,
        case: _Case,
        kept: IntArray,
        group: IntArray,
        answers: Sequence[Answer],
        passing: bool = False,
    ) -> Judged:
        sizes = np.bincount(group, minlength=len(answers)).tolist()
        for answer, size in zip(answers, sizes, strict=True):
            if isinstance(answer, Rejection):
                case.tally.rejected[answer.reason] += size
        wanted = [answer is None if passing else isinstance(answer, Plan) for answer in answers]
        at = np.flatnonzero(np.array(wanted, np.bool_)[group])
        return Judged(kept[at], group[at], answers)

    def _admits(self, case: _Case, bound: Mapping[str, int]) -> Answer:
        kind = self._egraph.facts[bound["@root0"]].type
        return None if admits(case.rule, kind) else Rejection("element type")

    def _planning(self, case: _Case, roots: Sequence[str]) -> Callable[[Mapping[str, int]], Answer]:
        def plan(bound: Mapping[str, int]) -> Answer:
            found = tuple(bound[name] for name in roots)
            values = {name: number for name, number in bound.items() if name[0] not in "$?@"}
            return self._maker.plan(case.rule, self._bindings(case.source, bound), values, found)

        return plan

    def _rule_of(self, source: Source) -> Rule:
        rule = self._rules[source.rule]
        if source.group is None:
            return rule
        key = (source.rule, source.lengths[source.group])
        if key not in self._instances:
            self._instances[key] = rule.instance(key[1])
        return self._instances[key]

    def _bindings(self, source: Source, bound: Mapping[str, int]) -> Bindings:
        facts, symbols = self._egraph.facts, self._egraph.symbols
        return Bindings(
            facts={name: facts[i] for name, i in bound.items() if name[0] not in "$?@"},
            attrs={name[1:]: symbols.values[i] for name, i in bound.items() if name[0] == "$"},
            ops={name[1:]: symbols.operators[i] for name, i in bound.items() if name[0] == "?"},
            lengths=source.lengths,
        )


def _asking(
    case: _Case, number: int, bindings: Callable[[Source, Mapping[str, int]], Bindings]
) -> Callable[[Mapping[str, int]], Answer]:
    condition = case.rule.when[number]

    def ask(bound: Mapping[str, int]) -> Answer:
        if holds(condition, bindings(case.source, bound)):
            return None
        return Rejection(f"condition {condition}")

    return ask
