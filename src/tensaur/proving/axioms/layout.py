"""Axioms of what moves elements or makes shapes: Transpose, the reshaping operators, Gather."""

from __future__ import annotations

from tensaur.ir.rule import Rule
from tensaur.ir.term import Apply, AttrVar, Const, OpVar, Term, Var
from tensaur.ops import (
    DepthToSpace,
    Expand,
    Flatten,
    Gather,
    Reshape,
    Slice,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
    clip,
    expand,
    gather,
    pad,
    reshape,
    transpose,
    unsqueeze,
)
from tensaur.proving.axioms.conditions import is_right_of, same_rank, turned_from_right
from tensaur.rules.axes import (
    compose,
    is_identity,
    keeps_last,
    target_shape,
)
from tensaur.rules.conditions import absorbs, all_equal, rank_at_most, same_type
from tensaur.rules.kinds import PAIRWISE, POINTWISE
from tensaur.rules.operands import cuts_of_gathered, cuts_of_indices
from tensaur.rules.ranges import sliced

x, y, z, s, t, c, i = (Var(name) for name in "xyzstci")
p, q, n, flag, again = (AttrVar(name) for name in ("p", "q", "n", "flag", "again"))
_pointwise = OpVar("f", POINTWISE)
_pairwise = OpVar("f", PAIRWISE)
_RESHAPES = (Flatten, Squeeze, Unsqueeze)
_move = OpVar("move", (Transpose, *_RESHAPES, DepthToSpace, Slice))
_move_to = OpVar("move", (Reshape, Expand, Tile, Gather))
_reshape = OpVar("move", _RESHAPES)
_reshape_again = OpVar("again", _RESHAPES)
_cut = OpVar("cut", (Slice,))
_steered = OpVar("move", (Reshape, Expand, Tile))

_TRANSPOSE = (
    Rule("transpose-identity", transpose(x, perm=p), x, when=(is_identity(p),)),
    Rule(
        "transpose-twice",
        transpose(transpose(x, perm=p), perm=q),
        transpose(x, perm=compose(q, p)),
    ),
    Rule(
        "transpose-pair",
        transpose(_pairwise(x, y), perm=p),
        _pairwise(transpose(x, perm=p), transpose(y, perm=p)),
        when=(same_rank(x, y),),
    ),
    Rule("transpose-clipped", transpose(clip(x, y, z), perm=p), clip(transpose(x, perm=p), y, z)),
)

# One element in, one element out: it does not matter where the element stands.
_FUNCTIONS = (
    Rule("move-function", _move(_pointwise(x)), _pointwise(_move(x))),
    Rule("move-to-function", _move_to(_pointwise(x), s), _pointwise(_move_to(x, s))),
    Rule(
        "reshape-pair",
        reshape(_pairwise(x, y), s, allowzero=flag),
        _pairwise(reshape(x, s, allowzero=flag), reshape(y, s, allowzero=flag)),
        when=(same_type(x, y),),
    ),
    Rule(
        "unsqueeze-pair",
        unsqueeze(_pairwise(x, y), axes=p),
        _pairwise(unsqueeze(x, axes=p), unsqueeze(y, axes=p)),
        when=(same_rank(x, y),),
    ),
    Rule(
        "reshape-beside-vector",
        _pairwise(reshape(x, s, allowzero=flag), c),
        reshape(_pairwise(x, c), s, allowzero=flag),
        when=(
            rank_at_most(c, 1),
            absorbs(x, c),
            absorbs(reshape(x, s, allowzero=flag), c),
            keeps_last(x, reshape(x, s, allowzero=flag), c),
        ),
    ),
    Rule("gather-axis", gather(x, i, axis=n), gather(x, i, axis=turned_from_right(n, x))),
    Rule(
        "gather-sliced",
        _cut(gather(x, i, axis=n)),
        gather(
            sliced(x, cuts_of_gathered(_cut, n, x, i)),
            sliced(i, cuts_of_indices(_cut, n, x, i)),
            axis=n,
        ),
    ),
    Rule(
        "gather-beside-right",
        gather(_pairwise(x, c), i, axis=n),
        _pairwise(gather(x, i, axis=n), c),
        when=(is_right_of(c, n, x),),
    ),
    Rule(
        "gather-beside-left",
        gather(_pairwise(c, x), i, axis=n),
        _pairwise(c, gather(x, i, axis=n)),
        when=(is_right_of(c, n, x),),
    ),
)


def _reshaped(source: Term, target: Apply) -> Apply:
    return reshape(source, Const(target_shape(source, target)), allowzero=False)


_first_reshape = reshape(x, s, allowzero=flag)

_SHAPES = (
    Rule("as-reshape", _reshape(x), _reshaped(x, _reshape(x))),
    Rule("reshape-target", _first_reshape, _reshaped(x, _first_reshape)),
    Rule(
        "reshape-twice",
        reshape(_first_reshape, t, allowzero=again),
        _reshaped(x, reshape(_first_reshape, t, allowzero=again)),
    ),
    Rule("move-nothing", _steered(x, s), x, when=(same_type(_steered(x, s), x),)),
    Rule("reshape-nothing", _reshape(x), x, when=(same_type(_reshape(x), x),)),
    Rule(
        "reshape-and-back",
        _reshape_again(_reshape(x)),
        x,
        when=(same_type(_reshape_again(_reshape(x)), x),),
    ),
    Rule(
        "expanded-first",
        _pairwise(expand(x, s), y),
        _pairwise(x, y),
        when=(same_type(_pairwise(expand(x, s), y), _pairwise(x, y)),),
    ),
    Rule(
        "expanded-second",
        _pairwise(y, expand(x, s)),
        _pairwise(y, x),
        when=(same_type(_pairwise(y, expand(x, s)), _pairwise(y, x)),),
    ),
    Rule(
        "pad-nothing",
        pad(x, pads=p, mode=AttrVar("mode"), axes=q),
        x,
        when=(all_equal(p, 0),),
    ),
    Rule(
        "pad-nothing-with",
        pad(x, c, pads=p, mode=AttrVar("mode"), axes=q),
        x,
        when=(all_equal(p, 0),),
    ),
)

RULES = (*_TRANSPOSE, *_FUNCTIONS, *_SHAPES)
