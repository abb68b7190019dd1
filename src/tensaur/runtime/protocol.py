"""What Tensaur asks of a runtime: open and run models, and say what it computes together, for how long.

Protocols and plain data alone: `ort` has the implementation for ONNX Runtime on the CPU, `choice` the
runtime that is used. Nothing outside an implementation's package knows which runtime it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tensaur.ir.types import DType

# A ModelProto, a serialised model, a path, or either of the first two as `InFolder`.
Model = Any
# An array, or nested lists and dictionaries of arrays for sequences and maps.
Value = Any
Feeds = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class InFolder:
    """A model in memory, or a path, some of whose tensors are in files of another folder."""

    model: Any
    folder: Path


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is opened: threads, whether the runtime may rewrite it, and what it may not do.

    `without` names optimisations of the runtime that are left out.
    """

    threads: int = 1
    optimised: bool = True
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a model: name, the runtime's type text, element type, dimensions.

    A dimension is a size or a name; one without a name in the file is called ``?<port>.<axis>``, as
    when Tensaur reads the model.
    `dtype` is None for what is not a tensor.
    """

    name: str
    kind: str
    dtype: DType | None
    dims: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the runtime runs at once: the operators of a model that it computes, and for how long.

    `kind` is the runtime's own name for it. `computes` names the values of the model that those operators
    make, in order of computation; the last is what the kernel returns (of several values that one operator
    makes, the first is named). It is empty for what the runtime has added (copies, changes of layout);
    `carries` then names the model's value that it brings into another form, if there is one.
    What the runtime runs as several kernels is named by each of them. `seconds` are those of one run, 0 if it was not timed.
    """

    kind: str
    computes: tuple[str, ...]
    seconds: float = 0.0
    carries: str = ""


class Session(Protocol):
    """An open model; `model` and `settings` are kept so that it can be opened again."""

    @property
    def model(self) -> Model:
        """Return what was opened."""

    @property
    def settings(self) -> Settings:
        """Return how it was opened."""

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Return the inputs that have to be given."""

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Return the outputs."""

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """Run once and return the outputs by name; RuntimeFailure if the runtime refuses."""

    def runner(self, feeds: Feeds) -> Callable[[], None]:
        """Return a function that runs once on these inputs, with as little around the run as possible."""

    def reopened(self, settings: Settings | None = None) -> Session:
        """Open the same model once more, by default with the same settings."""


class Runtime(Protocol):
    """A program that runs models on this machine."""

    @property
    def name(self) -> str:
        """Return name and version, as they key measured costs."""

    def open(self, model: Model, settings: Settings | None = None) -> Session:
        """Open a model; RuntimeFailure, in one line, if the runtime refuses it."""

    def open_embedded(self, model: Model, settings: Settings | None = None) -> Session:
        """Open a model as it runs inside a larger one, between operators of its kind.

        Its inputs come, and its outputs go, in the layouts that the runtime's kernels work in; names and
        shapes are those of the session, not of the model. RuntimeFailure if the runtime refuses it.
        """

    def kernels(self, model: Model, settings: Settings | None = None) -> tuple[Kernel, ...]:
        """Return what the runtime would run, in order; RuntimeFailure if it refuses the model.

        Operators of the given model that no kernel names are computed before run time, or not at all.
        """

    def profile(
        self, model: Model, feeds: Feeds, settings: Settings | None = None, seconds: float = 1.0
    ) -> tuple[Kernel, ...]:
        """Return the same with seconds, which add up to those of an undisturbed run on these inputs."""

    def switches(
        self, model: Model, settings: Settings | None = None, seconds: float = math.inf
    ) -> tuple[tuple[str, ...], ...]:
        """Return the optimisations of the runtime without which it would run other kernels.

        Each is given by all names that it goes by, as in `Settings.without`. What is not found out
        within about `seconds` is left out.
        """

    def recipe(self, without: tuple[str, ...]) -> str:
        """Return what a user sets in a session's options to leave these optimisations out."""
