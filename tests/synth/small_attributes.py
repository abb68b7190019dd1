"""Small attribute values for every operator class, given the facts of its inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tensaur import ops
from tensaur.ir.operator import Operator
from tensaur.ir.types import DType, Fact

Values = dict[str, Any]
_MOST = 60  # combinations of attribute values that are looked at for one operator


def attribute_values(
    cls: type[Operator], facts: Sequence[Fact], fixed: Values, rng: Random
) -> list[Values]:
    """Return attribute values for a class, in random order, that keep what is `fixed`."""
    names = cls.field_names()
    if not names:
        return [{}]
    rank = facts[0].rank or 0
    special = _SPECIAL.get(cls)
    if special is not None:
        drawn = special(facts, rank)
    else:
        choices = [_values(cls, name, facts, rank) for name in names]
        picked = [[fixed[n]] if n in fixed else c for n, c in zip(names, choices, strict=True)]
        drawn = [dict(zip(names, item, strict=True)) for item in itertools.product(*picked)]
    fitting = [{**item, **fixed} for item in drawn]
    rng.shuffle(fitting)
    return fitting[:_MOST]


def _values(cls: type[Operator], name: str, facts: Sequence[Fact], rank: int) -> list[Any]:
    make = _BY_NAME.get(name)
    if make is None:
        raise NotImplementedError(f"{cls.__name__}.{name}")
    if name == "pads" and cls is ops.Pad:
        return _pads_of_all(rank)
    return make(rank)


def _axes(rank: int) -> list[Any]:
    subsets = [
        subset
        for count in range(1, min(rank, 3) + 1)
        for subset in itertools.combinations(range(-rank, 0), count)
    ]
    return [None, *subsets, *((axis,) for axis in range(rank))]


def _perms(rank: int) -> list[Any]:
    return list(itertools.permutations(range(rank))) if rank <= 4 else [tuple(range(rank))]


def _spatial(values: Sequence[int]) -> Callable[[int], list[Any]]:
    def make(rank: int) -> list[Any]:
        count = max(rank - 2, 1)
        mixed = tuple(values[i % len(values)] for i in range(count))
        return list(dict.fromkeys([*((value,) * count for value in values), mixed]))

    return make


def _window_pads(rank: int) -> list[Any]:
    count = max(rank - 2, 1)
    ones, zeros = (1,) * count, (0,) * count
    return [zeros + zeros, ones + zeros, zeros + ones, ones + ones]


def _pads_of_all(rank: int) -> list[Any]:
    single = [tuple(int(i == place) for i in range(2 * rank)) for place in range(2 * rank)]
    cut = [tuple(-item for item in pads) for pads in single]
    return [(0,) * (2 * rank), (1,) * (2 * rank), *single, *cut[:2]]


_BY_NAME: dict[str, Callable[[int], list[Any]]] = {
    "axis": lambda rank: list(range(-rank, rank)),
    "axes": _axes,
    "perm": _perms,
    "keepdims": lambda rank: [True, False],
    "strides": _spatial((1, 2)),
    "dilations": _spatial((1, 2)),
    "kernel": _spatial((1, 2)),
    "pads": _window_pads,
    "output_padding": _spatial((0,)),
    "group": lambda rank: [1, 2],
    "ceil_mode": lambda rank: [False, True],
    "count_include_pad": lambda rank: [False, True],
    "epsilon": lambda rank: [0.5, 1e-5],
    "alpha": lambda rank: [1.0, 0.25, 1 / 6],
    "beta": lambda rank: [1.0, 0.5, 0.75],
    "bias": lambda rank: [1.0, 0.5],
    "size": lambda rank: [1, 3],
    "trans_a": lambda rank: [False, True],
    "trans_b": lambda rank: [False, True],
    "blocksize": lambda rank: [1, 2],
    "mode": lambda rank: ["DCR", "CRD", "constant", "edge", "reflect"],
    "approximate": lambda rank: ["none", "tanh"],
    "to": lambda rank: [DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.FLOAT16, DType.BOOL],
    "allowzero": lambda rank: [False, True],
    "start": lambda rank: [0, 1, -1],
    "end": lambda rank: [None, 1, -1],
}


def _slices(facts: Sequence[Fact], rank: int) -> list[Values]:
    cuts = itertools.product((0, 1, -1), (1, 2, 3, 100, -1), (1, 2, -1))
    found: list[Values] = [
        {"starts": (start,), "ends": (end,), "axes": (axis,), "steps": (step,)}
        for start, end, step in cuts
        for axis in range(-rank, rank)
    ]
    if rank > 1:
        found += [
            {"starts": (0, 1), "ends": (1, 100), "axes": axes, "steps": (1, 1)}
            for axes in itertools.permutations(range(-rank, 0), 2)
        ]
    return found


def _splits(facts: Sequence[Fact], rank: int) -> list[Values]:
    shape = facts[0].tensor.static_shape or ()
    found = []
    for axis in range(-rank, rank):
        size = shape[axis]
        parts = [(size,), *((first, size - first) for first in range(size + 1))]
        parts += [(1, 1, size - 2), (1, 1, 1, size - 3)]
        found += [{"axis": axis, "sizes": part} for part in parts if min(part) >= 0]
    return found


_SPECIAL: dict[type[Operator], Callable[[Sequence[Fact], int], list[Values]]] = {
    ops.Slice: _slices,
    ops.Split: _splits,
}
