"""The memory that running a graph takes at its peak, from when each value is made and last read.

An approximation on paper, with constants counted once. Values live from their operator to their last
reader, operators run in the order of the graph; a view shares its input's memory, an elementwise operator
writes over an input of the same size that nothing else reads any more, as ONNX Runtime does. What kernels
take for themselves while they run, and what the runtime's allocator keeps in reserve, is not counted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tensaur.cost.model import is_view
from tensaur.cost.sizes import Sizes, dim_size, static_type
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Input, Project, type_nbytes
from tensaur.ir.types import TupleType, Type
from tensaur.ops.elementwise import Elementwise


@dataclass
class _Buffers:
    """Memory that values live in: bytes of each buffer, and where in the order it is read last.

    `of` holds the buffers of each node's value, `owned` those that the node itself takes.
    """

    nbytes: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    of: dict[int, tuple[int, ...]] = field(default_factory=dict)
    owned: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def take(self, place: int, kinds: tuple[Type, ...], sizes: Sizes) -> tuple[int, ...]:
        """Return new buffers for values of these types, made at a place."""
        first = len(self.nbytes)
        self.nbytes += [type_size(kind, sizes) for kind in kinds]
        self.end += [place] * len(kinds)
        self.owned[place] = list(range(first, len(self.nbytes)))
        return tuple(self.owned[place])


def peak_memory(graph: Graph, sizes: Sizes) -> int:
    """Return the bytes of inputs and constants, and of all other values at the worst moment."""
    order = sorted(graph.live())
    buffers = _buffers(graph, order, sizes)
    now = most = 0
    ending: defaultdict[int, set[int]] = defaultdict(set)
    for buffer, end in enumerate(buffers.end):
        ending[end].add(buffer)
    for place in order:
        for buffer in buffers.owned[place]:
            reused = _overwritten(graph, place, buffer, buffers, ending[place])
            if reused is None:
                now += buffers.nbytes[buffer]
            else:
                ending[place].remove(reused)
        most = max(most, now)
        now -= sum(buffers.nbytes[buffer] for buffer in ending[place])
    return most + sum(_lasting(graph, place, sizes) for place in order)


def type_size(kind: Type, sizes: Sizes) -> int:
    """Return the bytes of a value at the given sizes, 0 if its rank is not known."""
    return dim_size(type_nbytes(static_type(kind, sizes)), sizes)


def _stays(graph: Graph, place: int) -> bool:
    """Tell whether a value is there for the whole run: an input, or computed before the run."""
    return graph.facts[place].constant or isinstance(graph.nodes[place].op, Input)


def _lasting(graph: Graph, place: int, sizes: Sizes) -> int:
    """Return the bytes of an input, or of a constant that the run itself reads or returns."""
    if not _stays(graph, place):
        return 0
    used = any(not graph.facts[user].constant for user in graph.users[place])
    returned = any(item.node == place for item in graph.outputs)
    is_input = isinstance(graph.nodes[place].op, Input)
    return type_size(graph.facts[place].type, sizes) if used or returned or is_input else 0


def _buffers(graph: Graph, order: list[int], sizes: Sizes) -> _Buffers:
    found = _Buffers()
    for place in order:
        node = graph.nodes[place]
        for item in node.inputs:
            for buffer in found.of[item]:
                found.end[buffer] = place
        kind = graph.facts[place].type
        if _stays(graph, place):
            found.of[place] = ()
        elif isinstance(node.op, Project):
            found.of[place] = found.of[node.inputs[0]][node.op.index : node.op.index + 1]
        elif is_view(node.op):
            found.of[place] = found.of[node.inputs[0]]
        else:
            kinds = kind.items if isinstance(kind, TupleType) else (kind,)
            found.of[place] = found.take(place, kinds, sizes)
    for output in graph.outputs:
        for buffer in found.of[output.node]:
            found.end[buffer] = len(graph.nodes)
    return found


def _overwritten(
    graph: Graph, place: int, buffer: int, buffers: _Buffers, ending: set[int]
) -> int | None:
    """Return the input's buffer that an elementwise operator may write its result into."""
    node = graph.nodes[place]
    if not isinstance(node.op, Elementwise):
        return None
    for item in node.inputs:
        for read in buffers.of[item]:
            if read in ending and buffers.nbytes[read] == buffers.nbytes[buffer]:
                return read
    return None
