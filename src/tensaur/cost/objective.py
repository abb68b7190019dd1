"""What is to be made small: a weighted sum of metrics, or a user's own cost.

Holds the small language of costs (``latency + 0.1*bytes``) and nothing that prices.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tensaur.errors import UsageError, one_line

LATENCY, SIZE = "latency", "size"

# Every metric is a sum over what a graph consists of; README and docs/costs.md give the units.
METRICS = (LATENCY, "flops", "bytes", "launches", SIZE)

# What a candidate can be asked to stay below.
LIMITS = ("peak_memory", SIZE, "flops", "bytes", "launches")

# One price of a user: of an operator, the facts of its inputs, and the fact of its output.
OwnPrice = Callable[..., Any]

# Above this, floating-point numbers are no longer all the whole ones.
_WHOLE = 1 << 53

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>\S))"
)


@dataclass(frozen=True, slots=True)
class Objective:
    """The cost that extraction minimises: factors > 0 of metrics, or `own` alone.

    `own` is a `CostModel`, or a function of an operator, its inputs' facts and its output's.
    """

    text: str
    factors: tuple[tuple[str, float], ...] = ()
    own: Any = None

    def factor(self, metric: str) -> float:
        """Return the factor of a metric, 0 if it has no part in the cost."""
        return dict(self.factors).get(metric, 0)

    @property
    def is_latency(self) -> bool:
        """Tell whether latency alone is the cost."""
        return [metric for metric, _ in self.factors] == [LATENCY]

    @property
    def unit(self) -> str:
        """Return the unit of the cost: that of a single metric, else the text of the combination."""
        if len(self.factors) == 1 and self.factors[0][1] == 1:
            metric = self.factors[0][0]
            return "ns" if metric == LATENCY else metric
        return self.text


def objective(given: Any) -> Objective:
    """Return what a text, a `CostModel` or a function asks to make small; UsageError if it is none."""
    if isinstance(given, str):
        return _parsed(given)
    if callable(getattr(given, "quote", None)) or callable(getattr(given, "price", None)):
        return Objective(type(given).__name__, own=given)
    if callable(given):
        return Objective(str(getattr(given, "__name__", type(given).__name__)), own=given)
    raise UsageError(
        f"cost: {one_line(repr(given))} is no text, no function and has neither quote nor price"
    )


class _Token(NamedTuple):
    kind: str
    text: str


class _Sum(dict[str, float]):
    """Factors by metric; the number alone has the name ''."""


class _Parser:
    """Recursive descent: a sum of products of numbers, metrics and sums in parentheses."""

    def __init__(self, text: str) -> None:
        self.rest = _tokens(text)[::-1]

    def parse(self) -> _Sum:
        found = self._sum()
        if self.rest:
            raise _fault(f"expected + or * before {self.rest[-1].text!r}")
        return found

    def _sum(self) -> _Sum:
        total = self._product()
        while self._took("+"):
            for name, factor in self._product().items():
                total[name] = total.get(name, 0) + factor
        return total

    def _product(self) -> _Sum:
        product = self._atom()
        while self._took("*"):
            other = self._atom()
            if product.keys() - {""} and other.keys() - {""}:
                raise _fault(f"{_names(product)} times {_names(other)}: only numbers are factors")
            product = _Sum(
                {one or two: a * b for one, a in product.items() for two, b in other.items()}
            )
        return product

    def _atom(self) -> _Sum:
        if self._took("("):
            inner = self._sum()
            if not self._took(")"):
                raise _fault("a parenthesis is not closed")
            return inner
        if not self.rest:
            raise _fault(f"it ends where a metric is expected ({', '.join(METRICS)})")
        token = self.rest.pop()
        if token.kind == "number":
            return _Sum({"": _number(token.text)})
        if token.kind == "name":
            return _Sum({_metric(token.text): 1})
        if token.text == "-":
            after = self.rest[-1].text if self.rest else ""
            raise _fault(f"'-{after}' is negative, factors are not")
        raise _fault(f"{token.text!r} is neither a number nor a metric ({', '.join(METRICS)})")

    def _took(self, sign: str) -> bool:
        if self.rest and self.rest[-1] == ("sign", sign):
            self.rest.pop()
            return True
        return False


def _tokens(text: str) -> list[_Token]:
    found = [(item.lastgroup or "", item) for item in _TOKEN.finditer(text.rstrip())]
    return [_Token(kind, item[kind]) for kind, item in found]


def _parsed(text: str) -> Objective:
    found = _Parser(text).parse()
    if found.get("", 0):
        raise _fault(f"{found['']:g} stands alone, expected a factor of a metric")
    for name, factor in found.items():
        if not math.isfinite(factor):
            raise _fault(f"the factor of {name} is {factor:g}, expected a finite one")
    factors = tuple((name, found[name]) for name in METRICS if found.get(name, 0) > 0)
    if not factors:
        raise _fault("no metric has a factor above 0")
    return Objective(" ".join(text.split()), factors)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _fault(f"{text} is not finite")
    return int(value) if value.is_integer() and value < _WHOLE else value


def _metric(name: str) -> str:
    if name in METRICS:
        return name
    if name.lower() in ("nan", "inf", "infinity"):
        raise _fault(f"{name!r} is not a finite factor")
    if name == "peak_memory":
        raise _fault("'peak_memory' is no sum over operators: it can only be a limit")
    near = difflib.get_close_matches(name, METRICS, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise _fault(f"{name!r} is not a metric{hint} (metrics: {', '.join(METRICS)})")


def _names(found: _Sum) -> str:
    return " + ".join(name for name in METRICS if name in found)


def _fault(what: str) -> UsageError:
    return UsageError(f"cost: {what}")
