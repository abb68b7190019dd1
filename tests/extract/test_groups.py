"""Groups: who is asked about them, and the kernels of the original as groups of any length."""

import pytest

from tensaur.ops import Add, Erf, Mul
from tests.extract.spaces import explored

GELU = """\
input x: f32[4,8]
half = f32[](0.5)
one = f32[](1.0)
d = Mul(x, half)
e = Erf(d)
s = Add(e, one)
m = Mul(d, s)
y = Tanh(m)
output y
"""
NAMES = ("e", "s", "m")


def groups(found):
    return [option for option in found.space.options if len(option.rows) > 1]


def test_a_kernel_of_the_original_is_a_group_over_its_operators():
    found = explored(GELU, together=[NAMES])
    (group,) = groups(found)
    assert found.ops(group) == "Erf+Add+Mul"
    assert group.cls == found.cls("m")
    assert found.cls("d") in group.children
    assert group.loaded
    query = found.space.queries[group.query]
    assert [type(node.op) for node in query.nodes if node.inputs] == [Erf, Add, Mul]
    assert len(query.inputs) == 1, "what several of them read is one input"


def test_it_is_taken_where_it_is_cheaper_and_lowered_to_its_operators():
    found = explored(GELU, together=[NAMES])
    (group,) = groups(found)
    prices = found.prices("flops")
    prices[group.query] = 0.0
    picked = found.picked(prices=prices)
    assert picked[found.cls("m")] == group
    assert found.text(prices=prices) == found.text()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (GELU + "output s\n", ("s", "m")),  # s is read by others too
        (GELU, ("d", "e", "s")),
        (GELU, ("e", "y")),  # e is not read by y
        (GELU, ("unknown", "y")),
        (GELU, ("half", "y")),
        (GELU, ("y",)),
        (GELU, ()),
    ],
)
def test_what_is_no_group_is_left_out(text, names):
    assert groups(explored(text, together=[names])) == []


def test_a_group_that_was_found_by_asking_is_offered_once():
    fuses = lambda inner, outer: isinstance(inner[-1], Erf) and isinstance(outer, Add)  # noqa: E731
    found = explored(GELU, fuses=fuses, together=[("e", "s")])
    assert [found.ops(option) for option in groups(found)] == ["Erf+Add"]


def chains(count):
    """Return as many products with a sum, all of one kind."""
    lines = ["input x: f32[4,8]"]
    for number in range(count):
        lines += [f"weight v{number}: f32[8,8]", f"m{number} = MatMul(x, v{number})"]
        lines += [f"k{number} = f32[]({number + 1}.0)", f"a{number} = Add(m{number}, k{number})"]
        lines.append(f"output a{number}")
    return "\n".join(lines) + "\n"


def test_of_a_kind_two_are_asked_about_where_they_agree():
    asked = []

    def fuses(inner, outer):
        asked.append((inner, outer))
        return True

    found = explored(chains(5), fuses=fuses)
    assert len(asked) == 2
    assert len(groups(found)) == 5


def test_of_a_kind_all_are_asked_about_where_two_disagree():
    asked = []

    def fuses(inner, outer):
        asked.append((inner, outer))
        return len(asked) in (2, 4)

    found = explored(chains(5), fuses=fuses)
    assert len(asked) == 2 + 5
    assert len(groups(found)) == 1


def test_changes_of_shape_join_no_group():
    text = "input x: f32[4,8]\na = Exp(x)\ns = i64[1](32)\ny = Reshape(a, s)\noutput y\n"
    assert groups(explored(text, fuses=lambda inner, outer: True)) == []
