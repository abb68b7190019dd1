"""One function for tests and other people's test suites: the rewriting alone, on a model in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensaur.options import Options
from tensaur.pipeline import optimize

if TYPE_CHECKING:
    from onnx import ModelProto  # heavy: imported when used


def optimize_proto(model: ModelProto) -> ModelProto:
    """Return the rewritten model, without comparing or timing it: every rule admitted, bytes as cost."""
    options = Options(cost="bytes", math="rounding", gate=False, seconds=20.0)
    result: ModelProto = optimize(model, options=options).model
    return result
