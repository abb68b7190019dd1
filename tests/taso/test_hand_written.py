"""TASO's 18 substitutions that are written by hand, by name: which are sound, and the one that is not.

Those that its file format can say are read from records; the others, of batch normalisation, enlarged
and merged weights, are stated in our operators.
"""

from __future__ import annotations

import pytest

from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import AttrVar, Const, Var, derived, project
from tensaur.ir.types import Fact
from tensaur.ops import (
    add,
    batch_normalization,
    concat,
    conv,
    div,
    mul,
    pad,
    relu,
    split,
    sqrt,
    sub,
    unsqueeze,
)
from tensaur.rules.conditions import like, static
from tensaur.synth.verify import verify
from tensaur.taso import Outcome, judge
from tensaur.taso.conditions import has_kernel
from tensaur.taso.wire import parse_rules
from tests.taso import files
from tests.taso.files import MUL, RELU, SAME, VALID, collection, operator, rule

x, w, v, scale, bias, mean, var = (Var(n) for n in ("x", "w", "v", "scale", "bias", "mean", "var"))
epsilon = AttrVar("epsilon")

# Strides, and whether the size is kept.
WINDOWS = [(strides, padding) for strides in ((1, 1), (2, 2)) for padding in (SAME, VALID)]


@pytest.mark.parametrize(("strides", "padding"), WINDOWS)
def test_conv_mul_loses_its_factor_and_is_refuted(strides, padding):
    window = {"strides": strides, "padding": padding}
    data = rule(
        [files.conv(-1, -10, **window), operator(MUL, (0, 0), -2)],
        [files.conv(-1, -10, **window)],
        ((1, 0), (0, 0)),
    )
    (found,) = judge(parse_rules(collection(data)))
    assert found.outcome is Outcome.REFUTED
    assert found.narrowed is None
    assert "Mul(" in found.counterexample.text()


@pytest.mark.parametrize(("strides", "padding"), WINDOWS)
def test_conv_relu_only_moves_the_activation(strides, padding):
    window = {"strides": strides, "padding": padding}
    data = rule(
        [files.conv(-1, -10, **window), operator(RELU, (0, 0))],
        [files.conv(-1, -10, **window, activation=2)],
        ((1, 0), (0, 0)),
    )
    (found,) = judge(parse_rules(collection(data)))
    assert found.outcome is Outcome.SAME


def window(strides, pads, group=1):
    return {"strides": strides, "pads": pads, "dilations": (1, 1), "group": group}


def conv_batch(strides, pads):
    """A batch normalisation goes into the weight and a bias."""
    slope = div(scale, sqrt(add(var, Const(like(var, epsilon)))))
    known = window(strides, pads)
    return Rule(
        "conv-batch",
        batch_normalization(conv(x, w, **known), scale, bias, mean, var, epsilon=epsilon),
        add(
            conv(x, mul(w, unsqueeze(slope, axes=(1, 2, 3))), **known),
            unsqueeze(sub(bias, mul(mean, slope)), axes=(1, 2)),
        ),
        when=(has_kernel(w, 3, 3),),
        exactness=ROUNDING,
    )


@derived
def filters(first: Fact, second: Fact) -> tuple[int, ...]:
    """How many filters two weights have."""
    return (static(first)[0], static(second)[0])


def enlarge_merge(activation):
    """Two convolutions of one value become one: the smaller kernel gets a border of zeros."""
    small, large = window((1, 1), (0, 0, 0, 0)), window((1, 1), (1, 1, 1, 1))
    enlarged = pad(w, pads=(0, 0, 1, 1, 0, 0, 1, 1), mode="constant", axes=None)
    joined = activation(conv(x, concat(enlarged, v, axis=0), **large))
    parts = split(joined, axis=1, sizes=filters(w, v))
    return Rule(
        "enlarge-merge",
        (activation(conv(x, w, **small)), activation(conv(x, v, **large))),
        (project(parts, 0), project(parts, 1)),
        when=(has_kernel(w, 1, 1), has_kernel(v, 3, 3)),
        exactness=ROUNDING,
    )


@derived
def halves(weight: Fact) -> tuple[int, ...]:
    """The filters of each of two groups."""
    half, rest = divmod(static(weight)[0], 2)
    if rest:
        raise ValueError("an odd number of filters")
    return (half, half)


@derived
def channels_around(weight: Fact, after: bool) -> tuple[int, ...]:
    """Pads that add as many channels as there are, before or after them."""
    count = static(weight)[1]
    return (0, 0 if after else count, 0, 0, 0, count if after else 0, 0, 0)


def merge_group(strides, activation):
    """Two groups become one, with zeros where a group did not look."""
    parts = split(w, axis=0, sizes=halves(w))
    merged = concat(
        *(
            pad(project(parts, i), pads=channels_around(w, not i), mode="constant", axes=None)
            for i in (0, 1)
        ),
        axis=0,
    )
    return Rule(
        "merge-group",
        activation(conv(x, w, **window(strides, (1, 1, 1, 1), 2))),
        activation(conv(x, merged, **window(strides, (1, 1, 1, 1), 1))),
        when=(has_kernel(w, 3, 3),),
        exactness=ROUNDING,
    )


def plain(term):
    return term


def relu_of(term):
    return relu(term)


SOUND = {
    **{
        f"conv-batch-{strides[0]}-{'valid' if pads == (0,) * 4 else 'same'}": conv_batch(
            strides, pads
        )
        for strides in ((1, 1), (2, 2))
        for pads in ((1, 1, 1, 1), (0, 0, 0, 0))
    },
    **{f"enlarge-merge-{each.__name__}": enlarge_merge(each) for each in (plain, relu_of)},
    **{
        f"merge-group-{strides[0]}-{each.__name__}": merge_group(strides, each)
        for strides in ((1, 1), (2, 2))
        for each in (plain, relu_of)
    },
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name.endswith("relu_of") else name
        for name in SOUND
    ],
)
def test_the_others_hold(name):
    found = verify(SOUND[name], trials=4)
    assert found.verified, found
