"""Derived constants of the rule that writes LRN as a convolution: a band matrix over the channels."""

from __future__ import annotations

import numpy as np

from tensaur.ir.term import derived
from tensaur.ir.types import Fact, Known
from tensaur.rules.conditions import shape_of

# Beyond this many channels the band matrix is mostly zeros that cost more than they save.
_MOST_CHANNELS = 512


@derived
def band_weight(fact: Fact, size: int, alpha: float) -> Known:
    """The weight [C,C,1,1] that adds `size` neighbouring channels, each times alpha / size."""
    channels = _channels(fact)
    before = (size - 1) // 2
    distance = np.arange(channels)[None, :] - np.arange(channels)[:, None]
    band = (-before <= distance) & (distance <= size - 1 - before)
    weight = np.where(band, alpha / size, 0.0)[:, :, None, None]
    return Known.of(weight, fact.dtype)


@derived
def band_bias(fact: Fact, bias: float) -> Known:
    """The vector [C] of equal numbers."""
    return Known.of(np.full(_channels(fact), bias), fact.dtype)


def _channels(fact: Fact) -> int:
    channels = shape_of(fact)[1]
    if not isinstance(channels, int) or channels > _MOST_CHANNELS:
        raise ValueError("channels unknown or too many")
    return channels
