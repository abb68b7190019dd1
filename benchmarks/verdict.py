"""Whether what an extraction chose is a solution, judged from the e-graph's file alone.

Shares no code with the extraction. `file` is the contents of an egraph-serialize file, `chosen` the
identifiers of the chosen nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

ROUNDING = Decimal(2) ** -23


def verdict(file: Mapping[str, Any], chosen: Sequence[str], cost: Decimal) -> str:
    """Return what is wrong with a solution that is said to have this cost, nothing if all is well."""
    nodes = file["nodes"]
    of_class: dict[str, str] = {}
    for name in chosen:
        if of_class.setdefault(nodes[name]["eclass"], name) != name:
            return f"class {nodes[name]['eclass']} is chosen twice"
    needs = {
        nodes[name]["eclass"]: {nodes[child]["eclass"] for child in nodes[name]["children"]}
        for name in chosen
    }
    needed = set(file["root_eclasses"]).union(*needs.values())
    if needed != set(of_class):
        return f"classes chosen or needed, not both: {sorted(needed ^ set(of_class))[:3]}"
    while needs:
        ready = {cls for cls, below in needs.items() if not below & needs.keys()}
        if not ready:
            return f"a cycle through class {min(needs)}"
        needs = {cls: below for cls, below in needs.items() if cls not in ready}
    total = sum((Decimal(str(nodes[name]["cost"])) for name in chosen), Decimal(0))
    # Costs are read in a unit that they are multiples of up to rounding in single precision.
    return "" if abs(total - cost) <= total * ROUNDING else f"the cost is {total}, not {cost}"
