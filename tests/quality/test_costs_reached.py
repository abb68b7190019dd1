"""Named graphs must reach named costs within the default budgets, and compute what they did before."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tensaur.cost.sizes import named_sizes
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import agree
from tensaur.runtime.inputs import random_feeds
from tests.extract.spaces import graph_of
from tests.quality.graphs import model

SIZES = {"N": 16}


@dataclass(frozen=True)
class Named:
    """A graph, the metric under which it is optimised, and the cost that it must come down to.

    Floating-point operations count one more for every operator that runs. `before` is what the graph
    costs as it stands.
    """

    name: str
    metric: str
    before: int
    after: int
    graph: str
    options: dict[str, Any] = field(default_factory=dict)


CONV = "Conv{strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1)}"
POINT = "Conv{strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1)}"

WORK = (
    Named(
        "rows that nobody reads are not computed",
        "flops",
        2 * 16 * 256 * 128 + 2,
        2 * 1 * 256 * 128 + 2,
        """
input x: f32[N,256]
weight w: f32[256,128]
all = MatMul(x, w)
y = Slice{starts=(0,), ends=(1,), axes=(0,), steps=(1,)}(all)
output y
""",
    ),
    Named(
        "columns that nobody reads are not computed",
        "flops",
        2 * 16 * 64 * 64 + 16 * 64 + 3,
        2 * 16 * 64 * 8 + 16 * 8 + 2,
        """
input x: f32[N,64]
weight w: f32[64,64]
all = MatMul(x, w)
r = Relu(all)
y = Slice{starts=(8,), ends=(16,), axes=(1,), steps=(1,)}(r)
output y
""",
    ),
    Named(
        "a product with a vector starts at the vector",
        "flops",
        2 * 64**3 + 2 * 64**2 + 2,
        2 * 64**2 + 2 * 64**2 + 2,
        """
input a: f32[64,64]
input b: f32[64,64]
input x: f32[64,1]
ab = MatMul(a, b)
y = MatMul(ab, x)
output y
""",
    ),
    Named(
        "attention without softmax multiplies keys with values first",
        "flops",
        2 * 256 * 16 * 256 + 2 * 256 * 256 * 16 + 2,
        2 * 16 * 256 * 16 + 2 * 256 * 16 * 16 + 2,
        """
input q: f32[256,16]
input k: f32[16,256]
input v: f32[256,16]
qk = MatMul(q, k)
y = MatMul(qk, v)
output y
""",
    ),
    Named(
        "two weights in a row are one",
        "flops",
        2 * 16 * 64 * 512 + 2 * 16 * 512 * 64 + 2,
        2 * 16 * 64 * 64 + 1,
        """
input x: f32[N,64]
weight a: f32[64,512]
weight b: f32[512,64]
xa = MatMul(x, a)
y = MatMul(xa, b)
output y
""",
    ),
    Named(
        "a narrow waist stays narrow",
        "flops",
        2 * 16 * 64 * 4 + 2 * 16 * 4 * 64 + 2,
        2 * 16 * 64 * 4 + 2 * 16 * 4 * 64 + 2,
        """
input x: f32[N,64]
weight a: f32[64,4]
weight b: f32[4,64]
xa = MatMul(x, a)
y = MatMul(xa, b)
output y
""",
    ),
    Named(
        "two products of one input are one with the sum of the weights",
        "flops",
        2 * (2 * 16 * 64 * 64) + 16 * 64 + 3,
        2 * 16 * 64 * 64 + 1,
        """
input x: f32[N,64]
weight a: f32[64,64]
weight b: f32[64,64]
p = MatMul(x, a)
q = MatMul(x, b)
y = Add(p, q)
output y
""",
    ),
    Named(
        "two products with one weight are one with the sum of the inputs",
        "flops",
        2 * (2 * 16 * 64 * 64) + 16 * 64 + 3,
        2 * 16 * 64 * 64 + 16 * 64 + 2,
        """
input x: f32[N,64]
input z: f32[N,64]
weight w: f32[64,64]
p = MatMul(x, w)
q = MatMul(z, w)
y = Add(p, q)
output y
""",
    ),
    Named(
        "two convolutions of one input are one",
        "flops",
        2 * (2 * 9 * 4 * 8 * 64) + 8 * 64 + 3,
        2 * 9 * 4 * 8 * 64 + 1,
        f"""
input x: f32[1,4,8,8]
weight a: f32[8,4,3,3]
weight b: f32[8,4,3,3]
p = {CONV}(x, a)
q = {CONV}(x, b)
y = Add(p, q)
output y
""",
    ),
    Named(
        "pointwise convolutions in a row are one",
        "flops",
        2 * 8 * 64 * 64 + 2 * 64 * 8 * 64 + 2,
        2 * 8 * 8 * 64 + 1,
        f"""
