"""Axioms of convolution and pooling: bilinear, joined operands, borders of zeros, identities."""

from __future__ import annotations

from typing import Any

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Each, Elem, OpVar, Seq, Var
from tensaur.ops import (
    CONVOLUTIONS,
    GLOBAL_POOLS,
    POOLS,
    AveragePool,
    Conv,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    add,
    average_pool,
    concat,
    conv,
    global_average_pool,
    global_max_pool,
    mul,
    neg,
    pad,
    reduce_max,
    reduce_mean,
    unsqueeze,
)
from tensaur.proving.axioms.conditions import (
    after_channels,
    flat_kernel,
    halved,
    is_identity_kernel,
    is_plain_mean,
    kernel_border,
    pads_without,
    window_group,
)
from tensaur.proving.axioms.kinds import GROWING
from tensaur.rules.axes import is_axis, spatial_axes
from tensaur.rules.conditions import absorbs, filled, one_element, same_size, same_type
from tensaur.rules.windows import covers_space, is_ungrouped, padded_more, sees_input

x, y, w, v, b, s, c = (Var(name) for name in "xywvbsc")
n, m = AttrVar("n"), AttrVar("m")
border = AttrVar("border")
xs = Seq("x")
_joined = concat(xs, axis=n)
_conv = OpVar("conv", (Conv,))
_any = OpVar("conv", CONVOLUTIONS)
_pool = OpVar("pool", (*POOLS, *GLOBAL_POOLS))
_greatest = OpVar("pool", (MaxPool, GlobalMaxPool))
_mean = OpVar("pool", (AveragePool, GlobalAveragePool))
_monotone = OpVar("f", GROWING)
_names = ("strides", "pads", "dilations", "group")
_window = {name: AttrVar(name) for name in _names}
_padding = {"mode": "constant", "axes": None}


def _axiom(name: str, find: Any, make: Any, *when: Any) -> Rule:
    return Rule(name, find, make, when, ROUNDING)


_BILINEAR = (
    _axiom("conv-bias", _any(x, w, b), add(_any(x, w), unsqueeze(b, axes=after_channels(x)))),
    _axiom("conv-of-filters", _any(x, add(w, v)), add(_any(x, w), _any(x, v)), same_type(w, v)),
    _axiom("conv-of-sum", _any(add(x, y), w), add(_any(x, w), _any(y, w)), same_type(x, y)),
    _axiom("conv-of-negated", _any(neg(x), w), neg(_any(x, w))),
    _axiom("conv-of-negated-filters", _any(x, neg(w)), neg(_any(x, w))),
    _axiom("conv-of-scaled", _any(mul(x, s), w), mul(_any(x, w), s), one_element(s), absorbs(x, s)),
    _axiom(
        "conv-of-scaled-filters",
        _any(x, mul(w, s)),
        mul(_any(x, w), s),
        one_element(s),
        absorbs(w, s),
    ),
    _axiom("conv-by-identity", _conv(x, c), x, is_identity_kernel(_conv, c)),
)

_JOINED = (
    _axiom(
        "conv-of-joined-filters",
        _conv(x, _joined),
        concat(Each(xs, _conv(x, Elem(xs))), axis=1),
        is_axis(n, 0, _joined),
        is_ungrouped(_conv),
    ),
    _axiom(
        "conv-of-joined-batches",
        _any(_joined, w),
        concat(Each(xs, _any(Elem(xs), w)), axis=0),
        is_axis(n, 0, _joined),
    ),
    _axiom(
        "conv-of-joined-inside",
        _conv(concat(x, y, axis=n), concat(w, v, axis=m)),
        add(_conv(x, w), _conv(y, v)),
        is_axis(n, 1, x),
        is_axis(m, 1, w),
        is_ungrouped(_conv),
        same_size(x, 1, w, 1),
    ),
    _axiom(
        "conv-of-joined-groups",
        conv(concat(x, y, axis=n), concat(w, v, axis=m), **_window),
        concat(
            *(
                conv(data, filters, **{**_window, "group": halved(_window["group"])})
                for data, filters in ((x, w), (y, v))
            ),
            axis=1,
        ),
        is_axis(n, 1, x),
        is_axis(m, 0, w),
        same_type(x, y),
        same_type(w, v),
    ),
    _axiom(
        "pool-of-joined-batches",
        _pool(_joined),
        concat(Each(xs, _pool(Elem(xs))), axis=0),
        is_axis(n, 0, _joined),
    ),
    _axiom(
        "pool-of-joined-channels",
        _pool(_joined),
        concat(Each(xs, _pool(Elem(xs))), axis=1),
        is_axis(n, 1, _joined),
    ),
)

_BORDERS = (
    # TASO's enlarge: a kernel with a border of zeros.
    _axiom(
        "conv-enlarged",
        conv(x, pad(w, pads=border, **_padding), **_window),
        conv(
            x,
            w,
            **{**_window, "pads": pads_without(_window["pads"], border, _window["dilations"])},
        ),
        kernel_border(border, w),
    ),
    _axiom(
        "conv-padded",
        conv(pad(x, pads=border, **_padding), w, **_window),
        conv(x, w, **{**_window, "pads": padded_more(_window["pads"], border, x)}),
    ),
    Rule(
        "pad-by-zero",
        pad(x, c, pads=border, **_padding),
        pad(x, pads=border, **_padding),
        when=(filled(c, 0.0),),
    ),
)

_POOLS = (
    # TASO's Cpool: a mean over windows is a convolution with a flat kernel for each channel.
    _axiom(
        "mean-as-convolution",
        _mean(x),
        conv(
            x,
            Const(flat_kernel(_mean, x)),
            **{name: window_group(_mean, x, name) for name in _names},
        ),
        is_plain_mean(_mean),
    ),
    _axiom("mean-of-sum", _mean(add(x, y)), add(_mean(x), _mean(y)), same_type(x, y)),
    _axiom("mean-of-scaled", _mean(mul(x, s)), mul(_mean(x), s), one_element(s), absorbs(x, s)),
    _axiom(
        "monotone-of-maximum",
        _monotone(_greatest(x)),
        _greatest(_monotone(x)),
        sees_input(_greatest),
    ),
    _axiom(
        "global-mean",
        global_average_pool(x),
        reduce_mean(x, axes=spatial_axes(x), keepdims=True),
    ),
    _axiom(
        "global-maximum",
        global_max_pool(x),
        reduce_max(x, axes=spatial_axes(x), keepdims=True),
    ),
    _axiom(
        "mean-of-all",
        average_pool(
            x,
            kernel=AttrVar("kernel"),
            strides=_window["strides"],
            pads=_window["pads"],
            dilations=_window["dilations"],
            ceil_mode=AttrVar("ceil"),
            count_include_pad=AttrVar("include"),
        ),
        global_average_pool(x),
        covers_space(AttrVar("kernel"), _window["pads"], _window["dilations"], x),
    ),
)

RULES = (*_BILINEAR, *_JOINED, *_BORDERS, *_POOLS)
