"""Axioms of Concat and Split: definitions, geometry, and what passes through."""

from __future__ import annotations

import itertools

from tensaur.ir.operator import Project
from tensaur.ir.rule import Rule
from tensaur.ir.term import AttrVar, Each, Elem, OpVar, Pick, Seq, Var, build, project
from tensaur.ops import concat, split, transpose, unsqueeze
from tensaur.proving.axioms.conditions import (
    aligned,
    axis_among,
    different_axes,
    from_right,
    still_along,
    turned_from_right,
)
from tensaur.rules.axes import axis_after, has_length, same_axis
from tensaur.rules.kinds import PAIRWISE, POINTWISE
from tensaur.rules.ranges import cuts_of_output, output_piece, sliced

x, y, z, w, c = (Var(name) for name in "xyzwc")
p, n, m, k = (AttrVar(name) for name in "pnmk")
sizes = AttrVar("sizes")
xs = Seq("x")
_pointwise = OpVar("f", POINTWISE)
_pairwise = OpVar("f", PAIRWISE)
_joined = concat(xs, axis=n)
_parts = tuple(Var(f"p{number}") for number in range(4))
_others = tuple(Var(f"q{number}") for number in range(4))
_right = from_right(n, _joined)


def _joined_into(place: int, count: int) -> Rule:
    """A concatenation among the parts of another along the same axis."""
    before, after = _parts[:place], _parts[place : count - 1]
    inner = concat(xs, axis=m)
    return Rule(
        f"join-joined-{place + 1}-of-{count}",
        concat(*before, inner, *after, axis=n),
        concat(*before, xs, *after, axis=n),
        when=(same_axis(m, n, inner),),
    )


def _pairs(count: int) -> Rule:
    """An operator of two concatenations whose parts fit, part by part."""
    first, second = _parts[:count], _others[:count]
    fitting = itertools.chain.from_iterable(zip(first, second, strict=True))
    return Rule(
        f"join-{count}-pairs",
        _pairwise(concat(*first, axis=n), concat(*second, axis=n)),
        concat(*map(_pairwise, first, second), axis=n),
        when=(aligned(n, *fitting),),
    )


def _restored(count: int) -> Rule:
    """All outputs of a Split joined again."""
    parts = (project(split(x, axis=n, sizes=sizes), number) for number in range(count))
    return Rule(
        f"join-split-{count}",
        concat(*parts, axis=p),
        x,
        when=(same_axis(n, p, x), has_length(sizes, count)),
    )


_CONCAT = (
    Rule("join-axis", _joined, concat(xs, axis=turned_from_right(n, _joined))),
    Rule("join-one", concat(x, axis=n), x),
    *(_joined_into(place, count) for count in (2, 3, 4) for place in range(count)),
    Rule(
        "joins-exchanged",
        concat(concat(x, y, axis=m), concat(z, w, axis=m), axis=n),
        concat(concat(x, z, axis=n), concat(y, w, axis=n), axis=m),
        when=(different_axes(n, m, x), aligned(m, x, z, y, w)),
    ),
    Rule(
        "transpose-joined",
        transpose(_joined, perm=p),
        concat(Each(xs, transpose(Elem(xs), perm=p)), axis=axis_after(p, n)),
    ),
    Rule(
        "unsqueeze-joined",
        unsqueeze(_joined, axes=p),
        concat(Each(xs, unsqueeze(Elem(xs), axes=p)), axis=axis_among(p, n, _joined)),
    ),
)

_FUNCTIONS = (
    Rule("join-function", _pointwise(_joined), concat(Each(xs, _pointwise(Elem(xs))), axis=n)),
    *map(_pairs, (2, 3)),
    Rule(
        "join-beside-still-right",
        _pairwise(_joined, c),
        concat(Each(xs, _pairwise(Elem(xs), c)), axis=_right),
        when=(still_along(c, n, _joined),),
    ),
    Rule(
        "join-beside-still-left",
        _pairwise(c, _joined),
        concat(Each(xs, _pairwise(c, Elem(xs))), axis=_right),
        when=(still_along(c, n, _joined),),
    ),
)

_part = build(Project, split(x, axis=n, sizes=sizes), index=k)

_SPLIT = (
    Rule(
        "split-axis",
        _part,
        build(Project, split(x, axis=turned_from_right(n, x), sizes=sizes), index=k),
    ),
    Rule("split-as-slice", _part, sliced(x, cuts_of_output(k, n, sizes))),
    Rule(
        "split-joined",
        build(Project, split(_joined, axis=p, sizes=sizes), index=k),
        Pick(xs, output_piece(k, n, p, sizes, xs)),
    ),
    *map(_restored, (2, 3, 4)),
)

RULES = (*_CONCAT, *_FUNCTIONS, *_SPLIT)