input x: f32[1,8,8,8]
weight a: f32[64,8,1,1]
weight b: f32[8,64,1,1]
p = {POINT}(x, a)
y = {POINT}(p, b)
output y
""",
    ),
    Named(
        "an embedding is multiplied beforehand where the file may grow",
        "flops",
        2 * 16 * 16 * 32 + 2,
        1,
        """
input ids: i64[N]
weight e: f32[20000,16]
weight w: f32[16,32]
g = Gather{axis=0}(e, ids)
y = MatMul(g, w)
output y
""",
        {"max_growth": 4 << 20},
    ),
    Named(
        "an embedding is not multiplied beforehand where the file may not grow",
        "flops",
        2 * 16 * 16 * 32 + 2,
        2 * 16 * 16 * 32 + 2,
        """
input ids: i64[N]
weight e: f32[20000,16]
weight w: f32[16,32]
g = Gather{axis=0}(e, ids)
y = MatMul(g, w)
output y
""",
        {"max_growth": 1 << 20},
    ),
    Named(
        "scaling before and after a convolution is in its weights",
        "flops",
        2 * 9 * 4 * 8 * 64 + 4 * 64 + 2 * 8 * 64 + 4,
        2 * 9 * 4 * 8 * 64 + 8 * 64 + 1,
        f"""
input x: f32[1,4,8,8]
weight r: f32[1,4,1,1]
weight w: f32[8,4,3,3]
weight s: f32[1,8,1,1]
weight t: f32[1,8,1,1]
a = Mul(x, r)
c = {CONV}(a, w)
m = Mul(c, s)
y = Add(m, t)
output y
""",
    ),
    Named(
        "a sum of multiples is one multiple",
        "flops",
        3 * 16 * 64 + 3,
        16 * 64 + 1,
        """
input x: f32[N,64]
two = f32[](2.0)
three = f32[](3.0)
a = Mul(x, two)
b = Mul(x, three)
y = Add(a, b)
output y
""",
    ),
)

LAUNCHES = (
    Named(
        "what is joined and split again was never joined",
        "launches",
        4,
        2,
        """
input x: f32[N,4]
input z: f32[N,6]
j = Concat{axis=1}(x, z)
s = Split{axis=1, sizes=(4, 6)}(j)
a = s[0]
b = s[1]
p = Relu(a)
q = Neg(b)
output p
output q
""",
    ),
    Named(
        "what is split and joined again was never split",
        "launches",
        3,
        1,
        """
input x: f32[N,10]
s = Split{axis=1, sizes=(4, 6)}(x)
a = s[0]
b = s[1]
j = Concat{axis=1}(a, b)
y = Relu(j)
output y
""",
    ),
    Named(
        "a slice of a join is a slice of one part",
        "launches",
        2,
        1,
        """
input x: f32[N,4]
input z: f32[N,6]
j = Concat{axis=1}(x, z)
y = Slice{starts=(5,), ends=(8,), axes=(1,), steps=(1,)}(j)
output y
""",
    ),
    Named(
        "joins of joins are one",
        "launches",
        3,
        1,
        """
input x: f32[N,4]
input z: f32[N,6]
a = Concat{axis=1}(x, z)
b = Concat{axis=-1}(a, x)
y = Concat{axis=1}(z, b)
output y
""",
    ),
    Named(
        "transposes around an activation cancel",
        "launches",
        3,
        1,
        """
input x: f32[N,4,6]
a = Transpose{perm=(0, 2, 1)}(x)
b = Relu(a)
y = Transpose{perm=(0, 2, 1)}(b)
output y
""",
    ),
    Named(
        "transposes around a residual block cancel",
        "launches",
        6,
        2,
        """
input x: f32[2,4,5,6]
input z: f32[2,4,5,6]
a = Transpose{perm=(0, 2, 3, 1)}(x)
b = Transpose{perm=(0, 2, 3, 1)}(z)
s = Add(a, b)
r = Relu(s)
y = Transpose{perm=(0, 3, 1, 2)}(r)
n = Transpose{perm=(0, 1, 2, 3)}(y)
output n
""",
    ),
    Named(
        "queries, keys and values are one product",
        "launches",
        3,
        2,
        """
input x: f32[N,64]
weight a: f32[64,64]
weight b: f32[64,64]
weight c: f32[64,64]
q = MatMul(x, a)
k = MatMul(x, b)
v = MatMul(x, c)
output q
output k
output v
""",
    ),
    Named(
        "products of all time steps are one",
        "launches",
        6,
        3,
        """
input a: f32[1,64]
input b: f32[1,64]
input c: f32[1,64]
input d: f32[1,64]
input e: f32[1,64]
input f: f32[1,64]
weight w: f32[64,64]
p = MatMul(a, w)
q = MatMul(b, w)
r = MatMul(c, w)
s = MatMul(d, w)
t = MatMul(e, w)
u = MatMul(f, w)
output p
output q
output r
output s
output t
output u
""",
    ),
    Named(
        "an affine map after a convolution is in its weights",
        "launches",
        3,
        1,
        f"""
