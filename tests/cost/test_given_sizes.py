"""Sizes are given for dimensions that inputs have; a slip of the pen is not passed over."""

import pytest

from tensaur.cost.sizes import check_given, named_sizes
from tensaur.errors import UsageError
from tensaur.ir.text import parse_graph
from tensaur.ops import OPERATORS

GRAPH = """
input x: f32[batch,?x.1]
y = Relu(x)
output y
"""


@pytest.mark.parametrize("name", ["batch", "x.1", "?x.1"])
def test_dimensions_of_inputs_may_be_given(name):
    check_given(parse_graph(GRAPH, OPERATORS), {name: 4})


def test_others_are_refused_with_the_ones_there_are():
    with pytest.raises(UsageError, match=r"size of bacth: .*: batch, x\.1$"):
        check_given(parse_graph(GRAPH, OPERATORS), {"bacth": 4})


def test_sizes_are_shown_by_the_names_they_are_given_by():
    found = named_sizes(parse_graph(GRAPH, OPERATORS), {"batch": 2, "?x.1": 3, "?other": 5})
    assert found == {"batch": 2, "x.1": 3}
