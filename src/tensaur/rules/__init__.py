"""The rewrite rules, by family; the family is the first part of each rule's name.

Each family lists its equations without the prefix; `ALL_RULES` holds them all with it.
"""

from __future__ import annotations

from dataclasses import replace

from tensaur.ir.rule import Rule
from tensaur.rules import (
    activation,
    comparison,
    convolution,
    elementwise,
    kernels,
    layout,
    matmul,
    normalisation,
    pooling,
    reduction,
    slicing,
)

_FAMILIES = {
    "activation": activation.RULES,
    "comparison": comparison.RULES,
    "convolution": convolution.RULES,
    "elementwise": elementwise.RULES,
    "kernels": kernels.RULES,
    "layout": layout.RULES,
    "matmul": matmul.RULES,
    "normalisation": normalisation.RULES,
    "pooling": pooling.RULES,
    "reduction": reduction.RULES,
    "slicing": slicing.RULES,
}

ALL_RULES: tuple[Rule, ...] = tuple(
    replace(rule, name=f"{family}-{rule.name}")
    for family, rules in _FAMILIES.items()
    for rule in rules
)

__all__ = ["ALL_RULES"]
