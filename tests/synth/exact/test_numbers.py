"""The exact kinds of numbers: what they compute, what they refuse, and every operator on them."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from tensaur import ops
from tensaur.ir.operator import evaluate
from tensaur.ir.types import DType
from tensaur.synth.evaluation import objects
from tensaur.synth.exact.element import UNDEFINED, OutOfTier, Undecided, exact_value
from tensaur.synth.exact.rational import Rational, rational
from tensaur.synth.exact.real import CONTEXT, Real, real
from tensaur.synth.exact.residue import PRIME, Residue, degree, residue
from tests.ops.draws import arrays, draw

KINDS = {"residue": residue, "rational": rational, "real": real}
# Operators of which neither residues nor rationals have the result for most inputs.
TRANSCENDENTAL = (
    ops.Pow, ops.Sqrt, ops.Exp, ops.Log, ops.Erf, ops.Sin, ops.Cos, ops.Sigmoid, ops.Tanh, ops.Elu,
    ops.Softplus, ops.HardSwish, ops.Gelu, ops.Softmax, ops.LogSoftmax, ops.BatchNormalization,
    ops.LayerNormalization, ops.InstanceNormalization, ops.LRN,
)  # fmt: skip
ORDERED = (
    ops.Abs, ops.Floor, ops.Ceil, ops.Sign, ops.Relu, ops.LeakyRelu, ops.HardSigmoid, ops.PRelu,
    ops.ReduceMax, ops.ReduceMin,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _digits():
    with localcontext(CONTEXT):
        yield


def _case(cls, seed):
    rng = Random(f"{cls.__name__}{seed}")
    kinds = (DType.FLOAT64, DType.BOOL, DType.INT64)
    case = next(item for item in (draw(cls, rng, kind) for kind in kinds) if item is not None)
    data = arrays(case, rng)
    quarters = [
        np.round(4 * item) / 4 if item is not None and item.dtype.kind == "f" else item
        for item in data
    ]
    return case.op, quarters


def _exactly(data, number):
    return [
        objects(item, number) if item is not None and item.dtype.kind == "f" else item
        for item in data
    ]


def _outputs(value):
    return value if isinstance(value, tuple) else (value,)


def _plain(item):
    if item is UNDEFINED:
        return math.nan
    return float(item.value) if isinstance(item, (Rational, Real)) else float(item)


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_every_operator_computes_with_reals(cls):
    computed = 0
    for seed in range(8):
        op, data = _case(cls, seed)
        exact = _outputs(evaluate(op, _exactly(data, real)))
        computed += any(item is not UNDEFINED for array in exact for item in array.reshape(-1))
        _agree(exact, _outputs(evaluate(op, data)))
    assert computed


def _agree(exact, plain):
    for ours, theirs in zip(exact, plain, strict=True):
        assert ours.shape == theirs.shape
        rough = np.array([_plain(item) for item in ours.reshape(-1)])
        plain = theirs.reshape(-1).astype(float)
        plain[~np.isfinite(plain)] = np.nan  # the reals have no infinities
        np.testing.assert_allclose(rough, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
def test_rationals_compute_what_is_not_transcendental(cls):
    op, data = _case(cls, 1)
    if cls in TRANSCENDENTAL:
        with pytest.raises(OutOfTier):
            evaluate(op, _exactly(data, rational))
    elif cls not in (ops.LeakyRelu, ops.HardSigmoid):  # their attributes may be rounded
        _agree(_outputs(evaluate(op, _exactly(data, rational))), _outputs(evaluate(op, data)))


@pytest.mark.parametrize("cls", (*TRANSCENDENTAL, *ORDERED), ids=lambda cls: cls.__name__)
def test_residues_refuse_what_is_no_polynomial(cls):
    with pytest.raises(OutOfTier):
        op, data = next(
            case for case in (_case(cls, seed) for seed in range(9)) if all(i.size for i in case[1])
        )
        evaluate(op, _exactly(data, residue))


def test_floats_that_may_be_rounded_are_not_exact():
    assert exact_value(0.5) == Fraction(1, 2)
    assert exact_value(np.float32(6.0)) == 6
    for number in (0.1, 1e-12, 1e30, math.inf, math.nan):
        with pytest.raises(OutOfTier):
            exact_value(number)


def test_residues_count_degrees():
    x, y = Residue(5, 1), Residue(7, 1)
    value = (x * x + 3 * y) / (x - y) ** 2
    assert (value.above, value.below) == (2, 2)
    assert value.number == (25 + 21) * pow(4, -1, PRIME) % PRIME
    assert degree(value, residue(1)) == 2
    assert degree(value, x) == 3
    assert x / (y - 7) is UNDEFINED


def test_rationals_stay_exact():
    third = rational(1) / 3
    assert third.value == Fraction(1, 3)
    assert (third * 3).value == 1
    assert math.floor(-third).value == -1
    assert third < 0.5 and third > -math.inf
    with pytest.raises(OutOfTier):
        third + 0.1


@pytest.mark.parametrize("x", [-13.0, -3.5, -0.5, -1e-9, 0.0, 1e-9, 0.25, 1.0, 2.5, 7.0])
def test_reals_agree_with_the_library(x):
    exact = Real(Decimal(x))
    for name in ("exp", "expm1", "tanh", "erf", "sin", "cos"):
        ours = getattr(exact, name)()
        theirs = getattr(math, name)(x)
        assert math.isclose(float(ours.value), theirs, rel_tol=1e-14, abs_tol=1e-18), name
        assert ours.error <= Decimal("1e-45") * max(1, abs(ours.value))
    if x > 0:
        assert math.isclose(float(exact.log().value), math.log(x), rel_tol=1e-14)
        assert math.isclose(float(exact.sqrt().value), math.sqrt(x), rel_tol=1e-14)


def test_reals_have_fifty_digits():
    # First digits of erf(1), tanh(1) and sin(1), from the tables of the OEIS (A102757, A073744, A049469).
    known = {
        "erf": "0.84270079294971486934122063508260925929606699796630",
        "tanh": "0.76159415595576488811945828260479359041276859725793",
        "sin": "0.84147098480789650665250232163029899962256306079837",
    }
    for name, digits in known.items():
        value = getattr(real(1), name)().value
        assert abs(value - Decimal(digits)) < Decimal("1e-49"), name


def test_doubt_spreads_and_is_never_lost():
    tenth = real(0.1)
    assert tenth.error > 0 and real(0.5).error == 0
    assert (tenth - tenth).error >= tenth.error
    assert tenth.exp().error > tenth.error
    assert 1 / (tenth - tenth) is UNDEFINED
    with pytest.raises(OutOfTier):
        math.floor(tenth * 10)


@pytest.mark.parametrize("number", KINDS.values(), ids=KINDS)
def test_what_has_no_value_spreads(number):
    for value in (UNDEFINED + number(1), 2 - UNDEFINED * number(3), number(2) ** UNDEFINED):
        assert value is UNDEFINED
    assert number(1) / number(0) is UNDEFINED
    with pytest.raises(Undecided):
        bool(UNDEFINED > 1)


def test_tiny_tanh_keeps_its_digits():
    tiny = Real(Decimal("1e-30")).tanh()
    assert abs(tiny.value / Decimal("1e-30") - 1) < Decimal("1e-50")
