"""Records become equations; those that contradict themselves are refused, those beyond us are named."""

from __future__ import annotations

import itertools

import pytest

from tensaur.errors import RuleError
from tensaur.taso.equation import Equation, Name, Operation, Unstated, equation, operations
from tensaur.taso.repeats import signature
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
    SUM_ORDER,
    SUM_ORDER_AGAIN,
    TANH,
    VALID,
    collection,
    concat,
    conv,
    matmul,
    operator,
    rule,
    split,
)


def equations(*rules):
    return [equation(i, record) for i, record in enumerate(parse_rules(collection(*rules)))]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (ASSOCIATE, "(a@b)@c => a@(b@c)"),
        (FUSE_RELU, "relu(conv(x, w)) => relu(conv(x, w))"),
        (LOSE_FACTOR, "conv(x, w) * a => conv(x, w)"),
        (SHARE_FACTOR, "a@b, a@c => split1(a@cat1(b, c))"),
        (JOIN_FILTERS, "cat1(conv(x, w), conv(x, v)) => conv(x, cat0(w, v))"),
        (SUM_ORDER, "a + (b + c) => c + (b + a)"),
    ],
)
def test_rules_read_as_equations(data, text):
    assert str(equations(data)[0]) == text


def test_only_needed_parentheses_are_written():
    a, b, c = (Name(name) for name in "abc")
    product = Operation("matmul", (a, b))
    whole = Operation(
        "add", (Operation("mul", (product, c)), Operation("matmul", (c, whole_sum(a, b))))
    )
    assert str(Equation(0, (whole,), (whole,))).startswith("a@b * c + c@(a + b) =>")


def whole_sum(*inputs):
    return Operation("add", inputs)


def test_fused_activations_are_operators_of_their_own():
    (fused,) = equations(FUSE_RELU)
    assert fused.is_trivial
    (both,) = equations(
        rule(
            [conv(-1, -10, activation=3)], [conv(-1, -10), operator(TANH, (0, 0))], ((0, 0), (1, 0))
        )
    )
    assert both.is_trivial
    (none,) = equations(rule([matmul(-1, -2, 2)], [matmul(-1, -2)], ((0, 0), (0, 0))))
    assert not none.is_trivial


def test_outputs_of_a_split_in_another_order_are_written_one_by_one():
    swapped = rule(
        [matmul(-1, -2), matmul(-1, -3)],
        [concat(1, 2, -2, -3), matmul(-1, (0, 0)), split(1, 2, (1, 0))],
        ((0, 0), (2, 1)), ((1, 0), (2, 0)),
    )  # fmt: skip
    text = str(equations(swapped)[0])
    assert text.endswith("=> split1(a@cat1(b, c))[1], split1(a@cat1(b, c))[0]")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (rule([], []), "no output is mapped"),
        (rule([matmul(-1, (0, 0))], [], ((0, 0), (-1, 0))), "which does not come before it"),
        (
            rule([matmul(-1, -2), matmul((0, 1), -3)], [], ((1, 0), (-1, 0))),
            "output 1 of operator 0",
        ),
        (rule([operator(ADD, -1)], [], ((0, 0), (-1, 0))), "add has 1 inputs"),
        (rule([operator(12)], [], ((0, 0), (-1, 0))), "concat has 0 inputs"),
        (rule([operator(12, -1, parameters={1: 2})], [], ((0, 0), (-1, 0))), "says 2"),
        (rule([matmul(-1, -2, 7)], [], ((0, 0), (-1, 0))), "activation 7"),
        (rule([operator(12, -1)], [], ((0, 0), (-1, 0))), "parameter 11 .axis. is missing"),
        (rule([concat(2, 2, -1, -2)], [], ((0, 0), (-1, 0))), "axis 2 is outside 2 dimensions"),
        (rule([split(-1, 2, -1)], [], ((0, 0), (-1, 0))), "split into 2 along axis -1"),
        (rule([conv(-1, -2, padding=2)], [], ((0, 0), (-1, 0))), "padding 2"),
        (rule([conv(-1, -2, kernel=(0, 3))], [], ((0, 0), (-1, 0))), "kernel or stride of 0"),
        (
            rule([conv(-1, -2, strides=(1, 1 << 30))], [], ((0, 0), (-1, 0))),
            "kernel or stride of 1073",
        ),
        (rule([matmul(-1, -2)], [], ((3, 0), (-1, 0))), "mapped source: there is no operator 3"),
        (rule([matmul(-1, -2)], [], ((0, 2), (-1, 0))), "operator 0 has no output 2"),
        (rule([matmul(-1, -2)], [], ((0, 0), (5, 0))), "mapped target: there is no operator 5"),
        (rule([matmul(-1, -2)], [], ((-1, 0), (-1, 0))), "a mapped source is a rule input"),
    ],
)
def test_contradictions_are_refused(data, fault):
    with pytest.raises(RuleError, match=fault):
        equations(data)


