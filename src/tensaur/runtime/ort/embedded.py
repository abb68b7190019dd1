"""Opening a small model as it runs inside a larger one: without changes of layout at its edges.

Between convolutions and poolings ONNX Runtime keeps pictures in a blocked layout (NCHWc). Alone, each of
them pays for a ReorderInput and a ReorderOutput that it does not have between its like, and sums are not
fused whose summand is not blocked. So every picture that is read is made by a convolution; what the
runtime makes of all that is cut behind these convolutions and before the last change of layout, and the
rest opened as it stands.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from tensaur.runtime.ort.blocked import DOMAIN, REORDERS, SUM
from tensaur.runtime.ort.dump import dumped, given_model, unpacked
from tensaur.runtime.ort.session import OrtSession, open_session
from tensaur.runtime.protocol import Model, Settings

# Operators on pictures that have blocked kernels of their own; others only follow them.
_BLOCKED = frozenset(["Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"])
_RANK = 4
# Channels that the convolutions before the model read: a multiple of every processor's block.
_CHANNELS = 16
_READ, _WINDOWS = ".read", ".windows"


def open_embedded(model: Model, settings: Settings) -> OrtSession:
    """Open a model whose inputs come, and whose outputs go, in the layouts that its kernels work in.

    Names and shapes of inputs and outputs are then those of the session, not of the model.
    RuntimeFailure if the runtime refuses the model.
    """
    given = given_model(model)
    pictures = [item for item in given.graph.input if _is_picture(item)]
    if not pictures or not any(node.op_type in _BLOCKED for node in given.graph.node):
        return open_session(model, settings)
    with dumped(_continued(given, pictures), settings, unpacked) as dump:
        if not any(node.op_type in REORDERS for node in dump.graph.node):
            return open_session(model, settings)
        whole = dump.whole()
    cut = _Cut(whole.graph, {item.name: _dims(item) for item in pictures})
    cut.run()
    session = open_session(whole, Settings(settings.threads, optimised=False))
    return replace(session, overwritten=cut.overwritten())


def _is_picture(value: Any) -> bool:
    import onnx  # noqa: PLC0415  # heavy: imported when used

    kind = value.type.tensor_type
    static = all(dim.HasField("dim_value") for dim in kind.shape.dim)
    return kind.elem_type == onnx.TensorProto.FLOAT and len(kind.shape.dim) == _RANK and static


def _dims(value: Any) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _continued(given: Any, pictures: list[Any]) -> Any:
    """Return the model with a convolution before every picture that it reads.

    What the convolution makes is an output too, so that it joins no other kernel.
    """
    import numpy as np  # noqa: PLC0415
    from onnx import ModelProto, TensorProto, helper, numpy_helper  # noqa: PLC0415

    result = ModelProto()
    result.CopyFrom(given)
    graph = result.graph
    nodes = list(graph.node)
    del graph.node[:]
    for item in pictures:
        batch, channels, *sides = _dims(item)
        windows = np.ones((channels, _CHANNELS, 1, 1), np.float32)
        names = [item.name + _READ, item.name + _WINDOWS]
        graph.initializer.append(numpy_helper.from_array(windows, names[1]))
        graph.node.append(helper.make_node("Conv", names, [item.name]))
        graph.output.append(item)
        read = (batch, _CHANNELS, *sides)
        graph.input.append(helper.make_tensor_value_info(names[0], TensorProto.FLOAT, read))
    kept = [item for item in graph.input if item.name not in {one.name for one in pictures}]
    del graph.input[:]
    graph.input.extend(kept)
    graph.node.extend(nodes)
    return result


def _adds(node: Any) -> bool:
    return node.domain == DOMAIN and len(node.input) > SUM and bool(node.input[SUM])


@dataclass
class _Cut:
    """Takes the convolutions before a model, and the changes of layout around it, off a graph.

    `dims` are the shapes of the pictures read; `made` the node that makes each value, `edges` the values
    that become inputs, with their shapes.
    """

    graph: Any
    dims: dict[str, tuple[int, ...]]
    made: dict[str, Any] = field(default_factory=dict)
    edges: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def run(self) -> None:
        graph = self.graph
        self.made = {name: node for node in graph.node for name in node.output if name}
        channels = {item.name: item.dims[0] for item in graph.initializer}
        self._find_edges(channels)
        returned = [self._inner(item.name) for item in graph.output if item.name not in self.dims]
        needed = self._needed(returned)
        self._keep(needed, returned)

    def overwritten(self) -> dict[str, str]:
        """Return the outputs that a kernel adds to what it reads, by the input that it writes over.

        A blocked convolution with a summand has it copied first if it may not write over it; inside a
        network it is hardly ever read once more.
        """
        nodes = self.graph.node
        reads = Counter(name for node in nodes for name in node.input)
        sums = Counter(node.input[SUM] for node in nodes if _adds(node))
        return {
            item.name: node.input[SUM]
            for item in self.graph.output
            if _adds(node := self.made[item.name])
            and node.input[SUM] in self.edges
            and reads[node.input[SUM]] == sums[node.input[SUM]]
        }

    def _find_edges(self, channels: dict[str, int]) -> None:
        before = {name + _READ: dims for name, dims in self.dims.items()}
        for node in self.graph.node:
            if node.op_type == "ReorderInput" and node.input[0] in before:
                before[node.output[0]] = before[node.input[0]]
        for node in self.graph.node:
            if node.op_type == "Conv" and node.input[0] in before:
                batch, _, *sides = before[node.input[0]]
                # A blocked convolution makes whole blocks: its windows say how many channels.
                self.edges[node.output[0]] = (batch, channels[node.input[1]], *sides)
        self.edges |= {
            node.output[0]: self.dims[node.output[0]]
            for node in self.graph.node
            if node.op_type == "ReorderOutput" and node.output[0] in self.dims
        }

    def _inner(self, value: str) -> str:
        """Return what a value is before the change of layout that ends the model."""
        node = self.made.get(value)
        return node.input[0] if node is not None and node.op_type == "ReorderOutput" else value

    def _needed(self, values: list[str]) -> set[str]:
        found: set[str] = set()
        stack = list(values)
        while stack:
            value = stack.pop()
            if value in found or not value:
                continue
            found.add(value)
            if value in self.made and value not in self.edges:
                stack += self.made[value].input
        return found

    def _keep(self, needed: set[str], returned: list[str]) -> None:
        from onnx import TensorProto, ValueInfoProto, helper  # noqa: PLC0415

        graph = self.graph
        inner = needed - self.edges.keys()
        nodes = [node for node in graph.node if not inner.isdisjoint(node.output)]
        inputs = [item for item in graph.input if item.name in needed]
        inputs += [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
            for name, dims in self.edges.items()
            if name in needed
        ]
        kinds = {item.name: item.type for item in graph.output}
        stored = [item for item in graph.initializer if item.name in needed]
        del graph.node[:], graph.input[:], graph.initializer[:], graph.value_info[:]
        graph.node.extend(nodes)
        graph.input.extend(inputs)
        graph.initializer.extend(stored)
        outputs = [item for item in graph.output if item.name not in self.dims]
        del graph.output[:]
        for name, item in zip(returned, outputs, strict=True):
            value = ValueInfoProto(name=name, type=kinds[item.name])
            if name != item.name:  # whole blocks of channels
                value.type.tensor_type.ClearField("shape")
            graph.output.append(value)
