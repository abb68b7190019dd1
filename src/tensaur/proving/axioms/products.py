"""Axioms of matrix products: order, sums, scales, transposes, joined operands; Gemm by MatMul."""

from __future__ import annotations

from typing import Any

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Choose, Const, Each, Elem, Seq, Var
from tensaur.ops import add, concat, gather, gemm, matmul, mul, neg, transpose
from tensaur.proving.axioms.conditions import (
    is_axis_from_right,
    is_identity_matrix,
    linear_operands,
    same_rank,
)
from tensaur.rules.axes import is_not_last_axis, keeps_matrix, matrix_transpose, swaps_last_two
from tensaur.rules.conditions import (
    absorbs,
    equal,
    is_float,
    like,
    position,
    rank_is,
    ranks_at_least,
    same_size,
)
from tensaur.rules.products import is_column, is_row

x, y, z, w, v, s, c, i = (Var(name) for name in "xyzwvsci")
p, n, m = AttrVar("p"), AttrVar("n"), AttrVar("m")
alpha, beta, left, right = (AttrVar(name) for name in ("alpha", "beta", "left", "right"))
xs = Seq("x")
_joined = concat(xs, axis=n)


def _axiom(name: str, find: Any, make: Any, *when: Any, **options: Any) -> Rule:
    return Rule(f"matmul-{name}", find, make, when, ROUNDING, integers=True, **options)


_BILINEAR = (
    _axiom(
        "associates",
        matmul(matmul(x, y), z),
        matmul(x, matmul(y, z)),
        ranks_at_least(2, x, y, z),
        both_ways=True,
    ),
    _axiom(
        "of-right-sum",
        matmul(x, add(y, z)),
        add(matmul(x, y), matmul(x, z)),
        linear_operands(y, z),
    ),
    _axiom(
        "of-left-sum",
        matmul(add(x, y), z),
        add(matmul(x, z), matmul(y, z)),
        linear_operands(x, y),
    ),
    _axiom("of-right-negated", matmul(x, neg(y)), neg(matmul(x, y))),
    _axiom("of-left-negated", matmul(neg(x), y), neg(matmul(x, y))),
    _axiom(
        "of-scaled-rows",
        matmul(mul(x, s), y),
        mul(matmul(x, y), s),
        is_column(s),
        absorbs(x, s),
        ranks_at_least(2, x, y),
    ),
    _axiom(
        "of-scaled-columns",
        matmul(x, mul(y, s)),
        mul(matmul(x, y), s),
        is_row(s),
        absorbs(y, s),
        ranks_at_least(2, x, y),
    ),
    _axiom("by-identity", matmul(x, c), x, is_identity_matrix(c), ranks_at_least(2, x)),
    _axiom("of-identity", matmul(c, x), x, is_identity_matrix(c), ranks_at_least(2, x)),
)

_MOVED = (
    _axiom(
        "transposed",
        transpose(matmul(x, y), perm=p),
        matmul(transpose(y, perm=matrix_transpose(y)), transpose(x, perm=matrix_transpose(x))),
        swaps_last_two(p),
        ranks_at_least(2, x, y),
    ),
    _axiom(
        "of-transposed-batches",
        transpose(matmul(x, y), perm=p),
        matmul(transpose(x, perm=p), transpose(y, perm=p)),
        keeps_matrix(p),
        same_rank(x, y),
    ),
    _axiom(
        "of-gathered",
        matmul(gather(x, i, axis=n), w),
        gather(matmul(x, w), i, axis=n),
        rank_is(w, 2),
        ranks_at_least(2, x),
        is_not_last_axis(n, x),
    ),
)

_JOINED = (
    _axiom(
        "of-joined-columns",
        matmul(x, _joined),
        concat(Each(xs, matmul(x, Elem(xs))), axis=-1),
        is_axis_from_right(n, -1, _joined),
        ranks_at_least(2, _joined, x),
    ),
    _axiom(
        "of-joined-rows",
        matmul(_joined, x),
        concat(Each(xs, matmul(Elem(xs), x)), axis=-2),
        is_axis_from_right(n, -2, _joined),
        ranks_at_least(2, _joined, x),
    ),
    _axiom(
        "of-joined-inside",
        matmul(concat(x, y, axis=n), concat(w, v, axis=m)),
        add(matmul(x, w), matmul(y, v)),
        is_axis_from_right(n, -1, x),
        is_axis_from_right(m, -2, w),
        ranks_at_least(2, x, w),
        same_size(x, -1, w, -2),
    ),
)

_first = Choose(position(left), (x, transpose(x, perm=(1, 0))))
_second = Choose(position(right), (y, transpose(y, perm=(1, 0))))
_whole = {"alpha": alpha, "trans_a": left, "trans_b": right}

_GEMM = (
    Rule(
        "gemm-sum",
        gemm(x, y, c, beta=beta, **_whole),
        add(gemm(x, y, beta=1.0, **_whole), mul(c, Const(like(x, beta)))),
        (is_float(x),),
        ROUNDING,
    ),
    Rule(
        "gemm-product",
        gemm(x, y, beta=beta, **_whole),
        mul(matmul(_first, _second), Const(like(x, alpha))),
        (is_float(x),),
        ROUNDING,
    ),
    Rule(
        "gemm-integer-sum",
        gemm(x, y, c, beta=1.0, **_whole),
        add(gemm(x, y, beta=1.0, **_whole), c),
        (),
        ROUNDING,
        integers=True,
    ),
    Rule(
        "gemm-integer-product",
        gemm(x, y, beta=beta, **_whole),
        matmul(_first, _second),
        (equal(alpha, 1.0),),
        ROUNDING,
        integers=True,
    ),
)

RULES = (*_BILINEAR, *_MOVED, *_JOINED, *_GEMM)
