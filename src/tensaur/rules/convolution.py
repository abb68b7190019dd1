"""Rules of convolutions: scales and biases absorbed, common operands, composition, pooling, padding."""

from __future__ import annotations

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Elem, OpVar, Seq, Term, Var
from tensaur.ir.types import Known
from tensaur.ops import (
    CONVOLUTIONS,
    Conv,
    ConvTranspose,
    add,
    concat,
    conv,
    conv_transpose,
    depth_to_space,
    expand,
    matmul,
    mul,
    reduce_sum,
    reshape,
    slice_,
    split,
    squeeze,
    transpose,
    unsqueeze,
)
from tensaur.rules.axes import channel_shape, is_axis, per_channel, target_shape
from tensaur.rules.conditions import (
    alike_but,
    alike_items_but,
    all_constant,
    constant,
    rank_is,
    same_type,
    varying,
)
from tensaur.rules.kinds import LINEAR
from tensaur.rules.products import offset_along, sizes_along, sizes_of
from tensaur.rules.windows import (
    are_blocks,
    axes_but_first,
    block_bias,
    block_filters,
    block_size,
    composed_shape,
    filter_shape,
    flat_space,
    is_depthwise,
    is_pointwise,
    is_ungrouped,
    is_unpadded,
    matrix_shape,
    plane_pads,
    plane_sizes,
    vector_shape,
)

x, y, w, v, b, d, s, c = (Var(name) for name in "xywvbdsc")
n = AttrVar("n")
ws = Seq("w")
_conv = OpVar("conv", (Conv,))
_outer = OpVar("outer", (Conv,))
_spread = OpVar("conv", (ConvTranspose,))
_any = OpVar("conv", CONVOLUTIONS)
_plus = OpVar("plus", LINEAR)


def _vector(value: Var, along: Term) -> Term:
    """A value per channel of `along`, as a vector."""
    full = expand(value, Const(channel_shape(along)))
    return reshape(full, Const(vector_shape(along)), allowzero=False)


def _filters(value: Var, along: Term, weight: Var, axis: int) -> Term:
    """A value per channel of `along`, shaped to scale a weight along one of its axes."""
    full = expand(value, Const(channel_shape(along)))
    return reshape(full, Const(filter_shape(along, weight, axis)), allowzero=False)


def _with(bias: tuple[Var, ...], more: Term) -> Term:
    return add(bias[0], more) if bias else more


_shift = reduce_sum(
    mul(w, expand(c, Const(channel_shape(x)))), axes=axes_but_first(w), keepdims=False
)

_AFFINE = (
    Rule(
        "absorb-bias",
        add(_any(x, w), c),
        _any(x, w, _vector(c, _any(x, w))),
        when=(constant(c), varying(x), per_channel(c, _any(x, w))),
        exactness=ROUNDING,
    ),
    Rule(
        "absorb-second-bias",
        add(_any(x, w, b), c),
        _any(x, w, add(b, _vector(c, _any(x, w)))),
        when=(constant(b, c), varying(x), per_channel(c, _any(x, w))),
        exactness=ROUNDING,
    ),
    Rule(
        "absorb-scale",
        mul(_conv(x, w), s),
        _conv(x, mul(w, _filters(s, _conv(x, w), w, 0))),
        when=(constant(w, s), varying(x), per_channel(s, _conv(x, w))),
        exactness=ROUNDING,
    ),
    Rule(
        "absorb-scale-and-bias",
        mul(_conv(x, w, b), s),
        _conv(
            x,
            mul(w, _filters(s, _conv(x, w), w, 0)),
            mul(b, _vector(s, _conv(x, w))),
        ),
        when=(constant(w, b, s), varying(x), per_channel(s, _conv(x, w))),
        exactness=ROUNDING,
    ),
    Rule(
        "absorb-scale-transposed",
        mul(_spread(x, w), s),
        _spread(x, mul(w, _filters(s, _spread(x, w), w, 1))),
        when=(constant(w, s), varying(x), is_ungrouped(_spread), per_channel(s, _spread(x, w))),
        exactness=ROUNDING,
    ),
    Rule(
        "absorb-scale-and-bias-transposed",
        mul(_spread(x, w, b), s),
        _spread(
            x,
            mul(w, _filters(s, _spread(x, w), w, 1)),
            mul(b, _vector(s, _spread(x, w))),
        ),
        when=(
            constant(w, b, s),
            varying(x),
            is_ungrouped(_spread),
            per_channel(s, _spread(x, w)),
        ),
        exactness=ROUNDING,
    ),
    *(
        Rule(
            f"of-scaled{suffix}",
            _conv(mul(x, s), w, *bias),
            _conv(x, mul(w, expand(s, Const(channel_shape(x)))), *bias),
            when=(constant(w, s), varying(x), is_ungrouped(_conv), per_channel(s, x)),
            exactness=ROUNDING,
        )
        for suffix, bias in (("", ()), ("-with-bias", (b,)))
    ),
    *(
        Rule(
            f"of-scaled-depthwise{suffix}",
            _conv(mul(x, s), w, *bias),
            _conv(x, mul(w, _filters(s, x, w, 0)), *bias),
            when=(is_depthwise(_conv, w), per_channel(s, x), constant(w, s), varying(x)),
            exactness=ROUNDING,
        )
        for suffix, bias in (("", ()), ("-with-bias", (b,)))
    ),
    *(
        Rule(
            f"of-shifted{suffix}",
            _conv(add(x, c), w, *bias),
            _conv(x, w, _with(bias, _shift)),
            when=(
                is_ungrouped(_conv),
                is_unpadded(_conv),
                per_channel(c, x),
                constant(w, c, *bias),
                varying(x),
            ),
            exactness=ROUNDING,
        )
        for suffix, bias in (("", ()), ("-with-bias", (b,)))
    ),
)

