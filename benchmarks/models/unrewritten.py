"""Small models in the form that exporters write, each with a cheaper equal form: what rules should find.

Every one is a row of the design's tables of rewrites that pay, or of rewrites that do not. `Form` says
how the cheaper form is recognised, by counting operators; it is told to no optimiser.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.models.builder import Network
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator, Project
from tensaur.ir.types import DType
from tensaur.ops import (
    Abs,
    Add,
    Cast,
    Concat,
    Div,
    Exp,
    Expand,
    Gather,
    MatMul,
    MaxPool,
    Mul,
    OneHot,
    Pad,
    Pow,
    ReduceSum,
    Relu,
    Sigmoid,
    Slice,
    Softmax,
    Split,
    Sub,
    Tanh,
    Transpose,
)

# The group of what must stay as it is: there the rewrite loses.
NOT = "not to be rewritten"


@dataclass(frozen=True, slots=True)
class Form:
    """What a graph of the intended form has: at most, and at least, so many operators of a kind.

    `work` is the greatest share of the unrewritten graph's floating-point operations.
    """

    most: Mapping[str, int] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    work: float = math.inf

    def reached(self, counts: Mapping[str, int], work: float) -> bool:
        """Tell whether these numbers of operators, and this share of work, are those of the form."""
        few = all(counts.get(kind, 0) <= most for kind, most in self.most.items())
        enough = all(counts.get(kind, 0) >= least for kind, least in self.least.items())
        return few and enough and work <= self.work


@dataclass(frozen=True, slots=True)
class Shape:
    """One row: what is to be seen in the graph, how it is built, and the form that is intended."""

    name: str
    build: Callable[[], Graph]
    form: Form
    group: str = "algebra"
    math: str = "rounding"


def _products(*shapes: tuple[int, int], rows: int = 64) -> Graph:
    """Multiply by one weight after the other."""
    net = Network(0)
    value = net.input("x", rows, shapes[0][0])
    for shape in shapes:
        value = net.apply(MatMul(), value, net.weight(*shape))
    return net.build([value])


def _embedded() -> Graph:
    net = Network(0)
    ids = net.input("ids", 128, dtype=DType.INT64)
    return net.build(
        [net.apply(MatMul(), net.apply(Gather(), net.weight(1000, 256), ids), net.weight(256, 256))]
    )


def _function_of_embedded() -> Graph:
    net = Network(0)
    ids = net.input("ids", 512, dtype=DType.INT64)
    found = net.apply(Gather(), net.weight(1000, 256), ids)
    return net.build([net.apply(Tanh(), found)])


def _one_hot() -> Graph:
    net = Network(0)
    pair = net.literal(np.array([0, 1], dtype=np.float32))
    chosen = net.apply(OneHot(depth=500), net.input("ids", 128, dtype=DType.INT64), pair)
    return net.build([net.apply(MatMul(), chosen, net.weight(500, 256))])


def _last_row_of_product() -> Graph:
    net = Network(0)
    product = net.apply(MatMul(), net.input("x", 256, 512), net.weight(512, 512))
    return net.build([net.apply(_rows(-1, 2**31 - 1), net.apply(Relu(), product))])


def _product_of_inputs() -> Graph:
    net = Network(0)
    left, right = net.input("a", 512, 512), net.input("b", 512, 512)
    return net.build(
        [net.apply(MatMul(), net.apply(MatMul(), left, right), net.input("x", 512, 8))]
    )


def _attention_without_softmax() -> Graph:
    net = Network(0)
    query, key, content = (net.input(name, 8, 1024, 64) for name in "qkv")
    turned = net.apply(Transpose(perm=(0, 2, 1)), key)
    return net.build([net.apply(MatMul(), net.apply(MatMul(), query, turned), content)])


def _sum_of_products(shared: str) -> Graph:
    net = Network(0)
    x = net.input("x", 64, 512)
    weight = net.weight(512, 512)
    if shared == "input":
        right = net.apply(MatMul(), x, net.weight(512, 512))
    else:
        right = net.apply(MatMul(), net.input("y", 64, 512), weight)
    return net.build([net.apply(Add(), net.apply(MatMul(), x, weight), right)])


def _recurrent() -> Graph:
    net = Network(0)
    x = net.input("x", 16, 1, 512)
    state = net.constant(np.zeros((1, 512)))
    weight, recurrent = net.weight(512, 512), net.weight(512, 512)
    for step in range(16):
        now = net.apply(Gather(), x, net.literal(np.array(step, dtype=np.int64)))
        summed = net.apply(
            Add(), net.apply(MatMul(), now, weight), net.apply(MatMul(), state, recurrent)
        )
        state = net.apply(Tanh(), summed)
    return net.build([state])


def _heads() -> Graph:
    net = Network(0)
    x = net.input("x", 128, 512)
    return net.build([net.apply(MatMul(), x, net.weight(512, 512)) for _ in range(3)])


def _split_and_joined() -> Graph:
    net = Network(0)
    parts = net.apply(Split(axis=1, sizes=(64, 64, 128)), net.input("x", 1, 256, 56, 56))
    joined = net.apply(
        Concat(axis=1), *(net.apply(Project(index=index), parts) for index in range(3))
    )
    return net.build([net.apply(Relu(), joined)])


def _slice_of_joined() -> Graph:
    net = Network(0)
    parts = [net.input(f"x{index}", 1, 64, 56, 56) for index in range(4)]
    joined = net.apply(Concat(axis=1), *(net.apply(Exp(), part) for part in parts))
    return net.build([net.apply(Slice(starts=(70,), ends=(100,), axes=(1,)), joined)])


def _joined_twice() -> Graph:
    net = Network(0)
    value = net.input("x0", 1, 64, 56, 56)
    for index in range(1, 5):
        value = net.apply(Concat(axis=1), value, net.input(f"x{index}", 1, 64, 56, 56))
    return net.build([value])


def _padded_pool() -> Graph:
    net = Network(0)
    lowest = net.literal(np.array(-np.inf, dtype=np.float32))
    padded = net.apply(Pad(pads=(0, 0, 1, 1, 0, 0, 1, 1)), net.input("x", 1, 64, 112, 112), lowest)
    return net.build([net.apply(MaxPool(kernel=(3, 3), strides=(2, 2)), padded)])


def _two_multiples() -> Graph:
    net = Network(0)
    x = net.input("x", 256, 1024)
    first, second = net.constant(0.3), net.weight(1024, scale=1.0)
    return net.build([net.apply(Add(), net.apply(Mul(), x, first), net.apply(Mul(), x, second))])


def _chain_of_constants() -> Graph:
    net = Network(0)
    value = net.input("x", 256, 1024)
    for op in (Mul(), Add(), Mul(), Sub(), Div()):
        value = net.apply(op, value, net.constant(1 + np.random.default_rng(0).random(1024)))
    return net.build([value])


def _by_constant(op: Operator, number: float) -> Graph:
    net = Network(0)
    value = net.apply(Abs(), net.input("x", 256, 1024))
    return net.build([net.apply(op, value, net.constant(number))])


def _by_mask() -> Graph:
    net = Network(0)
    mask = net.apply(Cast(DType.FLOAT32), net.input("mask", 256, 1024, dtype=DType.BOOL))
    rest = net.apply(Sub(), net.constant(1.0), mask)
    left, right = net.input("a", 256, 1024), net.input("b", 256, 1024)
    return net.build(
        [net.apply(Add(), net.apply(Mul(), mask, left), net.apply(Mul(), rest, right))]
    )


def _expanded() -> Graph:
    net = Network(0)
    shape = net.literal(np.array([256, 1024], dtype=np.int64))
    bias = net.apply(Expand(), net.input("b", 1, 1024), shape)
    return net.build([net.apply(Add(), net.input("x", 256, 1024), bias)])


def _inner_softmax_read_once() -> Graph:
    net = Network(0)
    scores = net.apply(MatMul(), net.input("q", 8, 128, 64), net.input("k", 8, 64, 128))
    mixed = net.apply(MatMul(), net.apply(Softmax(), scores), net.input("v", 8, 128, 64))
    summed = net.apply(ReduceSum(axes=(0,), keepdims=False), mixed)
    return net.build([net.apply(_rows(0, 1), net.apply(Sigmoid(), summed))])


def _one_output_of_split() -> Graph:
    net = Network(0)
    hidden = net.apply(MatMul(), net.input("x", 128, 512), net.weight(512, 1536))
    parts = net.apply(Split(axis=-1, sizes=(512, 512, 512)), net.apply(Tanh(), hidden))
    return net.build([net.apply(Project(index=1), parts)])


def _turned_and_back() -> Graph:
    net = Network(0)
    value = net.input("x", 1, 56, 56, 64)
    for _ in range(3):
        turned = net.apply(Transpose(perm=(0, 3, 1, 2)), value)
        biased = net.apply(Add(), turned, net.weight(64, 1, 1, scale=1.0))
        value = net.apply(Relu(), net.apply(Transpose(perm=(0, 2, 3, 1)), biased))
    return net.build([value])


def _rows(start: int, end: int) -> Slice:
    return Slice(starts=(start,), ends=(end,), axes=(0,))


def _most(**counts: int) -> Form:
    return Form(most=counts)


_ALGEBRA = (
    Shape("Gather(E)*W", _embedded, _most(MatMul=0)),
    Shape("f(Gather(E))", _function_of_embedded, _most(Tanh=0)),
    Shape("onehot(x)*W", _one_hot, _most(MatMul=0, OneHot=0), math="fast"),
    Shape("x*A*B, square", lambda: _products((512, 512), (512, 512)), _most(MatMul=1)),
    Shape("x*A*B, inner 3072", lambda: _products((768, 3072), (3072, 768)), _most(MatMul=1)),
    Shape(
        "x*A*B, rank 64", lambda: _products((768, 64), (64, 768)), Form(least={"MatMul": 2}), NOT
    ),
    Shape("(A*B)*x", _product_of_inputs, Form(work=0.05)),
    Shape("(Q*K')*V without Softmax", _attention_without_softmax, Form(work=0.1)),
    Shape("x*W1 + x*W2", lambda: _sum_of_products("input"), _most(MatMul=1, Gemm=1)),
    Shape("x*W + y*W", lambda: _sum_of_products("weight"), _most(MatMul=1, Gemm=1)),
    Shape("recurrent cell, 16 steps", _recurrent, _most(MatMul=17)),
    Shape("three products of one input", _heads, Form()),
    Shape("a*x + b*x", _two_multiples, _most(Mul=1, Add=0)),
    Shape("chain of constants", _chain_of_constants, _most(Mul=1, Add=1, Sub=0, Div=0)),
    Shape("x ** 0.5", lambda: _by_constant(Pow(), 0.5), _most(Pow=0)),
    Shape("x ** 2", lambda: _by_constant(Pow(), 2.0), _most(Pow=0)),
    Shape("x / constant", lambda: _by_constant(Div(), 3.7), _most(Div=0)),
    Shape("mask*a + (1-mask)*b", _by_mask, _most(Mul=0, Add=0), math="fast"),
)
_LAYOUT = (
    Shape("Concat of Split", _split_and_joined, _most(Split=0, Concat=0), "layout"),
    Shape("Slice of Concat", _slice_of_joined, _most(Concat=0, Exp=1), "layout"),
    Shape("nested Concat", _joined_twice, _most(Concat=1), "layout"),
    Shape("Pad + MaxPool", _padded_pool, _most(Pad=0), "layout"),
    Shape("expanded operand", _expanded, _most(Expand=0), "layout"),
    Shape("Transposes around Add", _turned_and_back, _most(Transpose=0), "layout"),
)
_DEAD = (
    Shape("last row of a product", _last_row_of_product, Form(work=0.01), "dead work"),
    Shape("one row of an attention", _inner_softmax_read_once, Form(work=0.05), "dead work"),
    Shape(
        "one output of a Split",
        _one_output_of_split,
        Form(most={"Split": 0}, work=0.4),
        "dead work",
    ),
)

SHAPES = (*_ALGEBRA, *_LAYOUT, *_DEAD)
