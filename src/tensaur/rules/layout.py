"""Rules that cancel, merge and move operators which only rearrange elements."""

from __future__ import annotations

from tensaur.ir.operator import Project
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Each, Elem, Index, OpVar, Seq, Var, build
from tensaur.ops import (
    SOFTMAXES,
    Add,
    DepthToSpace,
    Expand,
    Flatten,
    Gather,
    Mul,
    Reshape,
    Slice,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
    clip,
    concat,
    expand,
    gather,
    matmul,
    pad,
    reshape,
    split,
    tile,
    transpose,
    where,
)
from tensaur.rules.axes import (
    axis_after,
    axis_from,
    compose,
    inverse,
    is_axis,
    is_identity,
    keeps_last,
    keeps_matrix,
    keeps_order,
    length,
    names_no_copy,
    padded_to,
    pads_from,
    pads_together,
    same_axis,
    target_shape,
)
from tensaur.rules.conditions import (
    absorbs,
    all_equal,
    any_varying,
    constant,
    rank_at_most,
    rank_below,
    same_type,
    varying,
)
from tensaur.rules.kinds import PAIRWISE, POINTWISE
from tensaur.rules.ranges import cuts_of_share, sliced

x, y, z, s, t, c, i, w = (Var(name) for name in "xyzstciw")
p, q, n, m = AttrVar("p"), AttrVar("q"), AttrVar("n"), AttrVar("m")
mode, sizes, k = AttrVar("mode"), AttrVar("sizes"), AttrVar("k")
xs = Seq("x")
_pointwise = OpVar("f", POINTWISE)
_pairwise = OpVar("f", PAIRWISE)
_affine = OpVar("f", (Add, Mul))
_RESHAPES = (Flatten, Squeeze, Unsqueeze)
_move = OpVar("move", (Transpose, *_RESHAPES, DepthToSpace, Slice))
_move_to = OpVar("move", (Reshape, Expand, Tile, Gather))
_reshape = OpVar("first", _RESHAPES)
_reshape_again = OpVar("second", _RESHAPES)

_TRANSPOSES = (
    Rule("transpose-identity", transpose(x, perm=p), x, when=(is_identity(p),)),
    Rule(
        "transpose-twice",
        transpose(transpose(x, perm=p), perm=q),
        transpose(x, perm=compose(q, p)),
    ),
    Rule(
        "transpose-as-reshape",
        transpose(x, perm=p),
        reshape(x, Const(target_shape(x, transpose(x, perm=p))), allowzero=False),
        when=(keeps_order(x, p), varying(x)),
    ),
    Rule(
        "transpose-pair",
        _pairwise(transpose(x, perm=p), transpose(y, perm=p)),
        transpose(_pairwise(x, y), perm=p),
        when=(any_varying(x, y),),
    ),
    Rule(
        "transpose-beside-constant",
        _pairwise(transpose(x, perm=p), c),
        transpose(
            _pairwise(
                x,
                transpose(
                    reshape(c, Const(padded_to(c, length(p))), allowzero=False), perm=inverse(p)
                ),
            ),
            perm=p,
        ),
        when=(constant(c), varying(x)),
    ),
    Rule(
        "transpose-after-constant",
        _pairwise(c, transpose(x, perm=p)),
        transpose(
            _pairwise(
                transpose(
                    reshape(c, Const(padded_to(c, length(p))), allowzero=False), perm=inverse(p)
                ),
                x,
            ),
            perm=p,
        ),
        when=(constant(c), varying(x)),
    ),
    Rule("transpose-clipped", clip(transpose(x, perm=p), y, z), transpose(clip(x, y, z), perm=p)),
    Rule(
        "transpose-selection",
        where(transpose(c, perm=p), transpose(x, perm=p), transpose(y, perm=p)),
        transpose(where(c, x, y), perm=p),
        when=(any_varying(c, x, y),),
    ),
    *(
        Rule(
            f"transpose-padded{suffix}",
            pad(transpose(x, perm=p), *value, pads=q, mode=mode, axes=None),
            transpose(pad(x, *value, pads=pads_from(p, q), mode=mode, axes=None), perm=p),
        )
        for suffix, value in (("", ()), ("-with", (c,)))
    ),
    Rule(
        "transpose-split",
        build(Project, split(transpose(x, perm=p), axis=n, sizes=sizes), index=k),
        transpose(build(Project, split(x, axis=axis_from(p, n), sizes=sizes), index=k), perm=p),
        when=(varying(x),),
    ),
    Rule(
        "transpose-batches",
        matmul(transpose(x, perm=p), transpose(y, perm=p)),
        transpose(matmul(x, y), perm=p),
        when=(keeps_matrix(p),),
        exactness=ROUNDING,
        integers=True,
    ),
    *(
        Rule(
            f"transpose-before-{kind.__name__.lower()}",
            build(kind, transpose(x, perm=p), axis=n),
            transpose(build(kind, x, axis=axis_from(p, n)), perm=p),
            exactness=ROUNDING,
        )
        for kind in SOFTMAXES
    ),
    *(
        Rule(
            f"transpose-after-{kind.__name__.lower()}",
            transpose(build(kind, x, axis=n), perm=p),
            build(kind, transpose(x, perm=p), axis=axis_after(p, n)),
            exactness=ROUNDING,
        )
        for kind in SOFTMAXES
    ),
)

