"""`OnnxRuntime`: what the protocol asks for, each part from the module that does it."""

from __future__ import annotations

from tensaur.runtime.ort.session import OrtSession, open_session, version
from tensaur.runtime.protocol import Model, Settings


class OnnxRuntime:
    """ONNX Runtime with its CPU execution provider."""

    @property
    def name(self) -> str:
        """Return name and version, as they key measured costs."""
        return f"onnxruntime {version()}"

    def open(self, model: Model, settings: Settings | None = None) -> OrtSession:
        """Open a model; RuntimeFailure, in one line, if the runtime refuses it."""
        return open_session(model, settings)
