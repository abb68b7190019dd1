"""`tensaur.optimize` as Python programs call it: options as keywords."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensaur import pipeline
from tensaur.options import Options
from tensaur.result import Result


def optimize(
    model: Any, *, progress: Callable[[str], None] | None = None, **options: Any
) -> Result:
    """Return an equivalent model that is faster on this machine, or the original, and why.

    `model` is a path, an `onnx.ModelProto` or an `onnx_ir.Model`; `options` are the fields of
    `Options`; `progress` is called with a line for each phase. UsageError: an option makes no sense;
    ModelError: the model is refused.
    """
    return pipeline.optimize(model, options=Options(**options), progress=progress)
