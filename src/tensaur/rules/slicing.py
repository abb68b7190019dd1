"""Rules that move Slice, Split and Gather towards the inputs, so that no dead row is computed."""

from __future__ import annotations

from tensaur.ir.operator import Project
from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Const,
    Each,
    Elem,
    OpVar,
    Pick,
    Seq,
    Term,
    Var,
    build,
    project,
)
from tensaur.ops import (
    GLOBAL_POOLS,
    POOLS,
    SOFTMAXES,
    Conv,
    Max,
    Min,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceSum,
    Slice,
    Sum,
    batch_normalization,
    clip,
    concat,
    expand,
    gather,
    layer_normalization,
    matmul,
    one_hot,
    reshape,
    slice_,
    split,
    squeeze,
    transpose,
    where,
)
from tensaur.rules.axes import has_length, is_last_axis, only, same_axis, target_shape
from tensaur.rules.conditions import like, ranks_at_least, static_shape, varying
from tensaur.rules.kinds import PAIRWISE
from tensaur.rules.lookup import before_first, is_zero_one, one_row
from tensaur.rules.operands import (
    cuts_before,
    cuts_beside,
    cuts_of_batch,
    cuts_of_filters,
    cuts_of_gathered,
    cuts_of_indices,
    cuts_of_left,
    cuts_of_operand,
    cuts_of_reduced,
    cuts_of_reshaped,
    cuts_of_right,
    cuts_of_transposed,
    rank,
)
from tensaur.rules.ranges import (
    cut_at_index,
    cuts_in_piece,
    cuts_of_output,
    cuts_together,
    is_adjacent,
    output_piece,
    piece,
    sliced,
    takes_all,
)

x, y, z, w, b, c, i, s = (Var(name) for name in "xyzwbcis")
p, q, k, n = AttrVar("p"), AttrVar("q"), AttrVar("k"), AttrVar("n")
sizes, epsilon, keep, along = AttrVar("sizes"), AttrVar("e"), AttrVar("keep"), AttrVar("along")
xs = Seq("x")
_cut = OpVar("cut", (Slice,))
_cut_again = OpVar("again", (Slice,))
_pairwise = OpVar("f", PAIRWISE)
_conv = OpVar("conv", (Conv,))
_pool = OpVar("pool", (*POOLS, *GLOBAL_POOLS))
first, middle, middle_, last = (AttrVar(name) for name in ("first", "middle", "next", "last"))
steps = AttrVar("steps")


def _operand(out: Term, operand: Term) -> Term:
    return sliced(operand, cuts_of_operand(_cut, out, operand))


def _from_to(start: AttrVar, end: AttrVar) -> Apply:
    return slice_(x, starts=start, ends=end, axes=along, steps=steps)


_ELEMENTWISE = (
    Rule(
        "slice-pair",
        _cut(_pairwise(x, y)),
        _pairwise(_operand(_pairwise(x, y), x), _operand(_pairwise(x, y), y)),
        when=(varying(_pairwise(x, y)),),
    ),
    *(
        Rule(
            f"slice-{kind.__name__.lower()}",
            _cut(build(kind, xs)),
            build(kind, Each(xs, _operand(build(kind, xs), Elem(xs)))),
            when=(varying(build(kind, xs)),),
        )
        for kind in (Min, Max, Sum)
    ),
    Rule(
        "slice-selection",
        _cut(where(c, x, y)),
        where(*(_operand(where(c, x, y), item) for item in (c, x, y))),
        when=(varying(where(c, x, y)),),
    ),
    Rule("slice-clipped", _cut(clip(x, y, z)), clip(_cut(x), y, z)),
    Rule("slice-clipped-below", _cut(clip(x, y)), clip(_cut(x), y)),
)

_PRODUCTS = (
    Rule(
        "slice-product",
        _cut(matmul(x, y)),
        matmul(
            sliced(x, cuts_of_left(_cut, matmul(x, y), x)),
            sliced(y, cuts_of_right(_cut, matmul(x, y), y)),
        ),
        when=(ranks_at_least(2, x, y), varying(matmul(x, y))),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "slice-convolution",
        _cut(_conv(x, w)),
        _conv(
            sliced(x, cuts_of_batch(_cut, _conv, w, _conv(x, w))),
            sliced(w, cuts_of_filters(_cut, _conv, _conv(x, w), rank(w))),
        ),
        exactness=ROUNDING,
    ),
    Rule(
        "slice-biased-convolution",
        _cut(_conv(x, w, b)),
        _conv(
            sliced(x, cuts_of_batch(_cut, _conv, w, _conv(x, w, b))),
            sliced(w, cuts_of_filters(_cut, _conv, _conv(x, w, b), rank(w))),
            sliced(b, cuts_of_filters(_cut, _conv, _conv(x, w, b), 1)),
        ),
        exactness=ROUNDING,
    ),
)

_ALONG = (
    *(
        Rule(
            f"slice-{kind.__name__.lower()}",
            _cut(build(kind, x, axis=n)),
            build(kind, sliced(x, cuts_beside(_cut, n, x)), axis=n),
            exactness=ROUNDING,
        )
        for kind in SOFTMAXES
    ),
    *(
        Rule(
            f"slice-{kind.__name__.lower()}",
            _cut(build(kind, x, axes=along, keepdims=keep)),
            build(
                kind,
                sliced(x, cuts_of_reduced(_cut, along, keep, x)),
                axes=along,
                keepdims=keep,
            ),
            exactness=ROUNDING,
            integers=True,
        )
        for kind in (ReduceSum, ReduceMean, ReduceMax, ReduceMin)
    ),
    Rule(
        "slice-layer-normalization",
        _cut(layer_normalization(x, s, b, axis=n, epsilon=epsilon)),
        layer_normalization(sliced(x, cuts_before(_cut, n, x)), s, b, axis=n, epsilon=epsilon),
        exactness=ROUNDING,
    ),
)

