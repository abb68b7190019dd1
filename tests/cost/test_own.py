"""A user's own cost: asked about static operators, and its answers checked."""

import math

import pytest

from tensaur import ops
from tensaur.cost.model import Price, PriceKind
from tensaur.cost.objective import objective
from tensaur.cost.pricer import pricer_for
from tensaur.errors import UsageError
from tensaur.ir.operator import infer_fact
from tests.cost.facts import BATCH, tensor, weight


def quote(own, op, *inputs, sizes=None):
    prices = pricer_for(objective(own), sizes)
    return prices.quote(op, inputs, infer_fact(op, inputs))


def elements(op, inputs, output):
    """Return the number of elements written."""
    return math.prod(output.type.static_shape)


def test_functions_see_integers_for_dimensions():
    assert quote(elements, ops.Relu(), tensor(BATCH, 5), sizes={"batch": 4}) == Price(20)
    assert quote(elements, ops.Relu(), weight(5)).amount == 0, (
        "constants are computed before the run"
    )


class Quoting:
    def quote(self, op, inputs, output):
        return Price(7, PriceKind.MEASURED)


class Pricing:
    def price(self, op, inputs, output):
        return 0.5


def test_models_are_asked_for_quotes_or_prices():
    assert quote(Quoting(), ops.Relu(), tensor(2)) == Price(7, PriceKind.MEASURED)
    assert quote(Pricing(), ops.Relu(), tensor(2)) == Price(0.5)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (-1, "returned -1 for Relu, expected a finite number >= 0"),
        (math.nan, "returned nan for Relu, expected a finite number >= 0"),
        (math.inf, "returned inf for Relu, expected a finite number >= 0"),
        ("3", "returned '3' for Relu, expected a number"),
        (None, "returned None for Relu, expected a number"),
        (True, "returned True for Relu, expected a number"),
        (Price(-2), "returned -2 for Relu, expected a finite number >= 0"),
    ],
)
def test_wrong_answers_name_the_operator(answer, message):
    def mine(op, inputs, output):
        return answer

    with pytest.raises(UsageError) as caught:
        quote(mine, ops.Relu(), tensor(2))
    assert str(caught.value) == f"cost: mine {message}"


def test_exceptions_are_one_line_that_names_the_operator():
    def mine(op, inputs, output):
        raise KeyError("two\nlines")

    with pytest.raises(UsageError, match=r"^cost: mine failed on Relu: KeyError: .*$") as caught:
        quote(mine, ops.Relu(), tensor(2))
    assert "\n" not in str(caught.value)
