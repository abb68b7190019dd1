"""Symbolic dimensions: integers, or sums of products over named symbols, kept in a normal form.

A dimension is an ``int`` or a ``DimExpr``. Equal normal forms are equal objects by value, so the rest of
Tensaur compares dimensions with ``==``. Symbols stand for integers >= 0. What is not known about a
dimension is a symbol of its own whose name begins with ``?``; such a symbol is never claimed equal to
another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named integer >= 0, such as ``batch``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """floor(numerator / denominator), for what the normal form cannot divide."""

    numerator: Dim
    denominator: Dim

    def __str__(self) -> str:
        return f"floordiv({self.numerator}, {self.denominator})"


@dataclass(frozen=True, slots=True)
class Maximum:
    """The larger of two dimensions that cannot be ordered without knowing the symbols."""

    first: Dim
    second: Dim

    def __str__(self) -> str:
        return f"max({self.first}, {self.second})"


@dataclass(frozen=True, slots=True)
class Minimum:
    """The smaller of two dimensions that cannot be ordered without knowing the symbols."""

    first: Dim
    second: Dim

    def __str__(self) -> str:
        return f"min({self.first}, {self.second})"


Atom = Symbol | FloorDiv | Maximum | Minimum
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class DimExpr:
    """A sum of integer multiples of products of atoms; at least one product is not empty.

    ``terms`` is sorted by the text of the product, holds each product once and no zero coefficient, so
    two expressions with equal normal form compare equal.
    """

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Dim) -> Dim:
        return _sum((*self.terms, *_terms(other)))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _sum((product, -factor) for product, factor in self.terms)

    def __sub__(self, other: Dim) -> Dim:
        return self + (-other)

    def __rsub__(self, other: int) -> Dim:
        return (-self) + other

    def __mul__(self, other: Dim) -> Dim:
        return _sum(
            (_sorted(left + right), a * b) for left, a in self.terms for right, b in _terms(other)
        )

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

    def __str__(self) -> str:
        return "+".join(_term_text(product, factor) for product, factor in self.terms).replace(
            "+-", "-"
        )

    def __repr__(self) -> str:
        return f"dim({self})"


Dim = int | DimExpr


def symbol(name: str) -> DimExpr:
    """Return the dimension that is the symbol `name`."""
    return _of_atom(Symbol(name))


def is_anonymous(dim: Dim) -> bool:
    """Tell whether a dimension is a lone unknown, that is one symbol whose name begins with ``?``."""
    atom = _lone_atom(dim)
    return isinstance(atom, Symbol) and atom.name.startswith("?")


def floordiv(numerator: Dim, denominator: Dim) -> Dim:
    """Divide and round towards minus infinity, splitting off what divides exactly."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        if denominator == 0:
            raise ZeroDivisionError("dimension divided by zero")
        return numerator // denominator
    if denominator == 1:
        return numerator
    exact = exact_quotient(numerator, denominator)
    if exact is not None:
        return exact
    if not isinstance(denominator, int):
        return _of_atom(FloorDiv(numerator, denominator))
    whole: Dim = 0
    rest: Dim = 0
    for product, factor in _terms(numerator):
        quotient, remainder = divmod(factor, denominator) if not product else (0, factor)
        if product and factor % denominator == 0:
            quotient, remainder = factor // denominator, 0
        whole = whole + _sum([(product, quotient)])
        rest = rest + _sum([(product, remainder)])
    if isinstance(rest, int):
        return whole + rest // denominator
    return whole + _of_atom(FloorDiv(rest, denominator))


def ceildiv(numerator: Dim, denominator: Dim) -> Dim:
    """Divide and round towards plus infinity."""
    return -floordiv(-numerator, denominator)


