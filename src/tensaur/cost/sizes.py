"""Representative sizes: from symbolic dimensions to the integers that costs are computed with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tensaur.errors import UsageError
from tensaur.ir.dims import Dim, DimExpr, evaluate, symbols
from tensaur.ir.graph import Graph
from tensaur.ir.types import Fact, Known, TensorType, TupleType, Type
from tensaur.runtime.inputs import DEFAULT_SIZE, default_size, with_anonymous

Sizes = Mapping[str, int]


def graph_sizes(graph: Graph, given: Sizes | None = None) -> dict[str, int]:
    """Return a size for every symbol in the inputs' types: the given one, else the default.

    The default is 1 for batch-like first axes and 64 for the rest.
    """
    sizes = with_anonymous(given or {})
    for item in graph.inputs:
        if not isinstance(item.type, TensorType) or item.type.shape is None:
            continue
        for axis, dim in enumerate(item.type.shape):
            for name in sorted(symbols(dim)):
                sizes.setdefault(name, default_size(name, axis, len(item.type.shape)))
    return sizes


def named_sizes(graph: Graph, sizes: Sizes) -> dict[str, int]:
    """Return the sizes of the inputs' dimensions alone, by the names that users give them."""
    return {name.removeprefix("?"): sizes[name] for name in _input_symbols(graph) if name in sizes}


def check_given(graph: Graph, given: Sizes) -> None:
    """Raise UsageError if a size is given for a dimension that no input has."""
    names = {name.removeprefix("?") for name in _input_symbols(graph)}
    for name in given:
        if name.removeprefix("?") not in names:
            known = ", ".join(sorted(names)) or "none"
            raise UsageError(f"size of {name}: the inputs' symbolic dimensions are: {known}")


def _input_symbols(graph: Graph) -> list[str]:
    return sorted(
        {
            name
            for item in graph.inputs
            if isinstance(item.type, TensorType) and item.type.shape is not None
            for dim in item.type.shape
            for name in symbols(dim)
        }
    )


def dim_size(dim: Dim, sizes: Sizes) -> int:
    """Return the size of a dimension, at least 0; symbols without a size count as the default."""
    if isinstance(dim, int):
        return dim
    complete = {name: sizes.get(name, DEFAULT_SIZE) for name in symbols(dim)}
    try:
        return max(evaluate(dim, complete), 0)
    except ZeroDivisionError:
        return 0


def static_type(kind: Type, sizes: Sizes) -> Type:
    """Return the type with every dimension an integer, as far as the rank is known."""
    if isinstance(kind, TupleType):
        return TupleType(tuple(static_type(item, sizes) for item in kind.items))
    if isinstance(kind, TensorType) and kind.shape is not None:
        return TensorType(kind.dtype, tuple(dim_size(dim, sizes) for dim in kind.shape))
    return kind


def static_fact(fact: Fact, sizes: Sizes) -> Fact:
    """Return the fact with every dimension and every known element an integer."""
    value = None if fact.value is None else static_value(fact.value, sizes)
    return replace(fact, type=static_type(fact.type, sizes), value=value)


def static_value(value: Known, sizes: Sizes) -> Known:
    """Return the elements with every symbolic one an integer."""
    if value.dims is None:
        return value
    return Known.of_dims([_element(dim, sizes) for dim in value.dims], value.shape)


def _element(dim: Dim, sizes: Sizes) -> Dim:
    # Elements, unlike dimensions, may be negative.
    if not isinstance(dim, DimExpr):
        return dim
    return evaluate(dim, {name: sizes.get(name, DEFAULT_SIZE) for name in symbols(dim)})
