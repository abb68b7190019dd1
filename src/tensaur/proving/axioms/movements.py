"""Axioms by elements, the moving half: every movement is an arrangement, and what passes through one.

For known sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensaur.ir.operator import Project
from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, Const, Each, Elem, OpVar, Pick, Seq, Var, build
from tensaur.ops import (
    Add,
    Concat,
    DepthToSpace,
    Expand,
    Flatten,
    Gather,
    Max,
    Min,
    Mul,
    Pad,
    PRelu,
    Reshape,
    Slice,
    Squeeze,
    Sub,
    Sum,
    Tile,
    Transpose,
    Unsqueeze,
    clip,
    split,
    where,
)
from tensaur.proving.axioms import places as at
from tensaur.proving.axioms.arrange import arrange
from tensaur.rules.conditions import filled
from tensaur.rules.kinds import PAIRWISE, POINTWISE

x, y, z, w, c, s, lo, hi = (Var(name) for name in ["x", "y", "z", "w", "c", "s", "lo", "hi"])
n, k, p, q, h, g, parts = (AttrVar(name) for name in ["n", "k", "p", "q", "h", "g", "parts"])
xs = Seq("x")
_pointwise = OpVar("f", POINTWISE)
_pairwise = OpVar("f", (*PAIRWISE, PRelu))
_keeps_zeros = OpVar("f", (Add, Sub, Mul))
_move = OpVar("move", (Transpose, Flatten, Squeeze, Unsqueeze, DepthToSpace, Slice))
_move_to = OpVar("move", (Reshape, Expand, Tile, Gather))
_join = OpVar("join", (Concat,))
_pad = OpVar("pad", (Pad,))
_others = tuple(Var(f"q{number}") for number in range(4))
_several = tuple(Var(f"p{number}") for number in range(4))


def _arranged(value: Any, places: Any = p, shape: Any = h) -> Apply:
    return arrange(value, shape=shape, places=places)


_part = build(Project, split(x, axis=n, sizes=parts), index=k)

_PLACES = (
    Rule("places-of-move", _move(x), _arranged(x, at.moved(_move, x), at.sizes(_move(x)))),
    Rule(
        "places-of-steered",
        _move_to(x, s),
        _arranged(x, at.moved(_move_to, x, s), at.sizes(_move_to(x, s))),
    ),
    Rule("places-of-join", _join(xs), _arranged(xs, at.joined(_join, xs), at.sizes(_join(xs)))),
    Rule("places-of-part", _part, _arranged(x, at.part(n, parts, k, x), at.sizes(_part))),
    Rule("places-of-pad", _pad(x), _arranged(x, at.padded(_pad, x), at.sizes(_pad(x)))),
    Rule(
        "places-of-pad-value",
        _pad(x, c),
        arrange(x, c, places=at.surrounded(_pad, x), shape=at.sizes(_pad(x, c))),
    ),
)


def _inlined(place: int, count: int) -> Rule:
    """An arrangement among the inputs of another."""
    before, after = _several[:place], _several[place : count - 1]
    return Rule(
        f"arranged-inside-{place + 1}-of-{count}",
        arrange(*before, arrange(xs, shape=g, places=q), *after, shape=h, places=p),
        arrange(*before, xs, *after, shape=h, places=at.inlined(p, q, xs, *before)),
    )


def _repeated(count: int) -> Rule:
    """The last input of an arrangement stands there twice."""
    before = _several[: count - 2]
    return Rule(
        f"arranged-twice-of-{count}",
        arrange(*before, x, x, shape=h, places=p),
        arrange(*before, x, shape=h, places=at.once(p, x, *before)),
    )


_only = at.only_input(p, xs)

_ALGEBRA = (
    Rule("arranged-in-place", _arranged(x), x, when=(at.is_in_place(h, p, x),)),
    Rule(
        "arranged-again",
        _arranged(arrange(xs, shape=g, places=q)),
        _arranged(xs, at.composed(p, q)),
    ),
    *(_inlined(place, count) for count in (2, 3, 4) for place in range(count)),
    *map(_repeated, (2, 3, 4)),
    Rule(
        "arranged-one-input", _arranged(xs), _arranged(Pick(xs, _only), at.in_input(p, xs, _only))
    ),
    Rule(
        "arranged-in-order",
        arrange(x, y, shape=h, places=p),
        arrange(y, x, shape=h, places=at.swapped(p, x, y)),
    ),
    Rule(
        "arranged-with-zero",
        arrange(x, c, shape=h, places=p),
        _arranged(x, at.zeros_after(p, x)),
        when=(filled(c, 0.0),),
    ),
    Rule("arranged-known", _arranged(x), Const(at.picked(p, h, x))),
    Rule("arranged-known-pair", arrange(x, y, shape=h, places=p), Const(at.picked(p, h, x, y))),
    Rule("known-function", _pointwise(x), Const(at.computed(_pointwise, x))),
    Rule("known-pair", _pairwise(x, y), Const(at.computed(_pairwise, x, y))),
)


def _spread(value: Any, whole: Apply) -> Apply:
    return _arranged(value, at.spread(value, whole), at.sizes(whole))


def _through(value: Any, whole: Apply) -> Apply:
    return _arranged(value, at.through(p, whole, value))


def _pairs_of(op: OpVar, name: str, *when: Any) -> Iterator[Rule]:
    """An arrangement of results of an operator is the operator's of arrangements."""
    pair = op(x, y)
    yield Rule(
        f"arranged-{name}", _arranged(pair), op(_through(x, pair), _through(y, pair)), when=when
    )
    for count in (2, 3, 4):
        first, second = _several[:count], _others[:count]
        yield Rule(
            f"arranged-{count}-{name}s",
            arrange(*map(op, first, second), shape=h, places=p),
            op(arrange(*first, shape=h, places=p), arrange(*second, shape=h, places=p)),
            when=(*when, *map(at.same_sizes, first, second)),
        )


