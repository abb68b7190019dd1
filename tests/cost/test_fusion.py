"""What the runtime computes together: asked once per kind, remembered, bounded in time."""

import numpy as np
import pytest

from tensaur.cost.fusion import Fused, Fusions, ask, listed, together
from tensaur.cost.query import Joint, Query, never
from tensaur.cost.store import Store
from tensaur.errors import RuntimeFailure
from tensaur.ir.operator import infer_fact
from tensaur.ir.types import DType, Fact, Known, TensorType
from tensaur.ops import (
    Add,
    Conv,
    Div,
    Erf,
    Exp,
    MatMul,
    Mul,
    Relu,
    Shape,
    Slice,
    Softmax,
    Transpose,
)
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Kernel, Settings


def fact(*shape, constant=False):
    return Fact(TensorType(DType.FLOAT32, shape), None, constant)


def scalar(number):
    return Fact(TensorType(DType.FLOAT32, ()), Known.of(np.float32(number), DType.FLOAT32), True)


def joint(inner, read, outer, beside=(), first=True):
    """Return the query of `outer(inner(read), beside)`, or with its inputs the other way round."""
    places = tuple(range(len(read), len(read) + len(beside)))
    wiring = (-1, *places) if first else (*places, -1)
    own = tuple(range(len(read)))
    known = tuple(read)
    made = infer_fact(inner, list(known))
    alone = (made, *beside) if first else (*beside, made)
    return Joint(
        Query((inner,), (own,), known),
        Query((outer,), (tuple(range(len(alone))),), alone),
        Query((inner, outer), (own, wiring), (*known, *beside)),
    )


CONV = Conv(strides=(1, 1), pads=(1, 1, 1, 1), dilations=(1, 1))
PICTURE, WINDOWS = fact(1, 64, 56, 56), fact(64, 64, 3, 3, constant=True)
CASES = {
    "activation": (joint(CONV, [PICTURE, WINDOWS], Relu()), True),
    "residual": (joint(CONV, [PICTURE, WINDOWS], Add(), [PICTURE]), True),
    "exponential": (joint(CONV, [PICTURE, WINDOWS], Exp()), False),
    "bias": (
        joint(
            MatMul(),
            [fact(2, 128, 768), fact(768, 768, constant=True)],
            Add(),
            [fact(768, constant=True)],
        ),
        True,
    ),
    "sum of a product": (
        joint(
            MatMul(), [fact(2, 128, 768), fact(768, 768, constant=True)], Add(), [fact(2, 128, 768)]
        ),
        False,
    ),
    "scale": (joint(MatMul(), [fact(4, 32, 64), fact(4, 64, 32)], Mul(), [scalar(0.125)]), True),
    "transposed operand": (
        joint(Transpose((0, 2, 1)), [fact(4, 32, 64)], MatMul(), [fact(4, 32, 32)]),
        True,
    ),
    "other transposition": (
        joint(Transpose((2, 1, 0)), [fact(4, 32, 64)], MatMul(), [fact(64, 4, 32)], first=False),
        False,
    ),
    "no more than a shape": (joint(Erf(), [fact(4, 32)], Shape(0, None)), False),
    # At smaller sizes the slice would be the whole.
    "slice": (joint(Erf(), [fact(4, 512)], Slice((0,), (64,), (1,), (1,))), False),
    "nothing": (joint(Erf(), [fact(4, 32)], Div(), [fact(4, 32)]), False),
}


class Counting:
    """The runtime, with the number of kinds that it was asked about."""

    name = RUNTIME.name

    def __init__(self):
        self.asked = 0

    def kernels(self, model, settings=None):
        self.asked += len({item.name.split(".")[0] for item in model.graph.output})
        return RUNTIME.kernels(model, settings)


def fusions(store=None, **options):
    runtime = options.pop("runtime", None) or Counting()
    return Fusions(runtime, store or Store(None), {"": 18}, **options)


def test_the_runtime_answers():
    joints = [case for case, _ in CASES.values()]
    answers = dict(zip(CASES, fusions()(joints), strict=True))
    assert answers == {name: expected for name, (_, expected) in CASES.items()}


def test_a_kind_is_asked_about_once_and_kept(tmp_path):
    path = tmp_path / "costs.sqlite"
    first = fusions(Store(path))
    case = CASES["activation"][0]
    assert first([case, case]) == [True, True]
    asked = first.runtime.asked
    assert asked == 3, "the whole and its two parts"
    larger = joint(CONV, [fact(1, 128, 28, 28), fact(128, 128, 3, 3, constant=True)], Relu())
    assert first([larger]) == [True]
    assert first.runtime.asked == asked, "another size is the same kind"
    again = fusions(Store(path))
    assert again([case]) == [True]
    assert again.runtime.asked == 0
    assert again.spent == 0.0


def test_sizes_of_one_and_equal_sizes_make_kinds():
    plain = fact(2, 128, 768)
    for others in ([fact(1, 1, 768)], [fact(2, 1, 768)], [fact(2, 128, 768)]):
        found = fusions()
        found([joint(Erf(), [plain], Mul(), others)])
        found([joint(Erf(), [fact(3, 128, 768)], Mul(), [fact(3, 128, 768)])])
        assert found.runtime.asked > 3


def test_without_time_it_is_as_listed():
    joints = [case for case, _ in CASES.values()]
    found = fusions(seconds=-1.0)
    assert found(joints) == [listed(item.inner.ops, item.outer.ops[-1]) for item in joints]
    assert found.runtime.asked == 0


def test_time_counts_over_all_calls():
    now = [0.0]

    class Slow(Counting):
        def kernels(self, model, settings=None):
            now[0] += 10.0
            return super().kernels(model, settings)

    found = fusions(runtime=Slow(), clock=lambda: now[0], seconds=5.0)
    found([CASES["activation"][0]])
    asked = found.runtime.asked
    found([CASES["nothing"][0]])
    assert found.runtime.asked == asked
    assert found.spent == 10.0


def test_what_the_runtime_refuses_does_not_keep_the_others_from_being_answered():
    class Choosy(Counting):
        def kernels(self, model, settings=None):
            if any(item.op_type == "Erf" for item in model.graph.node):
                raise RuntimeFailure("no kernel for Erf")
            return super().kernels(model, settings)

    found = fusions(runtime=Choosy())
    assert found([CASES["nothing"][0], CASES["activation"][0]]) == [False, True]


def test_values_made_by_one_kernel_are_together():
    kernels = [
        Kernel("FusedConv", ("c", "r")),
        Kernel("Add", ("s",)),
        Kernel("Reorder", ()),
        Kernel("First", ("p", "q")),
        Kernel("Second", ("q",)),
    ]
    assert together(kernels) == [("c", "r")]


def test_without_measured_prices_nothing_is_fused():
    fused = ask(None, None, Settings())
    assert fused == Fused()
    assert fused.fuses is never
    assert fused.fuses([CASES["activation"][0]]) == [False]


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ((CONV,), Relu(), True),
        ((CONV, Add()), Relu(), True),
        ((Erf(), Add()), Relu(), False),
        ((CONV,), Softmax(-1), False),
    ],
)
def test_the_list_is_what_runtimes_usually_do(inner, outer, expected):
    assert listed(inner, outer) == expected
