"""Rules for proofs: right ones, and wrong ones that must never be proved."""

from __future__ import annotations

from tensaur.ir.rule import FAST, ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Var
from tensaur.ops import (
    add,
    concat,
    conv,
    exp,
    matmul,
    max_pool,
    mul,
    neg,
    reduce_mean,
    reduce_sum,
    relu,
    softmax,
    sub,
    transpose,
)
from tensaur.rules.axes import compose
from tensaur.rules.conditions import like, ranks_at_least

x, y, z, w, v, b, c = (Var(name) for name in "xyzwvbc")
p, q, n, m = (AttrVar(name) for name in "pqnm")
_window = {name: AttrVar(name) for name in ("strides", "pads", "dilations", "group")}
_pool = {name: AttrVar(name) for name in ("kernel", "strides", "pads", "dilations", "ceil_mode")}


def _rule(name, find, make, *when, exactness=ROUNDING):
    return Rule(name, find, make, when, exactness)


RIGHT = (
    _rule("negate-three-times", neg(neg(neg(x))), neg(x)),
    _rule("sums-in-another-order", add(add(x, y), add(z, w)), add(add(w, x), add(z, y))),
    _rule("factor-of-sum", add(mul(x, y), mul(y, x)), mul(mul(x, y), Const(like(x, 2.0)))),
    _rule(
        "chain-of-three",
        matmul(matmul(x, y), matmul(z, w)),
        matmul(x, matmul(matmul(y, z), w)),
        ranks_at_least(2, x, y, z, w),
    ),
    _rule("relu-of-joined", relu(concat(x, y, axis=n)), concat(relu(x), relu(y), axis=n)),
    _rule(
        "conv-of-difference",
        conv(sub(x, x), w, **_window),
        sub(conv(x, w, **_window), conv(x, w, **_window)),
    ),
)

REPEATED = _rule("relu-three-times", relu(relu(relu(x))), relu(x))

WRONG = (
    _rule("lost-operand", add(x, mul(x, y)), mul(x, y)),
    _rule("wrong-factor", add(x, x), mul(x, Const(like(x, 3.0)))),
    _rule("lost-sign", neg(sub(x, y)), sub(x, y)),
    _rule("swapped-operands", matmul(x, y), matmul(y, x)),
    _rule("any-rank", matmul(matmul(x, y), z), matmul(x, matmul(y, z))),
    _rule("vectors-too", add(matmul(x, w), matmul(x, v)), matmul(x, add(w, v))),
    _rule(
        "composed-in-wrong-order",
        transpose(transpose(x, perm=p), perm=q),
        transpose(x, perm=compose(p, q)),
    ),
    _rule("wrong-axis", relu(concat(x, y, axis=n)), concat(relu(x), relu(y), axis=-1)),
    _rule("lost-y-of-convolution", mul(conv(x, w, **_window), y), conv(x, w, **_window)),
    _rule(
        "any-group",
        conv(concat(x, y, axis=1), concat(w, v, axis=1), **_window),
        add(conv(x, w, **_window), conv(y, v, **_window)),
    ),
    _rule(
        "lost-padding",
        conv(x, w, **_window),
        conv(x, w, **{**_window, "pads": ()}),
    ),
    _rule("lost-bias", conv(x, w, b, **_window), conv(x, w, **_window)),
    _rule(
        "relu-of-sum",
        relu(add(x, y)),
        add(relu(x), relu(y)),
    ),
    _rule(
        "mean-is-no-sum",
        reduce_mean(x, axes=n, keepdims=True),
        reduce_sum(x, axes=n, keepdims=True),
    ),
    _rule(
        "sum-of-products",
        reduce_sum(mul(x, y), axes=n, keepdims=True),
        mul(reduce_sum(x, axes=n, keepdims=True), reduce_sum(y, axes=n, keepdims=True)),
    ),
    _rule("softmax-of-other-axis", softmax(x, axis=n), softmax(x, axis=-1)),
    _rule("maximum-of-negated", max_pool(neg(x), **_pool), neg(max_pool(x, **_pool))),
    _rule("exponential-of-product", exp(mul(x, y)), mul(exp(x), exp(y)), exactness=FAST),
)