def exact_quotient(numerator: Dim, denominator: Dim) -> Dim | None:
    """Return the quotient if the division leaves no remainder for any value of the symbols."""
    if denominator == 0:
        return None
    if numerator == denominator:
        return 1
    divisor = _terms(denominator)
    if len(divisor) != 1:
        return None
    (atoms, factor), quotients = divisor[0], []
    for product, coefficient in _terms(numerator):
        left = list(product)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if coefficient % factor:
            return None
        quotients.append((tuple(left), coefficient // factor))
    return _sum(quotients)


def dim_max(first: Dim, second: Dim) -> Dim:
    """Return the larger dimension, symbolic if it depends on the symbols."""
    order = compare(first, second)
    if order is not None:
        return first if order >= 0 else second
    low, high = sorted((first, second), key=str)
    return _of_atom(Maximum(low, high))


def dim_min(first: Dim, second: Dim) -> Dim:
    """Return the smaller dimension, symbolic if it depends on the symbols."""
    order = compare(first, second)
    if order is not None:
        return first if order <= 0 else second
    low, high = sorted((first, second), key=str)
    return _of_atom(Minimum(low, high))


def compare(first: Dim, second: Dim) -> int | None:
    """Order two dimensions: -1 or 0 for first <= second, 1 or 0 for first >= second, None if unknown.

    0 means equal. Only that symbols are >= 0 is used.
    """
    difference = first - second
    if isinstance(difference, int):
        return (difference > 0) - (difference < 0)
    if is_nonnegative(difference):
        return 1
    if is_nonnegative(-difference):
        return -1
    return None


def is_nonnegative(dim: Dim) -> bool:
    """Tell whether a dimension is >= 0 whatever the symbols are (False also means: not known)."""
    return all(
        factor >= 0 and all(_atom_is_nonnegative(atom) for atom in product)
        for product, factor in _terms(dim)
    )


def is_positive(dim: Dim) -> bool:
    """Tell whether a dimension is >= 1 whatever the symbols are (False also means: not known)."""
    return is_nonnegative(dim - 1)


def product(dims: Iterable[Dim]) -> Dim:
    """Multiply dimensions; the empty product is 1."""
    result: Dim = 1
    for dim in dims:
        result = result * dim
    return result


def symbols(dim: Dim) -> frozenset[str]:
    """Return the names of all symbols in a dimension."""
    names: set[str] = set()
    for atoms, _ in _terms(dim):
        for atom in atoms:
            if isinstance(atom, Symbol):
                names.add(atom.name)
            elif isinstance(atom, FloorDiv):
                names |= symbols(atom.numerator) | symbols(atom.denominator)
            else:
                names |= symbols(atom.first) | symbols(atom.second)
    return frozenset(names)


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """Return the value of a dimension for given symbol values; KeyError names a missing symbol."""
    if isinstance(dim, int):
        return dim
    total = 0
    for atoms, factor in dim.terms:
        for atom in atoms:
            factor *= _atom_value(atom, sizes)
        total += factor
    return total


def _atom_value(atom: Atom, sizes: Mapping[str, int]) -> int:
    if isinstance(atom, Symbol):
        return sizes[atom.name]
    if isinstance(atom, FloorDiv):
        return evaluate(atom.numerator, sizes) // evaluate(atom.denominator, sizes)
    first, second = evaluate(atom.first, sizes), evaluate(atom.second, sizes)
    return max(first, second) if isinstance(atom, Maximum) else min(first, second)


def _atom_is_nonnegative(atom: Atom) -> bool:
    if isinstance(atom, Symbol):
        return True
    if isinstance(atom, FloorDiv):
        return is_nonnegative(atom.numerator) and is_nonnegative(atom.denominator)
    each = (is_nonnegative(atom.first), is_nonnegative(atom.second))
    return any(each) if isinstance(atom, Maximum) else all(each)


def _terms(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(dim, int):
        return (((), dim),) if dim else ()
    return dim.terms


def _sum(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    totals: dict[Monomial, int] = {}
    for atoms, factor in terms:
        totals[atoms] = totals.get(atoms, 0) + factor
    kept = [(atoms, factor) for atoms, factor in totals.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    kept.sort(key=lambda term: (not term[0], _monomial_text(term[0])))
    return DimExpr(tuple(kept))


def _of_atom(atom: Atom) -> DimExpr:
    return DimExpr((((atom,), 1),))


def _lone_atom(dim: Dim) -> Atom | None:
    if isinstance(dim, int) or len(dim.terms) != 1:
        return None
    atoms, factor = dim.terms[0]
    return atoms[0] if factor == 1 and len(atoms) == 1 else None


def _sorted(atoms: Monomial) -> Monomial:
    return tuple(sorted(atoms, key=_atom_text))


@lru_cache(maxsize=65536)
def _atom_text(atom: Atom) -> str:
    return str(atom)


def _monomial_text(atoms: Monomial) -> str:
    return "*".join(_atom_text(atom) for atom in atoms)


def _term_text(atoms: Monomial, factor: int) -> str:
    if not atoms:
        return str(factor)
    text = _monomial_text(atoms)
    if factor == 1:
        return text
    return f"-{text}" if factor == -1 else f"{factor}*{text}"
