"""The runtime that is used, and opening a model under it."""

from __future__ import annotations

from tensaur.runtime.ort.runtime import OnnxRuntime
from tensaur.runtime.protocol import Model, Runtime, Session, Settings

RUNTIME: Runtime = OnnxRuntime()


def open_session(model: Model, settings: Settings | None = None) -> Session:
    """Open a model; RuntimeFailure, in one line, if the runtime refuses it."""
    return RUNTIME.open(model, settings)
