"""Equations become rules that mean the same: TASO's meaning and TASO's type rules, tried on arrays."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest

from tensaur.errors import TypeMismatch
from tensaur.ir.operator import evaluate
from tensaur.ir.rule import EXACT, ROUNDING
from tensaur.ir.term import (
    AttrVar,
    Bindings,
    NotApplicable,
    Var,
    evaluate_derived,
    resolve,
    subterms,
    tree_fact,
)  # fmt: skip
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.synth.trial import applications
from tensaur.taso.equation import Unstated, equation
from tensaur.taso.statement import state
from tensaur.taso.wire import parse_rules
from tests.taso.files import (
    ADD,
    ASSOCIATE,
    FUSE_RELU,
    JOIN_FILTERS,
    LOSE_FACTOR,
    MUL,
    RELU,
    SHARE_FACTOR,
    SIGMOID,
    SUM_ORDER,
    TANH,
    VALID,
    IllTyped,
    collection,
    compute,
    concat,
    conv,
    matmul,
    operator,
    rule,
    split,
)

JOIN_BATCHES = rule(
    [conv(-1, -10), conv(-2, -10)],
    [concat(0, 4, -1, -2), conv((0, 0), -10), split(0, 2, (1, 0))],
    ((0, 0), (2, 0)), ((1, 0), (2, 1)),
)  # fmt: skip
SUM_OF_PRODUCTS = rule(
    [matmul(-1, -2), matmul(-3, -4), operator(ADD, (0, 0), (1, 0))],
    [concat(1, 2, -1, -3), concat(0, 2, -2, -4), matmul((0, 0), (1, 0))],
    ((2, 0), (2, 0)),
)
JOINED_SUMS = rule(
    [operator(ADD, -1, -2), operator(ADD, -2, -3), concat(0, 2, (0, 0), (1, 0))],
    [concat(0, 2, -1, -2), concat(0, 2, -2, -3), operator(ADD, (0, 0), (1, 0))],
    ((2, 0), (2, 0)),
)
EXCHANGED = rule(
    [concat(1, 4, -1, -2), concat(1, 4, -3, -4), operator(MUL, (0, 0), (1, 0))],
    [concat(1, 4, -3, -2), concat(1, 4, -1, -4), operator(MUL, (0, 0), (1, 0))],
    ((2, 0), (2, 0)),
)
JOINED_RELUS = rule(
    [operator(RELU, -1), operator(RELU, -2)],
    [concat(1, 2, -1, -2), operator(RELU, (0, 0)), split(1, 2, (1, 0))],
    ((0, 0), (2, 0)), ((1, 0), (2, 1)),
)  # fmt: skip
FACTORED = rule(
    [matmul(-1, -2), matmul((0, 0), -3), operator(ADD, (0, 0), (1, 0))],
    [matmul(-2, -3), operator(ADD, -2, (0, 0)), matmul(-1, (1, 0))],
    ((2, 0), (2, 0)),
)
SPLIT_FOUND = rule(
    [split(1, 2, -1), operator(ADD, (0, 0), (0, 1))],
    [split(1, 2, -1), operator(ADD, (0, 1), (0, 0))],
    ((1, 0), (1, 0)),
)


def window(**given):
    return rule([conv(-1, -10, **given), operator(TANH, (0, 0))],
                [conv(-1, -10, **given, activation=3)], ((1, 0), (0, 0)))  # fmt: skip


RULES = {
    "associate": ASSOCIATE,
    "fuse-relu": FUSE_RELU,
    "lose-factor": LOSE_FACTOR,
    "share-factor": SHARE_FACTOR,
    "join-filters": JOIN_FILTERS,
    "join-batches": JOIN_BATCHES,
    "sum-order": SUM_ORDER,
    "sum-of-products": SUM_OF_PRODUCTS,
    "joined-sums": JOINED_SUMS,
    "exchanged": EXCHANGED,
    "joined-relus": JOINED_RELUS,
    "factored": FACTORED,
    "fused-sigmoid": rule(
        [matmul(-1, -2, 1)], [matmul(-1, -2), operator(SIGMOID, (0, 0))], ((0, 0), (1, 0))
    ),
    "any-kernel": window(kernel=None),
    "even-kernel": window(kernel=(2, 1)),
    "strided": window(kernel=(2, 2), strides=(2, 1)),
    "valid": window(kernel=(2, 1), padding=VALID),
    "valid-any-kernel": window(kernel=None, padding=VALID, strides=(1, 2)),
}


def read(data):
    (record,) = parse_rules(collection(data))
    return record, state(equation(7, record)).rule


def numbers_of(record):
    """Return the rule inputs of the source."""
    return list(
        dict.fromkeys(p.operator for o in record.source for p in o.inputs if p.operator < 0)
    )


def value(tree, leaves):
    if isinstance(tree, Var):
        return leaves[tree.name]
    return evaluate(tree.op, [value(item, leaves) for item in tree.inputs])


def is_meant(record, trees_by_side, arrays, inputs):
    """Tell whether trees compute what TASO computes, on arrays by name and by number of the input."""
    for side, trees in trees_by_side.items():
        try:
            expected = compute(record, side, inputs)
        except IllTyped:
            return False
        for one, tree in zip(expected, trees, strict=True):
            own = value(tree, arrays)
            if one.shape != own.shape or not np.allclose(own, one, atol=1e-9):
                return False
    return True


@pytest.mark.parametrize("name", RULES)
def test_both_sides_compute_what_taso_computes(name):
    """Every instance on which a rule applies is well-typed in TASO too, and means the same there.

    Under one and the same correspondence of names and numbers, which is found by trying.
    """
    record, found = read(RULES[name])
    numbers = numbers_of(record)
    rng = np.random.default_rng(0)
    drawn = applications(found, seed=1, attempts=6_000)
    some = [item for item, _ in zip(drawn, range(12), strict=False)]
    assert len(some) >= 3, "hardly an instance was found"
    names = sorted(some[0][0].leaves)
    meant = list(itertools.permutations(names))
    for instance, application in some:
        arrays = {
            name: rng.integers(-3, 4, leaf.type.static_shape).astype(np.float64)
            for name, leaf in instance.leaves.items()
        }
        sides = {"source": instance.finds, "target": application.makes}
        meant = [
            order
            for order in meant
            if is_meant(
                record, sides, arrays,
                {n: arrays[name] for n, name in zip(numbers, order, strict=True)},
            )
        ]  # fmt: skip
    assert meant


def draw_shape(rng, rank, number):
    if rank < 4:
        return tuple(rng.choice((1, 2, 3)) for _ in range(rank))
    if number <= -10:
        return (
            rng.choice((1, 2, 4)),
            rng.choice((1, 2)),
            rng.choice((2, 3)),
            rng.choice((1, 2, 3)),
        )
    return (rng.choice((1, 2)), rng.choice((1, 2, 4)), rng.choice((2, 3)), rng.choice((2, 3)))


def applies(rule, facts):
    """Tell whether a rule applies to leaves of these types, whatever its attributes may be."""
    names = sorted({term.name for term in attributes(rule)})
    choices = {
        "n": (0, 1), "m": (0, 1), "k": (0, 1), "g": (1, 2, 4), "h": (1, 2, 4),
        "p": tuple(itertools.product((0, 1), repeat=4)), "s": ((1, 1), (1, 2), (2, 1)),
    }  # fmt: skip
    for values in itertools.product(*(choices[name] for name in names)):
        bindings = Bindings(facts, dict(zip(names, values, strict=True)))
        try:
            if not all(evaluate_derived(condition, bindings) for condition in rule.when):
                continue
            for term in (*rule.finds, *rule.makes):
                tree_fact(resolve(term, bindings), facts)
        except (NotApplicable, TypeMismatch):
            continue
        return True
    return False


def attributes(rule):
    for root in rule.finds:
        yield from (term for term in subterms(root) if isinstance(term, AttrVar))


@pytest.mark.parametrize("name", RULES)
def test_rules_apply_wherever_taso_accepts_both_sides(name):
    record, found = read(RULES[name])
    numbers = numbers_of(record)
    names = sorted({item.name for root in found.finds for item in subterms(root)
                    if isinstance(item, Var)})  # fmt: skip
    rank = 4 if "conv" in str(found).lower() or name == "exchanged" else 2
    rng = Random(name)
    accepted = 0
    for _ in range(6_000):
        shapes = {number: draw_shape(rng, rank, number) for number in numbers}
        arrays = {number: np.zeros(shape) for number, shape in shapes.items()}
        try:
            compute(record, "source", arrays)
            compute(record, "target", arrays)
        except IllTyped:
            continue
        accepted += 1
        assert any(
            applies(
                found,
                {
                    name: Fact(TensorType(DType.FLOAT64, shapes[number]))
                    for number, name in zip(numbers, order, strict=True)
                },
            )
            for order in itertools.permutations(names)
        ), shapes
        if accepted == 10:
            return
    assert accepted >= 3, "hardly a case was found"


def test_stacks_of_matrices_are_multiplied_too():
    _, found = read(ASSOCIATE)
    assert {len(leaf.type.shape) for instance, _ in applications(found, 0, 300)
            for leaf in instance.leaves.values()} >= {2, 3}  # fmt: skip


def test_rules_that_only_move_data_are_exact():
    assert read(JOINED_RELUS)[1].exactness is EXACT
    assert read(SUM_ORDER)[1].exactness is ROUNDING
    assert read(FUSE_RELU)[1].exactness is ROUNDING


@pytest.mark.parametrize(
    ("data", "conditions"),
    [
        (ASSOCIATE, ["stacked-alike(a, b, c)"]),
        (SUM_ORDER, ["same-type(b, c)", "same-type(a, b)"]),
        (JOINED_RELUS, ["rank-is(a, 2)", "alike-but(1, a, b)"]),
        (
            JOINED_SUMS,
            ["is-axis($n, 0, a)", "rank-is(a, 2)", "same-type(a, b)", "same-type(a, c)"],
        ),
        (LOSE_FACTOR, ["has-kernel(w, 3, 3)", None]),
    ],
)
def test_each_thing_is_required_once(data, conditions):
    _, found = read(data)
    assert len(found.when) == len(conditions)
    for condition, expected in zip(found.when, conditions, strict=True):
        assert expected is None or str(condition) == expected


def test_sizes_of_parts_are_those_of_the_last_join():
    _, found = read(SHARE_FACTOR)
    assert "sizes=sizes-along(1, b, c)" in str(found)
    _, found = read(JOIN_BATCHES)
    assert "sizes=sizes-along(0, x, y)" in str(found)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (SPLIT_FOUND, "not where something was joined"),
        (
            rule([operator(RELU, -1), operator(RELU, -1)], [operator(RELU, -1)],
                 ((0, 0), (0, 0)), ((1, 0), (0, 0))),
            "finds one value twice",
        ),
        (
            rule([operator(RELU, -1)], [concat(1, 2, -1, -1), split(1, 3, (0, 0))], ((0, 0), (1, 0))),
            "not where something was joined",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_stated_is_said(data, reason):
    with pytest.raises(Unstated, match=reason):
        read(data)


def test_a_split_may_be_found():
    found = read(
        rule([split(1, 2, -1), operator(ADD, (0, 0), (0, 1))], [operator(ADD, -1, -1)],
             ((1, 0), (0, 0)))
    )[1]  # fmt: skip
    assert "Project(Split(a; axis=$n, sizes=$s); index=0)" in str(found)
    assert "has-length($s, 2)" in str(found)