_SHARED = (
    Rule(
        "factor-input",
        _plus(_conv(x, w), _conv(x, v)),
        _conv(x, _plus(w, v)),
        when=(same_type(w, v),),
        exactness=ROUNDING,
    ),
    Rule(
        "factor-input-with-biases",
        _plus(_conv(x, w, b), _conv(x, v, d)),
        _conv(x, _plus(w, v), _plus(b, d)),
        when=(same_type(w, v),),
        exactness=ROUNDING,
    ),
    Rule(
        "factor-weight",
        _plus(_conv(x, w), _conv(y, w)),
        _conv(_plus(x, y), w),
        when=(same_type(x, y),),
        exactness=ROUNDING,
    ),
    Rule(
        "join-sum",
        add(_conv(x, w), _conv(y, v)),
        _conv(concat(x, y, axis=1), concat(w, v, axis=1)),
        when=(is_ungrouped(_conv), alike_but(1, x, y), alike_but(1, w, v), constant(w, v)),
        exactness=ROUNDING,
    ),
    *(
        Rule(
            f"part-joined{suffix}",
            _conv(concat(x, y, axis=n), w, *bias),
            add(
                _conv(
                    x,
                    slice_(w, starts=(0,), ends=offset_along(1, x), axes=(1,), steps=(1,)),
                    *bias,
                ),
                _conv(
                    y,
                    slice_(
                        w,
                        starts=offset_along(1, x),
                        ends=offset_along(1, x, y),
                        axes=(1,),
                        steps=(1,),
                    ),
                ),
            ),
            when=(constant(w), is_axis(n, 1, x), is_ungrouped(_conv)),
            exactness=ROUNDING,
        )
        for suffix, bias in (("", ()), ("-with-bias", (b,)))
    ),
    Rule(
        "share-input",
        (_conv(x, w), _conv(x, v)),
        split(_conv(x, concat(w, v, axis=0)), axis=1, sizes=sizes_along(0, w, v)),
        when=(is_ungrouped(_conv), alike_but(0, w, v), constant(w, v), varying(x)),
        exactness=ROUNDING,
    ),
    Rule(
        "share-input-with-biases",
        (_conv(x, w, b), _conv(x, v, d)),
        split(
            _conv(x, concat(w, v, axis=0), concat(b, d, axis=0)),
            axis=1,
            sizes=sizes_along(0, w, v),
        ),
        when=(is_ungrouped(_conv), alike_but(0, w, v), constant(w, v, b, d), varying(x)),
        exactness=ROUNDING,
    ),
    Rule(
        "share-inputs",
        _conv(x, Elem(ws)),
        split(_conv(x, concat(ws, axis=0)), axis=1, sizes=sizes_of(0, ws)),
        when=(is_ungrouped(_conv), alike_items_but(0, 3, ws), all_constant(ws), varying(x)),
        exactness=ROUNDING,
    ),
)