_WINDOWS = (
    # Channel by channel, picture by picture.
    Rule(
        "slice-pooled",
        _cut(_pool(x)),
        _pool(sliced(x, cuts_before(_cut, 2, x))),
        when=(varying(x),),
        exactness=ROUNDING,
    ),
    Rule(
        "slice-batch-normalization",
        _cut(batch_normalization(x, s, b, y, z, epsilon=epsilon)),
        batch_normalization(sliced(x, cuts_beside(_cut, 1, x)), s, b, y, z, epsilon=epsilon),
        when=(varying(x),),
        exactness=ROUNDING,
    ),
)

_LAYOUT = (
    Rule(
        "slice-expanded",
        _cut(expand(x, s)),
        expand(
            sliced(x, cuts_of_operand(_cut, expand(x, s), x)),
            Const(static_shape(_cut(expand(x, s)))),
        ),
        when=(varying(x),),
    ),
    Rule(
        "slice-transposed",
        _cut(transpose(x, perm=p)),
        transpose(sliced(x, cuts_of_transposed(_cut, p)), perm=p),
        when=(varying(x),),
    ),
    Rule(
        "slice-reshaped",
        _cut(reshape(x, s, allowzero=n)),
        reshape(
            sliced(x, cuts_of_reshaped(_cut, x, reshape(x, s, allowzero=n))),
            Const(
                target_shape(
                    sliced(x, cuts_of_reshaped(_cut, x, reshape(x, s, allowzero=n))),
                    _cut(reshape(x, s, allowzero=n)),
                )
            ),
            allowzero=False,
        ),
        when=(varying(x),),
    ),
    Rule(
        "slice-gathered",
        _cut(gather(x, i, axis=n)),
        gather(
            sliced(x, cuts_of_gathered(_cut, n, x, i)),
            sliced(i, cuts_of_indices(_cut, n, x, i)),
            axis=n,
        ),
        when=(varying(gather(x, i, axis=n)),),
    ),
    Rule("slice-all", _cut(x), x, when=(takes_all(_cut, x),)),
    Rule(
        "slice-twice",
        _cut_again(_cut(x)),
        sliced(x, cuts_together(_cut, _cut_again, x)),
        when=(varying(x),),
    ),
    Rule(
        "slice-one-input",
        _cut(concat(xs, axis=n)),
        sliced(Pick(xs, piece(_cut, n, xs)), cuts_in_piece(_cut, n, xs)),
    ),
    Rule(
        "slice-every-input",
        _cut(concat(xs, axis=n)),
        concat(Each(xs, sliced(Elem(xs), cuts_beside(_cut, n, Elem(xs)))), axis=n),
    ),
    # Adjacent slices: one ends where the next starts.
    Rule(
        "join-two-slices",
        concat(_from_to(first, middle), _from_to(middle, last), axis=n),
        _from_to(first, last),
        when=(is_adjacent(along, steps, n, x, first, middle, last),),
    ),
    Rule(
        "join-three-slices",
        concat(_from_to(first, middle), _from_to(middle, middle_), _from_to(middle_, last), axis=n),
        _from_to(first, last),
        when=(is_adjacent(along, steps, n, x, first, middle, middle_, last),),
    ),
)

_SPLIT = (
    Rule(
        "split-as-slice",
        build(Project, split(x, axis=n, sizes=sizes), index=k),
        sliced(x, cuts_of_output(k, n, sizes)),
        when=(varying(x),),
    ),
    Rule(
        "split-joined",
        build(Project, split(concat(xs, axis=n), axis=p, sizes=sizes), index=k),
        Pick(xs, output_piece(k, n, p, sizes, xs)),
    ),
    *(
        Rule(
            f"join-split-{count}",
            concat(
                *(project(split(x, axis=n, sizes=sizes), number) for number in range(count)),
                axis=p,
            ),
            x,
            when=(same_axis(n, p, x), has_length(sizes, count)),
        )
        for count in (2, 3, 4)
    ),
    Rule(
        "gather-one",
        gather(x, i, axis=n),
        squeeze(sliced(x, cut_at_index(i, n)), axes=only(n)),
        when=(varying(x),),
    ),
)

_rows = expand(Const(like(w, 0.0)), Const(one_row(w)))

_LOOKUP = (
    # An index outside the matrix finds the row of zeros; a negative one counts from the end.
    Rule(
        "product-as-lookup",
        matmul(one_hot(i, s, depth=k, axis=n), w),
        gather(
            concat(w, _rows, w, axis=0),
            clip(i, Const(like(i, before_first(k))), Const(like(i, k))),
            axis=0,
        ),
        when=(is_zero_one(s), is_last_axis(n, one_hot(i, s, depth=k, axis=n)), varying(i)),
        exactness=FAST,
        integers=True,
    ),
)

RULES = (*_ELEMENTWISE, *_PRODUCTS, *_ALONG, *_WINDOWS, *_LAYOUT, *_SPLIT, *_LOOKUP)
