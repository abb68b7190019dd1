"""Source: a model as it was read, with everything ONNX says beyond the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from onnx import ModelProto, OperatorSetIdProto

from tensaur.ir.graph import Graph

if TYPE_CHECKING:
    import onnx_ir  # heavy: imported when used

ONNX_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, eq=False)
class Source:
    """A model that was read: its graph, and the model itself, which is never changed.

    `proto` keeps the interface, documentation, metadata, functions and data that `write` copies.
    Locations of external data in it are relative to `folder`. `path` is None for models from memory.
    """

    graph: Graph
    proto: ModelProto
    opset: int
    path: Path | None
    folder: Path

    @cached_property
    def model(self) -> onnx_ir.Model:
        """Return the source as an onnx_ir model."""
        return to_ir(self.proto, self)


def to_ir(proto: ModelProto, source: Source) -> onnx_ir.Model:
    """Return a model as onnx_ir holds it, with external data found in the source's folder."""
    import onnx_ir  # noqa: PLC0415  # heavy: imported when used
    from onnx_ir.external_data import set_base_dir  # noqa: PLC0415  # the same

    model = onnx_ir.from_proto(proto)
    set_base_dir(model.graph, source.folder)
    return model


def opset_of(imports: Iterable[OperatorSetIdProto], domain: str) -> int:
    """Return the version of a domain that is imported, 0 if it is not."""
    names = ONNX_DOMAINS if domain in ONNX_DOMAINS else (domain,)
    return max((item.version for item in imports if item.domain in names), default=0)


def model_opset(model: ModelProto) -> int:
    """Return the version of the ONNX domain that a model is written in."""
    # Models of the first two IR versions name no opset; they mean the first.
    return 1 if model.ir_version < 3 else opset_of(model.opset_import, "")
