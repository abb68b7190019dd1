"""Forms of a rule that ask for more: where a rule of TASO is wrong, some of them may hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, Derived, Term, Var, subterms
from tensaur.ops import Concat, Conv
from tensaur.rules.conditions import same_type


def forms(rule: Rule) -> Iterator[Rule]:
    """Yield a rule, then with one group in every convolution, then also with weights of one type."""
    yield rule
    groups = _group_variables(rule)
    if not groups:
        return
    ungrouped = replace(_with_groups(rule, groups, 1), name=f"{rule.name}-ungrouped")
    yield ungrouped
    more = tuple(same_type(first, second) for first, second in _joined_weights(rule))
    if more:
        yield replace(ungrouped, name=f"{ungrouped.name}-alike", when=(*ungrouped.when, *more))


def _group_variables(rule: Rule) -> tuple[AttrVar, ...]:
    found = (dict(term.attrs).get("group") for term in _operators(rule.finds) if term.op is Conv)
    return tuple(dict.fromkeys(item for item in found if isinstance(item, AttrVar)))


def _joined_weights(rule: Rule) -> list[tuple[Var, Var]]:
    """Return the pairs of variables that stand side by side in the weights of made convolutions."""
    weights = [term.inputs[1] for term in _operators(rule.makes) if term.op is Conv]
    joined = [term for term in weights if isinstance(term, Apply) and term.op is Concat]
    return [
        (first, second)
        for term in dict.fromkeys(joined)
        for first, second in itertools.pairwise(term.inputs)
        if isinstance(first, Var) and isinstance(second, Var)
    ]


def _operators(roots: Sequence[Term]) -> Iterator[Apply]:
    for root in roots:
        yield from (term for term in subterms(root) if isinstance(term, Apply))


def _with_groups(rule: Rule, variables: Sequence[AttrVar], count: int) -> Rule:
    def put(term: Any) -> Any:
        if isinstance(term, AttrVar):
            return count if term in variables else term
        if isinstance(term, Derived):
            return replace(term, args=tuple(map(put, term.args)))
        if isinstance(term, Apply):
            attrs = tuple((name, put(value)) for name, value in term.attrs)
            return replace(term, attrs=attrs, inputs=tuple(map(put, term.inputs)))
        return tuple(map(put, term)) if isinstance(term, tuple) else term

    return replace(rule, find=put(rule.find), make=put(rule.make), when=put(rule.when))
