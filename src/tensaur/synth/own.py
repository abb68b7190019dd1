"""Compare two sides in the arithmetic of their element types: to the bit, or up to rounding.

Integers wrap around, 16-bit floats round as the operators' references do. The exact tiers are in `tiers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tensaur.errors import EmptySpace
from tensaur.ir.dims import Dim, symbols
from tensaur.ir.dims import evaluate as evaluate_dim
from tensaur.ir.rule import EXACT, FAST, ROUNDING, Exactness
from tensaur.ir.term import Tree, Var, tree_fact
from tensaur.ir.types import Array, DType, Fact, TensorType, meet
from tensaur.synth.counterexample import Difference, array_text
from tensaur.synth.data import Kind, far, fill, hidden, unlike
from tensaur.synth.evaluation import Run
from tensaur.synth.instances import Instance
from tensaur.synth.tiers import Outcome, Tier

_KINDS = {
    EXACT: (Kind.INTEGERS, Kind.REALS, Kind.ZEROS, Kind.SPECIAL, Kind.SPECIAL),
    ROUNDING: (Kind.INTEGERS, Kind.REALS, Kind.SMALL, Kind.LARGE, Kind.ZEROS, Kind.NAN, Kind.NAN),
    FAST: (Kind.INTEGERS, Kind.REALS, Kind.SMALL, Kind.LARGE, Kind.ZEROS),
}
_INTEGERS = (Kind.INTEGERS, Kind.ZEROS, Kind.SPECIAL)
# Underflow and cancellation of single precision are not what equality over the reals is about.
_UNFIT_FOR_SINGLE = frozenset({Kind.SMALL, Kind.LARGE})
_MOST_KINDS = 3  # on how many kinds of data one instance is tried
_FAULTS = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError)
_BRIEFLY = 12


class OwnArithmetic:
    """Both sides of one instance, compared on several kinds of data as `exactness` asks for."""

    def __init__(
        self,
        exactness: Exactness,
        instance: Instance,
        makes: Sequence[Tree | Var],
        rng: np.random.Generator,
    ) -> None:
        self._exactness = exactness
        self._instance = instance
        self._makes = makes
        self._rng = rng
        facts = instance.bindings.facts
        self._found_facts = [tree_fact(tree, facts) for tree in instance.finds]
        self._made_facts = [tree_fact(tree, facts) for tree in makes]

    def run(self) -> Outcome | None:
        """Compare until the sides differ; None if no data were admissible, such as indices in range.

        Windows on an image without pixels are not admissible on either side: runtimes refuse them.
        """
        outcome = None
        for kind in self._kinds():
            data = {name: self._fill(name, kind) for name in self._instance.leaves}
            compared = self.compare(data, kind)
            if compared is None:
                continue
            if outcome is None or compared.telling:
                outcome = compared
            if compared.difference is not None:
                return compared
        return outcome

    def compare(self, data: Mapping[str, Array], kind: Kind = Kind.INTEGERS) -> Outcome | None:
        """Compare on given data of one kind; None if they are not admissible."""
        try:
            found = tuple(Run(data).value(tree) for tree in self._instance.finds)
        except (*_FAULTS, EmptySpace):
            return None
        return self._compare(kind, data, found)

    def _kinds(self) -> list[Kind]:
        kinds: Sequence[Kind] = _KINDS[self._exactness]
        dtype = self._found_facts[0].dtype
        if dtype.is_integer:
            kinds = _INTEGERS
        elif self._exactness is not EXACT and dtype is DType.FLOAT32:
            kinds = [kind for kind in kinds if kind not in _UNFIT_FOR_SINGLE]
        if any(0 in (leaf.type.static_shape or ()) for leaf in self._instance.leaves.values()):
            # Where a sum is empty, its order decides whether a NaN beside it is ever multiplied.
            kinds = [kind for kind in kinds if kind is not Kind.NAN]
        order = self._rng.permutation(len(kinds))
        return [kinds[i] for i in order[:_MOST_KINDS]]

    def _fill(self, name: str, kind: Kind) -> Array:
        leaf = self._instance.leaves[name]
        given = None if leaf.data is None else leaf.data.array
        if given is not None:
            return given
        if kind is Kind.NAN and leaf.fact.constant:
            kind = Kind.REALS  # models hold no NaN
        return fill(kind, leaf.type, self._rng)

    def _compare(
        self, kind: Kind, data: Mapping[str, Array], found: tuple[Array, ...]
    ) -> Outcome | None:
        run = Run(data)
        made: list[Array] = []
        difference = None
        for number, tree in enumerate(self._makes):
            try:
                made.append(run.value(tree))
            except EmptySpace:
                return None
            except _FAULTS as error:
                difference = Difference(number, f"the right side fails: {error}")
                break
            difference = self._type_difference(number, found[number], made[-1])
            if difference is None:
                difference = self._difference(number, kind, data, found[number], made[-1])
            if difference is not None:
                break
        telling = any(map(_has_values, found))
        return Outcome(Tier.OWN, data, found, tuple(made), difference, None, telling)

    def _type_difference(self, output: int, expected: Array, actual: Array) -> Difference | None:
        """Compare what was inferred for both sides, and what was inferred with what came out."""
        made = self._made_facts[output]
        try:
            meet(Fact(self._found_facts[output].type), Fact(made.type))
        except ValueError as error:
            return Difference(output, str(error))
        reason = _inferred_wrongly(made, actual, self._instance.sizes)
        if reason is None and (expected.shape, expected.dtype) != (actual.shape, actual.dtype):
            reason = _unequal(expected, actual)
        return None if reason is None else Difference(output, reason)

    def _difference(
        self, output: int, kind: Kind, data: Mapping[str, Array], expected: Array, actual: Array
    ) -> Difference | None:
        places = np.argwhere(self._differing(output, kind, data, expected, actual))
        if not len(places):
            return None
        index = tuple(int(i) for i in places[0])
        return Difference(output, _unequal(expected, actual), index)

    def _differing(
        self, output: int, kind: Kind, data: Mapping[str, Array], expected: Array, actual: Array
    ) -> Array:
        if self._exactness is EXACT:
            return unlike(expected, actual)
        run = Run(data)
        run.value(self._instance.finds[output])
        if kind is not Kind.NAN:
            return far(expected, actual, run.scale, self._exactness is FAST)
        places = hidden(expected, actual, run.scale)
        return places if places.any() and self._is_hidden(output, data) else np.zeros_like(places)

    def _is_hidden(self, output: int, data: Mapping[str, Array]) -> bool:
        """Confirm without BLAS that a NaN is hidden: its products skip zeros, and NaN times 0 is NaN."""
        slow = Run({name: _without_blas(array) for name, array in data.items()})
        try:
            expected = slow.value(self._instance.finds[output]).astype(np.float64)
            actual = slow.value(self._makes[output]).astype(np.float64)
        except (*_FAULTS, AttributeError):
            return True  # not computed by products alone
        return bool(hidden(expected, actual, slow.scale).any())


def _without_blas(array: Array) -> Array:
    return array.astype(object) if array.dtype.kind == "f" else array


def _has_values(array: Array) -> bool:
    """Tell whether a result has a finite element, or is empty on purpose."""
    if array.dtype.kind in "iub" or not array.size:
        return True
    return bool(np.isfinite(array).any())


def _inferred_wrongly(fact: Fact, value: Array, sizes: Mapping[str, int]) -> str | None:
    kind = fact.type
    if not isinstance(kind, TensorType):
        return f"the right side is a {kind}"
    if kind.shape is None:
        return None
    for dim, size in zip(kind.shape, value.shape, strict=False):
        if _is_known(dim, sizes) and evaluate_dim(dim, sizes) != size:
            return f"inferred {kind}, but the shape is {list(value.shape)}"
    return None if len(kind.shape) == value.ndim else f"inferred {kind}, but got {value.shape}"


def _is_known(dim: Dim, sizes: Mapping[str, int]) -> bool:
    """Tell whether a dimension claims anything.

    Two symbols broadcast to their maximum, which is wrong only if one stands for 0 and the other for 1.
    """
    names = symbols(dim)
    anonymous = any(name.startswith("?") for name in names)
    empty = len(names) > 1 and any(sizes[name] == 0 for name in names if name in sizes)
    return not anonymous and not empty


def _unequal(expected: Array, actual: Array) -> str:
    return f"{array_text(expected, limit=_BRIEFLY)} is not {array_text(actual, limit=_BRIEFLY)}"
