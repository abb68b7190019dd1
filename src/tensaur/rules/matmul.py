"""Rules of matrix products: order, transposes, common operands, scales and summands, Gemm."""

from __future__ import annotations

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Choose, Const, Elem, OpVar, Seq, Var
from tensaur.ops import (
    Slice,
    add,
    concat,
    gather,
    gemm,
    matmul,
    mul,
    reshape,
    slice_,
    split,
    transpose,
)
from tensaur.rules.axes import (
    is_axis,
    is_last_axis,
    is_not_last_axis,
    matrix_transpose,
    swaps_last_two,
    target_shape,
)
from tensaur.rules.conditions import (
    absorbs,
    alike_but,
    alike_items_but,
    all_constant,
    constant,
    equal,
    is_float,
    like,
    not_all,
    not_empty,
    one_element,
    opposite,
    position,
    rank_at_most,
    rank_is,
    ranks_at_least,
    same_size,
    varying,
)
from tensaur.rules.kinds import LINEAR
from tensaur.rules.products import (
    column_shape,
    is_column,
    is_row,
    offset_along,
    row_shape,
    sizes_along,
    sizes_of,
)
from tensaur.rules.ranges import spares_last

x, y, z, w, v, s, a, c, i = (Var(name) for name in "xyzwvsaci")
p, q, n = AttrVar("p"), AttrVar("q"), AttrVar("n")
alpha, beta, ta, tb = AttrVar("alpha"), AttrVar("beta"), AttrVar("ta"), AttrVar("tb")
ws = Seq("w")
_plus = OpVar("plus", LINEAR)
_cut = OpVar("cut", (Slice,))

