"""The graph that ONNX Runtime makes of a model, read back from the file that it writes on request."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensaur.errors import RuntimeFailure
from tensaur.runtime.ort.session import OrtSession, open_session
from tensaur.runtime.protocol import InFolder, Model, Settings

_MODEL, _WEIGHTS = "model.onnx", "weights.bin"
# Initialisers above this are written beside the graph, which so stays below protobuf's 2 GB.
_INSIDE_NBYTES = "1024"

# Graph transformers up to this level keep the names of values; the layout ones above it do not.
NAMING_LEVEL = "ORT_ENABLE_EXTENDED"


@dataclass(frozen=True, slots=True)
class Dump:
    """The session that was opened, the GraphProto of what it runs, without large initialisers, and its file."""

    session: OrtSession
    graph: Any
    path: Path

    def whole(self) -> Any:
        """Return the ModelProto of what the session runs, with all data."""
        import onnx  # noqa: PLC0415  # heavy: imported when used

        return onnx.load(str(self.path))


def optimised_graph(model: Model, settings: Settings, level: str = "") -> Any:
    """Return the GraphProto of what the runtime would run, large initialisers left out.

    `level` names one of the runtime's levels of optimisation, the settings' own if empty.
    RuntimeFailure if the runtime refuses the model or cannot write what it made of it.
    """

    def prepare(options: Any) -> None:
        if level:
            levels = type(options.graph_optimization_level)
            options.graph_optimization_level = getattr(levels, level)
        unpacked(options)

    with dumped(model, settings, prepare) as dump:
        return dump.graph


def unpacked(options: Any) -> None:
    """Have weights left as they are: packing them for the kernels takes most of the time of opening."""
    options.add_session_config_entry("session.disable_prepacking", "1")


@contextmanager
def dumped(model: Model, settings: Settings, prepare: Any) -> Iterator[Dump]:
    """Open a model and read what became of it; the temporary folder is there until the end."""
    with tempfile.TemporaryDirectory(prefix="tensaur-") as folder:

        def prepare_all(options: Any) -> None:
            options.optimized_model_filepath = str(Path(folder) / _MODEL)
            option = "session.optimized_model_external_initializers"
            options.add_session_config_entry(f"{option}_file_name", _WEIGHTS)
            options.add_session_config_entry(f"{option}_min_size_in_bytes", _INSIDE_NBYTES)
            # The profiler's file, if there is one, goes the same way.
            options.profile_file_prefix = str(Path(folder) / "profile")
            prepare(options)

        session = open_session(model, settings, prepare_all)
        path = Path(folder) / _MODEL
        yield Dump(session, _model_in(path).graph, path)


def given_model(model: Model) -> Any:
    """Return the ModelProto of a model as it was given; data in other files stay there."""
    import onnx  # noqa: PLC0415  # heavy: imported when used

    if isinstance(model, InFolder):
        return given_model(model.model)
    if isinstance(model, (bytes, bytearray)):
        return onnx.ModelProto.FromString(bytes(model))
    if isinstance(model, onnx.ModelProto):
        return model
    return _model_in(Path(model))


def _model_in(path: Path) -> Any:
    import onnx  # noqa: PLC0415  # heavy: imported when used

    try:
        return onnx.load(str(path), load_external_data=False)
    except Exception as error:
        raise RuntimeFailure(f"{path.name}: cannot be read: {error}") from error
