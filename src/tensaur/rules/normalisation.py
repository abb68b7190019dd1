"""Rules that recognise normalisations written out, and that take them apart where a part can vanish."""

from __future__ import annotations

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Term, Var
from tensaur.ops import (
    add,
    batch_normalization,
    conv,
    div,
    layer_normalization,
    lrn,
    mul,
    pow_,
    reduce_mean,
    reshape,
    sqrt,
    sub,
    sum_,
)
from tensaur.rules.axes import first_trailing_axis, same_axes
from tensaur.rules.bands import band_bias, band_weight
from tensaur.rules.conditions import (
    absorbs,
    constant,
    equal,
    fits_from,
    like,
    near,
    number,
    one_element,
    rank_is,
    same_type,
    varying,
)
from tensaur.rules.windows import column_of

x, y, g, b, c, e = (Var(name) for name in "xygbce")
scale, bias, mean, var = (Var(name) for name in ("scale", "bias", "mean", "var"))
n, m, epsilon = AttrVar("n"), AttrVar("m"), AttrVar("epsilon")
size, alpha, beta, shift = (AttrVar(name) for name in ("size", "alpha", "beta", "shift"))

_slope = div(scale, sqrt(add(var, Const(like(var, epsilon)))))
_column = Const(column_of(x))

_BATCH = (
    Rule(
        "batch-as-affine",
        batch_normalization(x, scale, bias, mean, var, epsilon=epsilon),
        add(
            mul(x, reshape(_slope, _column, allowzero=False)),
            reshape(sub(bias, mul(mean, _slope)), _column, allowzero=False),
        ),
        when=(constant(scale, bias, mean, var), varying(x)),
        exactness=ROUNDING,
    ),
)

_centred = sub(x, reduce_mean(x, axes=n, keepdims=True))
_squares = {"power": pow_(_centred, c), "product": mul(_centred, _centred)}


def _standardised(square: Term) -> Term:
    return div(_centred, sqrt(add(reduce_mean(square, axes=m, keepdims=True), e)))


_square = (near(c, 2.0), one_element(c), absorbs(x, c))
_axis = first_trailing_axis(n, x)
_whole = (
    one_element(e),
    same_axes(n, m, x),
    absorbs(reduce_mean(x, axes=n, keepdims=True), e),
)

_LAYER = (
    *(
        Rule(
            f"recognise-layer-{form}",
            mul(_standardised(square), g),
            layer_normalization(x, g, axis=_axis, epsilon=number(e)),
            when=(
                *_whole,
                fits_from(_axis, x, g),
                *(_square if form == "power" else ()),
            ),
            exactness=ROUNDING,
        )
        for form, square in _squares.items()
    ),
    *(
        Rule(
            f"recognise-layer-with-bias-{form}",
            add(mul(_standardised(square), g), b),
            layer_normalization(x, g, b, axis=_axis, epsilon=number(e)),
            when=(
                *_whole,
                fits_from(_axis, x, g),
                fits_from(_axis, x, b),
                *(_square if form == "power" else ()),
            ),
            exactness=ROUNDING,
        )
        for form, square in _squares.items()
    ),
    Rule(
        "layer-bias",
        add(layer_normalization(x, g, axis=n, epsilon=epsilon), b),
        layer_normalization(x, g, b, axis=n, epsilon=epsilon),
        when=(fits_from(n, x, g), fits_from(n, x, b)),
        exactness=ROUNDING,
    ),
    # Keeps ONNX Runtime from fusing the addition into a slower operator; measuring
    # decides.
    Rule(
        "layer-of-sum",
        layer_normalization(add(x, y), g, b, axis=n, epsilon=epsilon),
        layer_normalization(sum_(x, y), g, b, axis=n, epsilon=epsilon),
        when=(same_type(x, y), varying(x), varying(y)),
    ),
)

_energy = conv(
    mul(x, x),
    Const(band_weight(x, size, alpha)),
    Const(band_bias(x, shift)),
    strides=(1, 1),
    pads=(0, 0, 0, 0),
    dilations=(1, 1),
    group=1,
)

_LOCAL = (
    # A sum over neighbouring channels is a convolution with a band of ones; x ** 0.75 is two roots.
    Rule(
        "local-response-as-band",
        lrn(x, size=size, alpha=alpha, beta=beta, bias=shift),
        div(x, mul(sqrt(_energy), sqrt(sqrt(_energy)))),
        when=(equal(beta, 0.75), rank_is(x, 4)),
        exactness=ROUNDING,
    ),
)

RULES = (*_BATCH, *_LAYER, *_LOCAL)
