"""Reports as plain values under stable keys, and their JSON files; no text for people."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from tensaur.egraph.record import Iteration
from tensaur.inspection import Inspection
from tensaur.output import write_beside
from tensaur.result import Result

# Version of the JSON report: raised when a key is renamed or removed, not when one is added.
SCHEMA = 1


def as_dict(result: Result) -> dict[str, Any]:
    """Return the report as plain values under stable keys."""
    return {
        "schema": SCHEMA,
        "kept_original": result.kept_original,
        "reason": result.reason,
        "speedup": plain(result.speedup),
        "speedup_interval": plain(result.speedup_interval),
        "latency_before_seconds": plain(result.latency_before),
        "latency_after_seconds": plain(result.latency_after),
        "cost_before": plain(result.cost_before),
        "cost_after": plain(result.cost_after),
        "cost_unit": result.cost_unit,
        "nodes_before": result.nodes_before,
        "nodes_after": result.nodes_after,
        "rewrites": plain(result.rewrites),
        "trusted": plain(result.trusted),
        "metrics": {
            "before": plain(result.metrics_before),
            "after": plain(result.metrics_after),
        },
        "limits": plain(result.limits),
        "advice": plain(result.advice),
        "stop": str(result.stop),
        "iterations": [_iteration(item) for item in result.records],
        "extraction": plain(result.extraction),
        "comparison": plain(result.comparison),
        "seconds": plain(result.seconds),
        "sizes": plain(result.sizes),
    }


def _iteration(record: Iteration) -> dict[str, Any]:
    """Return one round of exploration with the rules that found anything."""
    busy = tuple(rule for rule in record.rules if rule.matches)
    values: dict[str, Any] = plain(dataclasses.replace(record, rules=busy))
    return values


def inspection_dict(found: Inspection) -> dict[str, Any]:
    """Return an inspection as plain values; types are in Tensaur's text form."""
    return {
        "opset": found.opset,
        "inputs": [{"name": item.name, "type": str(item.type)} for item in found.inputs],
        "outputs": [{"name": item.name, "type": str(item.type)} for item in found.outputs],
        "parameters": found.parameters,
        "parameter_bytes": found.parameter_nbytes,
        "operators": plain(found.rows),
        "cost": found.cost,
        "cost_unit": found.cost_unit,
        "sizes": plain(found.sizes),
    }


def save_json(values: Mapping[str, Any], path: Path) -> None:
    """Write plain values to a JSON file, whole or not at all."""
    write_beside(path, (json.dumps(values, indent=2, allow_nan=False) + "\n").encode())


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold: records to objects, enumerations to names, NaN to null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [item.name for item in dataclasses.fields(value) if not item.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
