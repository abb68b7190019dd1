"""Rules that swap pooling with convolutions and activations, and that absorb padding into windows."""

from __future__ import annotations

import math

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, OpVar, Var
from tensaur.ops import (
    AveragePool,
    Conv,
    GlobalAveragePool,
    GlobalMaxPool,
    MaxPool,
    Relu,
    Sigmoid,
    Tanh,
    average_pool,
    conv,
    max_pool,
    pad,
)
from tensaur.rules.conditions import equal, filled, lowest_filled, varying
from tensaur.rules.windows import (
    is_pointwise,
    leaves_out_padding,
    no_pads,
    padded_more,
    pads_fit,
    sees_input,
)

x, w, b, c = (Var(name) for name in "xwbc")
n = AttrVar("n")
_conv = OpVar("conv", (Conv,))
_mean = OpVar("pool", (AveragePool, GlobalAveragePool))
_greatest = OpVar("pool", (MaxPool, GlobalMaxPool))
_monotone = OpVar("f", (Relu, Sigmoid, Tanh))

_POOLING = (
    # A convolution of one position mixes channels, a mean mixes positions: either may come first.
    Rule(
        "swap-mean",
        _mean(_conv(x, w)),
        _conv(_mean(x), w),
        when=(is_pointwise(_conv, w), sees_input(_mean), varying(x)),
        exactness=ROUNDING,
        both_ways=True,
    ),
    Rule(
        "swap-mean-with-bias",
        _mean(_conv(x, w, b)),
        _conv(_mean(x), w, b),
        when=(
            is_pointwise(_conv, w),
            leaves_out_padding(_mean),
            sees_input(_mean),
            varying(x),
        ),
        exactness=ROUNDING,
        both_ways=True,
    ),
    # What never decreases may be taken before or after the maximum.
    Rule(
        "swap-maximum",
        _monotone(_greatest(x)),
        _greatest(_monotone(x)),
        when=(sees_input(_greatest),),
        exactness=ROUNDING,
        both_ways=True,
    ),
)

_window = {
    "strides": AttrVar("strides"),
    "dilations": AttrVar("dilations"),
}
_conv_window = {**_window, "group": AttrVar("group")}
_pool_window = {**_window, "kernel": AttrVar("kernel"), "ceil_mode": AttrVar("ceil")}
_pads, _extra = AttrVar("pads"), AttrVar("extra")
_padding = {"pads": _extra, "mode": "constant", "axes": None}
_more = padded_more(_pads, _extra, x)

_PADDING = (
    *(
        Rule(
            f"absorb-padding{given}{suffix}",
            conv(pad(x, *value, **_padding), w, *bias, pads=_pads, **_conv_window),
            conv(x, w, *bias, pads=_more, **_conv_window),
            when=tuple(filled(item, 0.0) for item in value),
            exactness=ROUNDING,
        )
        for given, value in (("", ()), ("-value", (c,)))
        for suffix, bias in (("", ()), ("-with-bias", (b,)))
    ),
    Rule(
        "absorb-lowest-padding",
        max_pool(pad(x, c, **_padding), pads=_pads, **_pool_window),
        max_pool(x, pads=_more, **_pool_window),
        # Rounded up, the number of windows counts what is padded otherwise than what is there.
        when=(
            lowest_filled(c, -math.inf),
            pads_fit(_more, _pool_window["kernel"]),
            equal(_pool_window["ceil_mode"], False),
        ),
        exactness=ROUNDING,
    ),
    *(
        Rule(
            f"absorb-counted-padding{given}",
            average_pool(
                pad(x, *value, **_padding), pads=_pads, count_include_pad=n, **_pool_window
            ),
            average_pool(x, pads=_more, count_include_pad=True, **_pool_window),
            when=(
                no_pads(_pads),
                pads_fit(_more, _pool_window["kernel"]),
                *(filled(item, 0.0) for item in value),
            ),
            exactness=ROUNDING,
        )
        for given, value in (("", ()), ("-value", (c,)))
    ),
)

RULES = (*_POOLING, *_PADDING)