_POINTWISE = (
    # One element in, one element out: it does not matter where the element stands.
    Rule(
        "move-before-function",
        _pointwise(_move(x)),
        _move(_pointwise(x)),
        when=(varying(x),),
        both_ways=True,
    ),
    Rule(
        "move-to-before-function",
        _pointwise(_move_to(x, s)),
        _move_to(_pointwise(x), s),
        when=(any_varying(x, s),),
        both_ways=True,
    ),
    Rule(
        "reshape-pair",
        _pairwise(reshape(x, s, allowzero=n), reshape(y, s, allowzero=n)),
        reshape(_pairwise(x, y), s, allowzero=n),
        when=(any_varying(x, y), same_type(x, y)),
    ),
    Rule(
        "reshape-beside-vector",
        _pairwise(reshape(x, s, allowzero=n), c),
        reshape(_pairwise(x, c), s, allowzero=n),
        when=(
            constant(c),
            rank_at_most(c, 1),
            absorbs(x, c),
            absorbs(reshape(x, s, allowzero=n), c),
            keeps_last(x, reshape(x, s, allowzero=n), c),
            varying(x),
        ),
    ),
    Rule(
        "gather-beside-constant",
        _pairwise(gather(w, i, axis=n), c),
        gather(_pairwise(w, c), i, axis=n),
        when=(constant(w, c), is_axis(n, 0, w), rank_below(c, w), varying(i)),
    ),
    Rule(
        "gather-after-constant",
        _pairwise(c, gather(w, i, axis=n)),
        gather(_pairwise(c, w), i, axis=n),
        when=(constant(w, c), is_axis(n, 0, w), rank_below(c, w), varying(i)),
    ),
)

