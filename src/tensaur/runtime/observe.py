"""The sizes that symbolic dimensions have in one run: read off the values of the model as it runs.

Data-dependent shapes and whatever shape inference cannot express are symbols of their own; guessing a
size for each would price operators on shapes that contradict each other. One run says what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tensaur.errors import RuntimeFailure
from tensaur.ir.dims import DimExpr, symbols
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Input
from tensaur.ir.types import TensorType, Type
from tensaur.runtime.choice import open_session
from tensaur.runtime.protocol import Feeds, InFolder, Model, Session, Settings


def observed_sizes(graph: Graph, original: Model, session: Session, feeds: Feeds) -> dict[str, int]:
    """Return a size for every symbol in the types of the graph's values.

    `original` is the model that the graph was read from, `session` the same opened. The inputs' symbols
    come from the feeds, those that are a whole dimension of some value from one run with these values
    as additional outputs. What remains are parts of broadcasts, where 1 leaves the size to the others.
    """
    sizes: dict[str, int] = {}
    for node in graph.nodes:
        if isinstance(node.op, Input) and node.op.name in feeds:
            _bind(sizes, node.op.type, feeds[node.op.name])
    wanted = {
        node.name: fact.type
        for node, fact in zip(graph.nodes, graph.facts, strict=True)
        if node.name and node.inputs and _lone_symbols(fact.type) - sizes.keys()
    }
    for name, value in _values(original, session, wanted, feeds).items():
        _bind(sizes, wanted[name], value)
    rest = {name for fact in graph.facts for name in _all_symbols(fact.type)} - sizes.keys()
    return {**dict.fromkeys(rest, 1), **sizes}


def _values(
    original: Model, session: Session, names: Iterable[str], feeds: Feeds
) -> Mapping[str, object]:
    import onnx  # noqa: PLC0415  # heavy: imported when used

    known = {port.name for port in session.outputs}
    extra = [name for name in names if name not in known]
    if not extra or not isinstance(original, onnx.ModelProto):
        return {name: value for name, value in session.run(feeds).items() if name in set(names)}
    model = onnx.ModelProto()
    model.CopyFrom(original)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
    try:
        # Unoptimised, so that no value is fused away and none moves into a blocked layout.
        probe = open_session(
            InFolder(model, _folder(session.model)),
            Settings(session.settings.threads, optimised=False),
        )
        return {name: value for name, value in probe.run(feeds).items() if name in set(names)}
    except RuntimeFailure:  # a size that stays unknown is priced at its default
        return {}


def _folder(model: Model) -> Path:
    """Return where the external data of an opened model are."""
    if isinstance(model, InFolder):
        return model.folder
    return Path(model).parent if isinstance(model, (str, Path)) else Path()


def _bind(sizes: dict[str, int], kind: Type, value: object) -> None:
    shape = getattr(value, "shape", None)
    if not isinstance(kind, TensorType) or kind.shape is None or shape is None:
        return
    if len(shape) != len(kind.shape):
        return
    for dim, size in zip(kind.shape, shape, strict=True):
        name = _lone(dim)
        if name is not None:
            sizes.setdefault(name, int(size))


def _lone_symbols(kind: Type) -> set[str]:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return set()
    return {name for dim in kind.shape if (name := _lone(dim)) is not None}


def _all_symbols(kind: Type) -> frozenset[str]:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return frozenset()
    return frozenset().union(*(symbols(dim) for dim in kind.shape))


def _lone(dim: object) -> str | None:
    if not isinstance(dim, DimExpr):
        return None
    names = symbols(dim)
    (name,) = names if len(names) == 1 else (None,)
    return name if name is not None and str(dim) == name else None
