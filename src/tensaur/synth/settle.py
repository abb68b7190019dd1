"""Decide for the leaves of an instance which are constants or literals, and what is symbolic.

Draws facts and data for proposed leaf types; knows nothing of terms.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tensaur.ir.dims import Dim, symbol
from tensaur.ir.types import KNOWN_LIMIT, DType, Fact, Known, TensorType
from tensaur.synth.hints import Hint

Proposal = TensorType | Known

_NEARLY_ALWAYS = 0.95
_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -0.5, 6.0, 2.0**-10)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One variable of an instance: its concrete type, its data if they are not free, what is known.

    `fact` is what a rule may see: dimensions may be symbols there, and data need not be known.
    """

    type: TensorType
    data: Known | None
    fact: Fact


_NO_HINT = Hint()


class Settling:
    """Decides for one instance which leaves are inputs, constants or literals, and what is symbolic.

    Those of `literal` are literals most of the time.
    """

    def __init__(
        self,
        rng: Random,
        hints: Mapping[str, Hint],
        constant: Mapping[str, bool],
        proposals: Mapping[str, Proposal],
        literal: Collection[str] = (),
    ) -> None:
        self.rng = rng
        self.hints = hints
        self.constant = constant
        self._models = proposals
        self._mostly_literal = literal
        self.sizes: dict[str, int] = {}
        self._settled: dict[str, Known] = {}
        self._constants = rng.choice((0.1, 0.5, 0.9))
        self._literals = rng.choice((0.05, 0.3, 0.7))
        self._symbols = rng.choice(("none", "value", "axis", "axis", "rank"))
        self._share = rng.choice((0.3, 1.0))
        self._borrows = rng.choice((0.0, 0.0, 0.3, 0.6))
        self._form = rng.choice((self._same, self._suffix, self._coarse))

    def hide_ranks(self) -> None:
        """Let the rule see most leaves that are not known without their ranks."""
        self._symbols, self._constants, self._literals = "rank", 0.0, 0.0

    def leaf(self, name: str, proposal: Proposal) -> Leaf:
        """Settle one leaf."""
        rng = self.rng
        forced = self.constant.get(name.partition(".")[0])
        if isinstance(proposal, Known):
            return self._given(proposal, forced)
        hint = self.hints.get(name, _NO_HINT)
        proposal = self._shaped(proposal, hint)
        hints = [item for item in hint.values if isinstance(item, (int, float))]
        wish = 0.75 if hints else 0.5 if hint.wanted else self._literals
        wish = _NEARLY_ALWAYS if name in self._mostly_literal else wish
        if forced is not False and rng.random() < wish:
            value = self._literal(proposal, [*hints, *self._related(hint)])
            if value is not None:
                self._settled[name] = value
                return Leaf(value.type, value, Fact(value.type, value, constant=True))
        if forced if forced is not None else rng.random() < self._constants:
            return Leaf(proposal, None, Fact(proposal, None, constant=True))
        return Leaf(proposal, None, Fact(self._abstract(name, proposal)))

    def _related(self, hint: Hint) -> list[float]:
        """Return numbers of linked variables, and their inverses."""
        known = (self._settled[name].scalar for name in hint.linked if name in self._settled)
        numbers = [float(item) for item in known if item]
        return [*numbers, *(1 / item for item in numbers)]

    def _shaped(self, proposal: TensorType, hint: Hint) -> TensorType:
        """Perhaps take a shape like that of a linked variable, or one that broadcasts to its own."""
        shape = proposal.static_shape or ()
        if hint.linked and self.rng.random() < self._borrows:
            model = self._models.get(self.rng.choice(hint.linked))
            if isinstance(model, TensorType) and model.dtype is proposal.dtype:
                return TensorType(proposal.dtype, self._form(model.static_shape or ()))
        if self.rng.random() < 0.1:
            return TensorType(proposal.dtype, self._coarse(shape))
        return proposal

    def _same(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def _suffix(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape[self.rng.randint(0, len(shape)) :]

    def _coarse(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        kept = [dim if self.rng.random() < 0.5 else 1 for dim in shape]
        while kept and kept[0] == 1 and self.rng.random() < 0.7:
            kept.pop(0)
        return tuple(kept)

    def _given(self, value: Known, forced: bool | None) -> Leaf:
        kind = value.type
        draw = self.rng.random()
        if draw < 0.7 and forced is not False:
            return Leaf(kind, value, Fact(kind, value, constant=True))
        return Leaf(kind, value, Fact(kind, None, draw < 0.85 if forced is None else forced))

    def _literal(self, kind: TensorType, hints: list[Any]) -> Known | None:
        rng = self.rng
        shape = kind.static_shape
        assert shape is not None
        if kind.dtype in (DType.STRING, DType.BFLOAT16, DType.FLOAT16):
            return None
        form = rng.random()
        if form < 0.4:
            shape = ()
        elif form < 0.55:
            shape = (1,) * rng.randrange(len(shape) + 3)
        if int(np.prod(shape)) > KNOWN_LIMIT:
            return None
        if hints and rng.random() < 0.85:
            array = np.full(shape, rng.choice(hints))
        elif rng.random() < 0.7:
            array = np.full(shape, rng.choice(_NUMBERS))
        else:
            array = np.reshape([rng.choice(_NUMBERS) for _ in range(int(np.prod(shape)))], shape)
        if kind.dtype in (DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64):
            array = np.abs(array)
        return Known.of(array, kind.dtype)

    def _abstract(self, name: str, kind: TensorType) -> TensorType:
        if self._symbols == "none":
            return kind
        if self._symbols == "rank" and self.rng.random() < 0.5:
            return TensorType(kind.dtype, None)
        dims: list[Dim] = []
        for axis, size in enumerate(kind.static_shape or ()):
            if self.rng.random() > self._share:
                dims.append(size)
                continue
            text = f"n{size}" if self._symbols == "value" else f"{name.replace('.', '_')}_{axis}"
            self.sizes[text] = size
            dims.append(symbol(text))
        return TensorType(kind.dtype, tuple(dims))