_ORDER = (
    Rule(
        "associate",
        matmul(matmul(x, y), z),
        matmul(x, matmul(y, z)),
        when=(ranks_at_least(2, x, y, z),),
        exactness=ROUNDING,
        both_ways=True,
        integers=True,
    ),
    Rule(
        "transpose-product",
        transpose(matmul(x, y), perm=p),
        matmul(transpose(y, perm=matrix_transpose(y)), transpose(x, perm=matrix_transpose(x))),
        when=(swaps_last_two(p), ranks_at_least(2, x, y)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-of-transposed",
        matmul(transpose(x, perm=p), transpose(y, perm=q)),
        transpose(matmul(y, x), perm=matrix_transpose(matmul(y, x))),
        when=(swaps_last_two(p), swaps_last_two(q)),
        exactness=ROUNDING,
        integers=True,
    ),
)

_SHARED = (
    Rule(
        "factor-left",
        _plus(matmul(x, y), matmul(x, z)),
        matmul(x, _plus(y, z)),
        when=(ranks_at_least(2, x, y, z),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "factor-right",
        _plus(matmul(x, z), matmul(y, z)),
        matmul(_plus(x, y), z),
        when=(ranks_at_least(2, x, y, z),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "join-sum",
        add(matmul(x, y), matmul(z, w)),
        matmul(concat(x, z, axis=-1), concat(y, w, axis=-2)),
        when=(
            constant(y, w),
            varying(x),
            varying(z),
            ranks_at_least(2, x, y),
            alike_but(-1, x, z),
            alike_but(-2, y, w),
        ),
        exactness=ROUNDING,
        integers=True,
    ),
    # A product over joined columns is a sum of products.
    Rule(
        "part-joined",
        matmul(concat(x, z, axis=n), w),
        add(
            matmul(x, slice_(w, starts=(0,), ends=offset_along(-1, x), axes=(-2,), steps=(1,))),
            matmul(
                z,
                slice_(
                    w,
                    starts=offset_along(-1, x),
                    ends=offset_along(-1, x, z),
                    axes=(-2,),
                    steps=(1,),
                ),
            ),
        ),
        when=(constant(w), is_last_axis(n, x), ranks_at_least(2, x, w)),
        exactness=ROUNDING,
        integers=True,
    ),
    # Two products of one left operand cost less as one wider product.
    Rule(
        "share-left-operand",
        (matmul(x, y), matmul(x, z)),
        split(matmul(x, concat(y, z, axis=-1)), axis=-1, sizes=sizes_along(-1, y, z)),
        when=(constant(y, z), varying(x), ranks_at_least(2, x, y), alike_but(-1, y, z)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "share-right-operand",
        (matmul(x, z), matmul(y, z)),
        split(matmul(concat(x, y, axis=-2), z), axis=-2, sizes=sizes_along(-2, x, y)),
        when=(varying(x), varying(y), ranks_at_least(2, x, z), alike_but(-2, x, y)),
        exactness=ROUNDING,
        integers=True,
    ),
    # All products of one left operand at once.
    Rule(
        "share-left-operands",
        matmul(x, Elem(ws)),
        split(matmul(x, concat(ws, axis=-1)), axis=-1, sizes=sizes_of(-1, ws)),
        when=(all_constant(ws), varying(x), ranks_at_least(2, x), alike_items_but(-1, 2, ws)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "share-right-operands",
        matmul(Elem(ws), z),
        split(matmul(concat(ws, axis=-2), z), axis=-2, sizes=sizes_of(-2, ws)),
        when=(constant(z), ranks_at_least(2, z), alike_items_but(-2, 2, ws)),
        exactness=ROUNDING,
        integers=True,
    ),
)

_scalar_factor = (
    constant(s),
    one_element(s),
    rank_at_most(s, 2),
    ranks_at_least(2, x, y),
    varying(x),
    varying(y),
)

_SCALES = (
    Rule(
        "scale-columns",
        mul(matmul(x, w), s),
        matmul(x, mul(w, s)),
        when=(constant(w, s), ranks_at_least(2, x, w), is_row(s), absorbs(w, s)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "scale-rows",
        mul(matmul(w, x), s),
        matmul(mul(w, s), x),
        when=(constant(w, s), ranks_at_least(2, x, w), is_column(s), absorbs(w, s)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-of-scaled",
        matmul(mul(x, s), w),
        matmul(x, mul(w, reshape(s, Const(column_shape(s)), allowzero=False))),
        when=(
            constant(w, s),
            varying(x),
            ranks_at_least(2, x, w),
            rank_at_most(s, 2),
            is_row(s),
            absorbs(x, s),
        ),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-by-scaled",
        matmul(w, mul(x, s)),
        matmul(mul(w, reshape(s, Const(row_shape(s)), allowzero=False)), x),
        when=(
            constant(w, s),
            varying(x),
            ranks_at_least(2, x, w),
            rank_at_most(s, 2),
            is_column(s),
            absorbs(x, s),
        ),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "scale-left",
        matmul(mul(x, s), y),
        mul(matmul(x, y), s),
        when=_scalar_factor,
        exactness=ROUNDING,
        both_ways=True,
        integers=True,
    ),
    Rule(
        "scale-right",
        matmul(x, mul(y, s)),
        mul(matmul(x, y), s),
        when=_scalar_factor,
        exactness=ROUNDING,
        both_ways=True,
        integers=True,
    ),
    Rule(
        "product-of-shifted",
        matmul(add(x, a), w),
        add(matmul(x, w), matmul(reshape(a, Const(row_shape(a)), allowzero=False), w)),
        when=(
            constant(w, a),
            varying(x),
            ranks_at_least(2, x, w),
            rank_at_most(a, 2),
            is_row(a),
            same_size(a, -1, w, -2),
            absorbs(x, a),
        ),
        exactness=ROUNDING,
        integers=True,
    ),
    # A product of some rows is some rows of the product: of all steps of a recurrence at once.
    Rule(
        "product-of-gathered-rows",
        matmul(gather(x, i, axis=n), w),
        gather(matmul(x, w), i, axis=n),
        when=(constant(w), varying(x), rank_is(w, 2), ranks_at_least(2, x), is_not_last_axis(n, x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-of-sliced-rows",
        matmul(_cut(x), w),
        _cut(matmul(x, w)),
        when=(constant(w), varying(x), rank_is(w, 2), ranks_at_least(2, x), spares_last(_cut, x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-of-reshaped-rows",
        matmul(reshape(x, s, allowzero=n), w),
        reshape(
            matmul(x, w),
            Const(target_shape(matmul(x, w), matmul(reshape(x, s, allowzero=n), w))),
            allowzero=False,
        ),
        when=(
            rank_is(w, 2),
            ranks_at_least(2, x),
            ranks_at_least(1, reshape(x, s, allowzero=n)),
            same_size(x, -1, reshape(x, s, allowzero=n), -1),
            not_empty(w, 0),
            constant(w),
            varying(x),
        ),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "product-of-gathered",
        matmul(gather(w, i, axis=n), v),
        gather(matmul(w, v), i, axis=0),
        when=(constant(w, v), rank_is(w, 2), rank_is(v, 2), is_axis(n, 0, w)),
        exactness=ROUNDING,
        integers=True,
    ),
)

_left = Choose(position(ta), (x, transpose(x, perm=(1, 0))))
_right = Choose(position(tb), (y, transpose(y, perm=(1, 0))))

_GEMM = (
    Rule(
        "gemm-as-sum",
        gemm(x, y, c, alpha=alpha, beta=beta, trans_a=ta, trans_b=tb),
        add(matmul(_left, _right), c),
        when=(equal(alpha, 1.0), equal(beta, 1.0)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "gemm-as-product",
        gemm(x, y, alpha=alpha, beta=beta, trans_a=ta, trans_b=tb),
        matmul(_left, _right),
        when=(equal(alpha, 1.0),),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "gemm-as-scaled-sum",
        gemm(x, y, c, alpha=alpha, beta=beta, trans_a=ta, trans_b=tb),
        add(mul(matmul(_left, _right), Const(like(x, alpha))), mul(c, Const(like(x, beta)))),
        when=(constant(y, c), varying(x), not_all(1.0, alpha, beta)),
        exactness=ROUNDING,
    ),
    Rule(
        "sum-as-gemm",
        add(matmul(x, y), c),
        gemm(x, y, c, alpha=1.0, beta=1.0, trans_a=False, trans_b=False),
        # The runtime has no kernel for integers here.
        when=(is_float(x), rank_is(x, 2), rank_is(y, 2), absorbs(matmul(x, y), c)),
        exactness=ROUNDING,
    ),
    Rule(
        "gemm-of-left-transposed",
        gemm(transpose(x, perm=p), y, c, alpha=alpha, beta=beta, trans_a=ta, trans_b=tb),
        gemm(x, y, c, alpha=alpha, beta=beta, trans_a=opposite(ta), trans_b=tb),
        when=(swaps_last_two(p), varying(x)),
        exactness=ROUNDING,
        integers=True,
    ),
    Rule(
        "gemm-of-right-transposed",
        gemm(x, transpose(y, perm=p), c, alpha=alpha, beta=beta, trans_a=ta, trans_b=tb),
        gemm(x, y, c, alpha=alpha, beta=beta, trans_a=ta, trans_b=opposite(tb)),
        when=(swaps_last_two(p), varying(y)),
        exactness=ROUNDING,
        integers=True,
    ),
)

RULES = (*_ORDER, *_SHARED, *_SCALES, *_GEMM)