_pair = _pairwise(x, y)
_choice = where(x, y, z)
_unpadded = at.without_zeros(p)

_ELEMENTWISE = (
    Rule(
        "function-of-arranged",
        _pointwise(_arranged(xs)),
        _arranged(Each(xs, _pointwise(Elem(xs)))),
        when=(_unpadded,),
    ),
    Rule(
        "arranged-function",
        _arranged(_pointwise(x)),
        _pointwise(_arranged(x)),
        when=(_unpadded,),
    ),
    Rule(
        "pair-spread",
        _pair,
        _pairwise(_spread(x, _pair), _spread(y, _pair)),
        when=(at.is_spread(_pair, x, y),),
    ),
    *_pairs_of(_pairwise, "pair", _unpadded),
    *_pairs_of(_keeps_zeros, "padded-pair"),
    Rule(
        "choice-spread",
        _choice,
        where(*(_spread(value, _choice) for value in (x, y, z))),
        when=(at.is_spread(_choice, x, y, z),),
    ),
    Rule(
        "arranged-choice",
        _arranged(_choice),
        where(*(_through(value, _choice) for value in (x, y, z))),
        when=(_unpadded,),
    ),
    Rule(
        "arranged-clip",
        _arranged(clip(x, lo, hi)),
        clip(_arranged(x), lo, hi),
        when=(_unpadded,),
    ),
    Rule(
        "arranged-clip-below",
        _arranged(clip(x, lo)),
        clip(_arranged(x), lo),
        when=(_unpadded,),
    ),
    *(
        rule
        for kind in (Min, Max, Sum)
        for rule in (
            Rule(
                f"{kind.__name__.lower()}-spread",
                build(kind, xs),
                build(kind, Each(xs, _spread(Elem(xs), build(kind, xs)))),
                when=(at.any_spread(build(kind, xs), xs),),
            ),
            Rule(
                f"arranged-{kind.__name__.lower()}",
                _arranged(build(kind, xs)),
                build(kind, Each(xs, _through(Elem(xs), build(kind, xs)))),
                when=(_unpadded,),
            ),
        )
    ),
)

RULES = (*_PLACES, *_ALGEBRA, *_ELEMENTWISE)
