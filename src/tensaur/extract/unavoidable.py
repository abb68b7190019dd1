"""Operators that the runtime never runs by themselves, since it fuses them with whatever makes their input.

A group is an option beside its parts, of which extraction takes the cheaper; but a runtime that fuses a
producer with its only reader does so even where that takes longer. Where nothing else reads a value, and
every form of it makes a group with the operator that does, there is no such operator alone. With one
form that makes no group the operator stays, and may then be chosen, too cheaply, beside another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tensaur.extract.option import Option


def avoidable(options: Sequence[Option], root: int) -> list[Option]:
    """Return the options without the operators that are always fused.

    A group counts as a form of the value that it makes, and so does a constant, which joins no group.
    """
    left = list(options)
    while True:
        kept = _without_forced(left, root)
        if len(kept) == len(left):
            return kept
        left = kept


def _without_forced(options: list[Option], root: int) -> list[Option]:
    groups = {option.rows for option in options if len(option.rows) > 1}
    if not groups:
        return options
    ends = {rows[-1] for rows in groups}
    forms: defaultdict[int, list[Option]] = defaultdict(list)
    readers: defaultdict[int, set[int]] = defaultdict(set)
    for option in options:
        forms[option.cls].append(option)
        for child in option.children:
            readers[child].add(option.cls)

    def forced(option: Option) -> bool:
        if len(option.rows) != 1 or option.rows[0] not in ends:
            return False
        return any(
            child != root
            and readers[child] == {option.cls}
            and all((*form.rows, *option.rows) in groups for form in forms[child])
            for child in option.children
        )

    return [option for option in options if not forced(option)]
