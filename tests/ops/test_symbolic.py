"""Inference with symbolic or unknown dimensions says nothing that sizes would contradict."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensaur import ops
from tensaur.ir import dims
from tensaur.ir.operator import infer_fact
from tensaur.ir.types import DType, Fact, TensorType, meet
from tests.ops.draws import draw, fact_of, items_of

EACH_CLASS = pytest.mark.parametrize("cls", ops.OPERATORS, ids=lambda cls: cls.__name__)
SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=30)


def is_exact(op):
    """Tell whether the result can always be written as terms over the symbols."""
    if isinstance(op, ops.Slice):
        return min(op.steps, default=1) > 0
    return op != ops.Squeeze(None)  # which axes have size 1 is not known


def drawn(cls, seed):
    rng = Random(seed)
    kinds = (DType.FLOAT32, DType.INT64, DType.BOOL)
    return next(case for dtype in kinds if (case := draw(cls, rng, dtype)) is not None), rng


def symbolic(item, names):
    """Replace sizes by symbols: equal sizes by equal symbols, and never ones."""
    if not isinstance(item, TensorType):
        return fact_of(item)
    shape = tuple(dims.symbol(names[size]) if size in names else size for size in item.shape)
    return Fact(TensorType(item.dtype, shape))


def agrees(kind, concrete, sizes, exact):
    for found, wanted in zip(items_of(kind), items_of(concrete), strict=True):
        assert found.dtype is wanted.dtype
        if found.shape is None and not exact:
            continue
        assert found.rank == wanted.rank
        for dim, size in zip(found.shape, wanted.shape, strict=True):
            if exact or not any(name.startswith("?") for name in dims.symbols(dim)):
                assert dims.evaluate(dim, sizes) == size, (str(dim), size)


@EACH_CLASS
@FEW
@given(seed=SEEDS)
def test_symbols_then_sizes_is_sizes(cls, seed):
    case, rng = drawn(cls, seed)
    found = {size for item in case.inputs if isinstance(item, TensorType) for size in item.shape}
    names = {size: f"n{size}" for size in found if size > 1 and rng.random() < 0.6}
    fact = infer_fact(case.op, [symbolic(item, names) for item in case.inputs])
    sizes = {name: size for size, name in names.items()}
    agrees(fact.type, case.fact.type, sizes, is_exact(case.op))
    if fact.value is not None and case.fact.value is not None:
        values = [dims.evaluate(item, sizes) for item in fact.value.ints]
        assert tuple(values) == case.fact.value.ints


@EACH_CLASS
@FEW
@given(seed=SEEDS)
def test_unknown_ranks_contradict_nothing(cls, seed):
    case, rng = drawn(cls, seed)
    facts = case.facts
    for position, item in enumerate(case.inputs):
        if isinstance(item, TensorType) and rng.random() < 0.6:
            facts[position] = Fact(TensorType(item.dtype, None))
    meet(infer_fact(case.op, facts), Fact(case.fact.type))


@EACH_CLASS
@FEW
@given(seed=SEEDS)
def test_unknown_values_contradict_nothing(cls, seed):
    case, _ = drawn(cls, seed)
    facts = [Fact(fact.type) for fact in case.facts]
    meet(infer_fact(case.op, facts), Fact(case.fact.type))


@EACH_CLASS
@FEW
@given(seed=SEEDS)
def test_unknown_dimensions_are_named_the_same_again(cls, seed):
    case, _ = drawn(cls, seed)
    facts = [
        Fact(TensorType(item.dtype, None)) if isinstance(item, TensorType) else fact_of(item)
        for item in case.inputs
    ]
    assert infer_fact(case.op, facts) == infer_fact(case.op, facts)


@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        (ops.Conv((2,), (1, 1), (1,)), [("b", 3, "n"), (8, 3, 3)], "f32[b,8,floordiv(n+1, 2)]"),
        (ops.Conv((1,), (1, 1), (1,)), [("b", 3, "n"), (8, 3, 3)], "f32[b,8,n]"),
        (ops.ConvTranspose((2,)), [("b", 3, "n"), (3, 4, 2)], "f32[b,4,2*n]"),
        (ops.MaxPool((2,), (2,)), [("b", 3, "n")], "f32[b,3,floordiv(n, 2)]"),
        (ops.MatMul(), [("b", "n", 4), (4, 5)], "f32[b,n,5]"),
        (ops.Concat(-1), [("b", "n"), ("b", 3)], "f32[b,n+3]"),
        (ops.Flatten(1), [("b", "n", 3)], "f32[b,3*n]"),
        (ops.Slice((0,), (2**31 - 1,), (1,)), [("b", "n")], "f32[b,n]"),
        (ops.Slice((0,), (5,), (1,)), [("b", "n")], "f32[b,min(5, n)]"),
        (ops.Slice((-1,), (2**63 - 1,), (1,)), [("b", "n")], "f32[b,min(1, n)]"),
        (ops.Slice((1,), (2**63 - 1,), (1,)), [("b", "n")], "f32[b,max(0, n-1)]"),
        (ops.Slice((-1,), (-(2**63),), (1,), (-1,)), [("b", "n")], "f32[b,n]"),
        (ops.Pad((0, 1, 0, 2)), [("b", "n")], "f32[b,n+3]"),
        (ops.DepthToSpace(2), [("b", 8, "h", "w")], "f32[b,2,2*h,2*w]"),
        (ops.Squeeze((0,)), [("b", "n")], "f32[n]"),
        (ops.Unsqueeze((1,)), [("b", "n")], "f32[b,1,n]"),
        (ops.ReduceMean((1,), True), [("b", "n")], "f32[b,1]"),
        (ops.Gather(1), [("b", "n", 4), ()], None),
        (ops.Split(1, (2, 3)), [("b", 5)], "(f32[b,2], f32[b,3])"),
        (ops.Add(), [("b", 1), (1, "n")], "f32[b,n]"),
    ],
    ids=str,
)
def test_symbols_stay_readable(op, inputs, expected):
    facts = [
        Fact(
            TensorType(
                DType.FLOAT32,
                tuple(dims.symbol(dim) if isinstance(dim, str) else dim for dim in shape),
            )
        )
        for shape in inputs
    ]
    if isinstance(op, ops.Gather):
        facts[1] = Fact(TensorType(DType.INT64, ()))
        expected = "f32[b,4]"
    assert str(infer_fact(op, facts).type) == expected