def doubled(count):
    """Return a rule whose term doubles with each operator."""
    steps = [operator(ADD, -1, -1), *(operator(ADD, (i, 0), (i, 0)) for i in range(count))]
    return rule(steps, steps, ((count, 0), (count, 0)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (rule([operator(5, -1, -2)], [], ((0, 0), (-1, 0))), "operator type 5"),
        (rule([operator(RELU, -1)], [operator(ADD, -1, -2)], ((0, 0), (0, 0))), "input -2"),
        (doubled(30), "more than 64 operators"),
    ],
)
def test_what_cannot_be_stated_is_said(data, reason):
    with pytest.raises(Unstated, match=reason):
        equations(data)


# Equations that say the same.


def same_by_trying(first, second):
    """Tell whether some renaming and some order of operands make two equations one; slow and plain."""
    own = sorted({item.name for item in leaves(first)})
    other = sorted({item.name for item in leaves(second)})
    if len(own) != len(other):
        return False
    wanted = (first.finds, first.makes)
    for names in itertools.permutations(own):
        renamed = tuple(
            tuple(rename(item, dict(zip(other, names, strict=True))) for item in side)
            for side in (second.finds, second.makes)
        )
        if all(
            len(a) == len(b) and all(map(alike, a, b)) for a, b in zip(wanted, renamed, strict=True)
        ):
            return True
    return False


def leaves(item):
    for whole in (*item.finds, *item.makes):
        if isinstance(whole, Name):
            yield whole
    for each in operations((*item.finds, *item.makes)):
        yield from (entry for entry in each.inputs if isinstance(entry, Name))


def rename(item, names):
    if isinstance(item, Name):
        return Name(names[item.name])
    inputs = tuple(rename(entry, names) for entry in item.inputs)
    return Operation(item.kind, inputs, item.axis, item.rank, item.parts, item.index, item.window)


def alike(first, second):
    if isinstance(first, Name) or isinstance(second, Name):
        return first == second
    if first.bare != second.bare or len(first.inputs) != len(second.inputs):
        return False
    orders = [second.inputs]
    if first.kind in ("add", "mul"):
        orders.append(second.inputs[::-1])
    return any(all(map(alike, first.inputs, order)) for order in orders)


DISTRIBUTE = [
    rule([operator(ADD, a, b), operator(MUL, *pair)],
         [operator(MUL, *first), operator(MUL, *second), operator(ADD, (0, 0), (1, 0))],
         ((1, 0), (2, 0)))
    for a, b, pair, first, second in [
        (-2, -3, (-1, (0, 0)), (-1, -2), (-1, -3)),
        (-1, -3, (-2, (0, 0)), (-1, -2), (-2, -3)),
        (-1, -2, ((0, 0), -3), (-2, -3), (-1, -3)),
        (-1, -2, (-3, (0, 0)), (-2, -3), (-1, -1)),
    ]
]  # fmt: skip


def test_signatures_agree_with_trying_every_renaming():
    valid = rule([conv(-1, -10, padding=VALID)], [conv(-1, -10)], ((0, 0), (0, 0)))
    same = rule([conv(-1, -10)], [conv(-1, -10)], ((0, 0), (0, 0)))
    every = equations(
        ASSOCIATE, FUSE_RELU, LOSE_FACTOR, SHARE_FACTOR, SUM_ORDER, SUM_ORDER_AGAIN, *DISTRIBUTE,
        valid, same,
    )  # fmt: skip
    found = {
        (a.number, b.number)
        for a, b in itertools.combinations(every, 2)
        if signature(a) == signature(b)
    }
    tried = {
        (a.number, b.number) for a, b in itertools.combinations(every, 2) if same_by_trying(a, b)
    }
    assert found == tried
    assert found == {(4, 5), (6, 7), (6, 8), (7, 8)}


def test_equations_of_many_sums_are_compared_as_they_stand():
    steps = [operator(ADD, -1, -2), *(operator(ADD, (i, 0), -3 - i) for i in range(15))]
    long = rule(steps, steps, ((15, 0), (15, 0)))
    first, second = equations(long, long)
    assert signature(first) == signature(second)