input x: f32[1,8,16,16]
weight w: f32[16,8,3,3]
weight s: f32[1,16,1,1]
weight t: f32[1,16,1,1]
c = {CONV}(x, w)
m = Mul(c, s)
y = Add(m, t)
output y
""",
    ),
    Named(
        "normalisation after a convolution is in its weights",
        "launches",
        3,
        2,
        f"""
input x: f32[N,4,8,8]
weight w: f32[32,4,3,3]
weight b: f32[32]
weight s: f32[32]
weight t: f32[32]
weight m: f32[32]
two = f32[](2.0)
v = Exp(t)
c = {CONV}(x, w, b)
n = BatchNormalization(c, s, t, m, v)
y = Relu(n)
output y
""",
    ),
    Named(
        "padding is the convolution's own",
        "launches",
        2,
        1,
        """
input x: f32[1,4,8,8]
weight w: f32[8,4,3,3]
p = Pad{pads=(0, 0, 1, 1, 0, 0, 1, 1)}(x)
y = Conv{strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1)}(p, w)
output y
""",
    ),
    Named(
        "constants of a chain are one",
        "launches",
        4,
        2,
        """
input x: f32[N,64]
two = f32[](2.0)
three = f32[](3.0)
a = Mul(x, two)
b = Mul(a, three)
c = Add(b, two)
y = Add(c, three)
output y
""",
    ),
    Named(
        "a sigmoid in pieces is recognised",
        "launches",
        4,
        1,
        """
input x: f32[N,64]
one = f32[](1.0)
n = Neg(x)
e = Exp(n)
s = Add(e, one)
y = Div(one, s)
output y
""",
    ),
    Named(
        "a hard swish in pieces is recognised",
        "launches",
        4,
        1,
        """
input x: f32[N,64]
zero = f32[](0.0)
three = f32[](3.0)
six = f32[](6.0)
a = Add(x, three)
c = Clip(a, zero, six)
m = Mul(x, c)
y = Div(m, six)
output y
""",
    ),
    Named(
        "a gelu in pieces is recognised",
        "launches",
        5,
        1,
        """
input x: f32[N,64]
root = f32[](1.4142135)
one = f32[](1.0)
half = f32[](0.5)
d = Div(x, root)
e = Erf(d)
s = Add(e, one)
m = Mul(x, s)
y = Mul(m, half)
output y
""",
    ),
    Named(
        "a layer normalisation in pieces is recognised",
        "launches",
        9,
        1,
        """
input x: f32[N,64]
weight g: f32[64]
weight b: f32[64]
two = f32[](2.0)
tiny = f32[](0.00001)
mean = ReduceMean{axes=(-1,), keepdims=true}(x)
d = Sub(x, mean)
q = Pow(d, two)
v = ReduceMean{axes=(-1,), keepdims=true}(q)
s = Add(v, tiny)
r = Sqrt(s)
n = Div(d, r)
m = Mul(n, g)
y = Add(m, b)
output y
""",
    ),
    Named(
        "negated twice and rectified twice",
        "launches",
        4,
        1,
        """
input x: f32[N,64]
a = Neg(x)
b = Neg(a)
c = Relu(b)
y = Relu(c)
output y
""",
    ),
)

BYTES = (
    Named(
        "a weight is read once for all time steps",
        "bytes",
        2 * (4 * (128 + 128 * 128 + 128) + 1),
        # Two rows are joined, multiplied and split.
        4 * (256 + 256) + 1 + 4 * (256 + 128 * 128 + 256) + 1 + 4 * (256 + 256) + 1,
        """
input a: f32[1,128]
input b: f32[1,128]
weight w: f32[128,128]
p = MatMul(a, w)
q = MatMul(b, w)
output p
output q
""",
    ),
    Named(
        "what is gathered is gathered before it is computed",
        "bytes",
        4 * (2 * 64 * 64) + 1 + 4 * (2 * 4 * 64) + 8 * 4 + 1,
        2 * (4 * 2 * 4 * 64) + 2 + 8 * 4,
        """
input x: f32[64,64]
rows = i64[4](1, 3, 5, 7)
r = Exp(x)
y = Gather{axis=0}(r, rows)
output y
""",
    ),
)

ALL = (*WORK, *LAUNCHES, *BYTES)


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.metric}: {case.name}")
def test_cost_is_reached(case):
    graph = graph_of(case.graph)
    before = model(graph)
    sizes = named_sizes(graph, SIZES)
    options = Options(cost=case.metric, gate=False, sizes=sizes, **case.options)
    result = optimize(before, options=options)
    assert result.cost_before == case.before
    assert result.cost_after <= case.after
    sessions = open_session(before), open_session(result.model)
    feeds = random_feeds(sessions[0], SIZES)
    found = agree(*sessions, feeds)
    assert found.equal, found.reason