_RESHAPING = (
    Rule(
        "reshape-identity",
        reshape(x, s, allowzero=n),
        x,
        when=(same_type(reshape(x, s, allowzero=n), x),),
    ),
    Rule(
        "reshape-twice",
        reshape(reshape(x, s, allowzero=n), t, allowzero=m),
        reshape(x, t, allowzero=m),
        when=(names_no_copy(t, m),),
    ),
    Rule(
        "as-reshape",
        _reshape(x),
        reshape(x, Const(target_shape(x, _reshape(x))), allowzero=False),
        when=(varying(x),),
    ),
    Rule("reshape-nothing", _reshape(x), x, when=(same_type(_reshape(x), x),)),
    Rule(
        "reshape-and-back",
        _reshape_again(_reshape(x)),
        x,
        when=(same_type(_reshape_again(_reshape(x)), x),),
    ),
    Rule(
        "restore-reshaped",
        _reshape(reshape(x, s, allowzero=n)),
        x,
        when=(same_type(_reshape(reshape(x, s, allowzero=n)), x),),
    ),
    Rule(
        "reshape-restores",
        reshape(_reshape(x), s, allowzero=n),
        x,
        when=(same_type(reshape(_reshape(x), s, allowzero=n), x),),
    ),
    Rule(
        "reshape-reshapes-back",
        reshape(reshape(x, s, allowzero=n), t, allowzero=m),
        x,
        when=(same_type(reshape(reshape(x, s, allowzero=n), t, allowzero=m), x),),
    ),
    Rule("expand-nothing", expand(x, s), x, when=(same_type(expand(x, s), x),)),
    Rule("tile-once", tile(x, s), x, when=(same_type(tile(x, s), x),)),
    Rule(
        "expanded-first-operand",
        _pairwise(expand(x, s), y),
        _pairwise(x, y),
        when=(any_varying(x, y), same_type(_pairwise(expand(x, s), y), _pairwise(x, y))),
    ),
    Rule(
        "expanded-second-operand",
        _pairwise(y, expand(x, s)),
        _pairwise(y, x),
        when=(any_varying(x, y), same_type(_pairwise(y, expand(x, s)), _pairwise(y, x))),
    ),
    *(
        Rule(
            f"pad-twice{suffix}",
            pad(
                pad(x, *value, pads=p, mode="constant", axes=None),
                *value,
                pads=q,
                mode="constant",
                axes=None,
            ),
            pad(x, *value, pads=pads_together(p, q), mode="constant", axes=None),
        )
        for suffix, value in (("", ()), ("-with", (c,)))
    ),
    Rule("pad-nothing", pad(x, pads=p, mode=mode, axes=q), x, when=(all_equal(p, 0),)),
    Rule("pad-nothing-with", pad(x, c, pads=p, mode=mode, axes=q), x, when=(all_equal(p, 0),)),
)

_parts = tuple(Var(f"p{number}") for number in range(4))

_CONCATENATION = (
    Rule("join-one", concat(x, axis=n), x),
    *(
        Rule(
            f"join-joined-{place + 1}-of-{count}",
            concat(*_parts[:place], concat(xs, axis=m), *_parts[place : count - 1], axis=n),
            concat(*_parts[:place], xs, *_parts[place : count - 1], axis=n),
            when=(same_axis(m, n, concat(xs, axis=m)),),
        )
        for count in (2, 3, 4)
        for place in range(count)
    ),
    Rule(
        "join-before-function",
        _pointwise(concat(xs, axis=n)),
        concat(Each(xs, _pointwise(Elem(xs))), axis=n),
    ),
    *(
        Rule(
            f"join-{count}-functions",
            concat(*(_pointwise(part) for part in _parts[:count]), axis=n),
            _pointwise(concat(*_parts[:count], axis=n)),
        )
        for count in (2, 3, 4)
    ),
    # A scale or bias per channel goes to the branches, where convolutions absorb it.
    Rule(
        "join-before-constant",
        _affine(concat(xs, axis=n), c),
        concat(Each(xs, _affine(Elem(xs), sliced(c, cuts_of_share(n, xs, Index(xs), c)))), axis=n),
        when=(constant(c), absorbs(concat(xs, axis=n), c)),
    ),
    Rule(
        "transpose-joined",
        transpose(concat(xs, axis=n), perm=p),
        concat(Each(xs, transpose(Elem(xs), perm=p)), axis=axis_after(p, n)),
    ),
    *(
        Rule(
            f"join-{count}-transposed",
            concat(*(transpose(part, perm=p) for part in _parts[:count]), axis=n),
            transpose(concat(*_parts[:count], axis=axis_from(p, n)), perm=p),
        )
        for count in (2, 3, 4)
    ),
)

RULES = (*_TRANSPOSES, *_POINTWISE, *_RESHAPING, *_CONCATENATION)
