"""The rewrite rules, by family; the family is the first part of each rule's name.

Each family lists its equations without the prefix; `ALL_RULES` holds them all with it.
"""

from __future__ import annotations

from dataclasses import replace

from tensaur.ir.rule import Rule
from tensaur.rules import activation, elementwise, layout, matmul, slicing

_FAMILIES = {
    "elementwise": elementwise.RULES,
    "activation": activation.RULES,
    "layout": layout.RULES,
    "matmul": matmul.RULES,
    "slicing": slicing.RULES,
}

ALL_RULES: tuple[Rule, ...] = tuple(
    replace(rule, name=f"{family}-{rule.name}")
    for family, rules in _FAMILIES.items()
    for rule in rules
)

__all__ = ["ALL_RULES"]