def _matrix(weight: Var) -> Term:
    return reshape(weight, Const(matrix_shape(weight)), allowzero=False)


_composed = reshape(matmul(_matrix(v), _matrix(w)), Const(composed_shape(v, w)), allowzero=False)
_mixing = (
    is_ungrouped(_outer),
    is_ungrouped(_conv),
    is_pointwise(_outer, v),
    constant(v, w),
    varying(x),
)
_flat = reshape(x, Const(flat_space(x)), allowzero=False)
_flat_product = matmul(_matrix(w), _flat)

_POINTWISE = (
    Rule(
        "compose",
        _outer(_conv(x, w), v),
        _conv(x, _composed),
        when=_mixing,
        exactness=ROUNDING,
    ),
    Rule(
        "compose-with-inner-bias",
        _outer(_conv(x, w, b), v),
        _conv(x, _composed, matmul(_matrix(v), b)),
        when=_mixing,
        exactness=ROUNDING,
    ),
    Rule(
        "compose-with-outer-bias",
        _outer(_conv(x, w), v, d),
        _conv(x, _composed, d),
        when=_mixing,
        exactness=ROUNDING,
    ),
    Rule(
        "compose-with-biases",
        _outer(_conv(x, w, b), v, d),
        _conv(x, _composed, add(matmul(_matrix(v), b), d)),
        when=_mixing,
        exactness=ROUNDING,
    ),
    Rule(
        "pointwise-as-product",
        _conv(x, w),
        reshape(_flat_product, Const(target_shape(_flat_product, _conv(x, w))), allowzero=False),
        when=(is_ungrouped(_conv), is_pointwise(_conv, w), constant(w), varying(x)),
        exactness=ROUNDING,
    ),
)

_spread_window = {
    "strides": AttrVar("strides"),
    "pads": AttrVar("pads"),
    "dilations": AttrVar("dilations"),
    "group": AttrVar("group"),
    "output_padding": AttrVar("output_padding"),
}
_plain = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1), "group": 1}
# Each filter of a transposed convolution whose windows do not overlap makes one block of the result.
_blocks = reshape(transpose(w, perm=(1, 2, 3, 0)), Const(block_filters(w)), allowzero=False)
_separate = (
    rank_is(w, 4),
    are_blocks(
        w,
        AttrVar("strides"),
        AttrVar("pads"),
        AttrVar("dilations"),
        AttrVar("group"),
        AttrVar("output_padding"),
    ),
    constant(w),
    varying(x),
)

_TRANSPOSED = (
    Rule(
        "blocks-as-depth",
        conv_transpose(x, w, **_spread_window),
        depth_to_space(conv(x, _blocks, **_plain), blocksize=block_size(w), mode="CRD"),
        when=_separate,
        exactness=ROUNDING,
    ),
    Rule(
        "blocks-as-depth-with-bias",
        conv_transpose(x, w, b, **_spread_window),
        depth_to_space(
            conv(
                x,
                _blocks,
                reshape(
                    expand(
                        reshape(b, Const(Known.of((-1, 1))), allowzero=False),
                        Const(block_bias(w)),
                    ),
                    Const(Known.of((-1,))),
                    allowzero=False,
                ),
                **_plain,
            ),
            blocksize=block_size(w),
            mode="CRD",
        ),
        when=(*_separate, constant(b)),
        exactness=ROUNDING,
    ),
)

_line = {name: AttrVar(name) for name in ("strides", "pads", "dilations")}
_plane = {
    "strides": plane_sizes(_line["strides"], 1),
    "pads": plane_pads(_line["pads"]),
    "dilations": plane_sizes(_line["dilations"], 1),
}

# Runtimes have better kernels for two spatial axes than for one.
_LINES = tuple(
    Rule(
        f"line-as-plane{suffix}",
        conv(x, w, *bias, group=n, **_line),
        squeeze(
            conv(unsqueeze(x, axes=(2,)), unsqueeze(w, axes=(2,)), *bias, group=n, **_plane),
            axes=(2,),
        ),
        when=(rank_is(x, 3), varying(x)),
        exactness=ROUNDING,
    )
    for suffix, bias in (("", ()), ("-with-bias", (b,)))
)

RULES = (*_AFFINE, *_SHARED, *_POINTWISE, *_TRANSPOSED, *_LINES)
