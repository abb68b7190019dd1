"""`OnnxRuntime`: what the protocol asks for, each part from the module that does it."""

from __future__ import annotations

import math

from tensaur.runtime.ort.embedded import open_embedded
from tensaur.runtime.ort.kernels import kernels, profile
from tensaur.runtime.ort.session import OrtSession, open_session, version
from tensaur.runtime.ort.switches import switches
from tensaur.runtime.protocol import Feeds, Kernel, Model, Settings


class OnnxRuntime:
    """ONNX Runtime with its CPU execution provider."""

    @property
    def name(self) -> str:
        """Return name and version, as they key measured costs."""
        return f"onnxruntime {version()}"

    def open(self, model: Model, settings: Settings | None = None) -> OrtSession:
        """Open a model; RuntimeFailure, in one line, if the runtime refuses it."""
        return open_session(model, settings)

    def open_embedded(self, model: Model, settings: Settings | None = None) -> OrtSession:
        """Open a model as it runs inside a larger one: without changes of layout at its edges."""
        return open_embedded(model, settings or Settings())

    def kernels(self, model: Model, settings: Settings | None = None) -> tuple[Kernel, ...]:
        """Return what the runtime would run, in order; RuntimeFailure if it refuses the model."""
        return kernels(model, settings or Settings())

    def profile(
        self, model: Model, feeds: Feeds, settings: Settings | None = None, seconds: float = 1.0
    ) -> tuple[Kernel, ...]:
        """Return the same with seconds, which add up to those of an undisturbed run on these inputs."""
        return profile(model, feeds, settings or Settings(), seconds)

    def switches(
        self, model: Model, settings: Settings | None = None, seconds: float = math.inf
    ) -> tuple[tuple[str, ...], ...]:
        """Return the optimisations without which the runtime would run other kernels."""
        return switches(model, settings or Settings(), seconds)

    def recipe(self, without: tuple[str, ...]) -> str:
        """Return what a user sets in a session's options to leave these optimisations out."""
        names = ";".join(without)
        option = "optimization.disable_specified_optimizers"
        return f'SessionOptions.add_session_config_entry("{option}", "{names}")'
