"""Metrics of whole graphs, and peak memory against figures worked out by hand."""

from tensaur.cost.metrics import Metrics, metrics
from tensaur.cost.objective import objective
from tensaur.ir.text import parse_graph
from tensaur.ops import OPERATORS
from tests.small import small_graph


def graph(*lines):
    return parse_graph("\n".join(lines), OPERATORS)


def peak(*lines):
    return metrics(graph(*lines), {"n": 2}).peak_memory


def test_the_small_graph():
    found = metrics(small_graph(), {})
    # 2 x 4 times 4 x 8, plus a scalar, relu: bytes are those of f32.
    assert found.flops == 2 * 2 * 4 * 8 + 16 + 16
    assert found.bytes == 4 * ((8 + 32 + 16) + (16 + 1 + 16) + (16 + 16))
    assert found.launches == 3
    assert found.size == 4 * (32 + 1)
    # Add and Relu write over the product.
    assert found.peak_memory == 4 * (8 + 32 + 1 + 16)


def test_values_are_freed_after_their_last_reader():
    assert (
        peak(
            "input x: f32[n,4]",
            "a = Transpose{perm=(1,0)}(x)",
            "b = Transpose{perm=(1,0)}(a)",
            "c = Transpose{perm=(1,0)}(b)",
            "output c",
        )
        == 3 * 32
    )
    assert (
        peak(
            "input x: f32[n,4]",
            "a = Transpose{perm=(1,0)}(x)",
            "b = Transpose{perm=(1,0)}(a)",
            "c = Concat{axis=0}(b, b)",
            "d = Transpose{perm=(1,0)}(a)",
            "output c",
            "output d",
        )
        == 32 + 32 + 64 + 32
    )


def test_outputs_and_what_is_read_again_are_not_written_over():
    assert peak("input x: f32[n,4]", "y = Relu(x)", "z = Neg(y)", "output z") == 64
    assert peak("input x: f32[n,4]", "y = Relu(x)", "z = Neg(y)", "output y", "output z") == 96
    assert peak("input x: f32[n,4]", "y = Relu(x)", "z = Neg(y)", "u = Add(z, y)", "output u") == 96


def test_views_and_items_share_memory():
    assert (
        peak(
            "input x: f32[n,4]",
            "a = Transpose{perm=(1,0)}(x)",
            "b = Unsqueeze{axes=(0,)}(a)",
            "output b",
        )
        == 32 + 32
    )
    assert (
        peak(
            "input x: f32[n,4]",
            "s = Split{axis=0, sizes=(1,1)}(x)",
            "a = s[0]",
            "b = s[1]",
            "c = Add(a, b)",
            "output c",
        )
        == 32 + 32
    )


def test_constants_count_once_and_only_where_the_run_reads_them():
    lines = (
        "input x: f32[1000]",
        "weight w: f32[1000]",
        "n = Neg(w)",
        "a = Add(x, n)",
        "b = Mul(a, n)",
        "output b",
    )
    found = metrics(graph(*lines), {})
    assert found.size == 4000
    assert found.peak_memory == 4000 + 4000 + 4000
    assert found.launches == 2, "negating a constant is done before the run"


def test_values_above_a_limit_are_named():
    found = Metrics(flops=10, bytes=20, launches=3, size=40, peak_memory=50)
    assert found.exceeded({"peak_memory": 49, "size": 40}) == {"peak_memory": 50}
    assert found.exceeded({}) == {}
    assert found.weighted(objective("latency + 0.5*bytes + size")) == 50
