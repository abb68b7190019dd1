"""Which operators the runtime computes together, so that extraction prices them together.

The runtime is asked: operators are fused if it runs fewer kernels for all of them than for the parts
apart. What it does depends on the kind of a group (operators, attributes, wiring, ranks, element types,
which sizes are 1 or equal, scalars), hardly on sizes; so a kind is asked about once, at small sizes, and
the store keeps the answer. Many kinds are asked about at once, as one model whose parts have nothing to
do with each other. What there is no time to ask is as `listed` says.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tensaur.cost.canonical import Canonical, Unpriceable, canonical
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.query import Fuses, Joint, Query, never
from tensaur.cost.single import RandomData
from tensaur.cost.sizes import Sizes, static_fact
from tensaur.cost.store import Store
from tensaur.errors import RuntimeFailure, TensaurError, TypeMismatch
from tensaur.ir.graph import Graph, GraphBuilder, Node, Output
from tensaur.ir.operator import Input, Operator, Weight, type_nbytes
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.onnx_io import Source
from tensaur.ops import (
    Add,
    BatchNormalization,
    Clip,
    Conv,
    Div,
    Gelu,
    Gemm,
    HardSigmoid,
    LayerNormalization,
    LeakyRelu,
    MatMul,
    Mul,
    Relu,
    Sigmoid,
    Sub,
    Tanh,
    Transpose,
)
from tensaur.runtime.build import model_of, original_of
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Kernel, Runtime, Settings
from tensaur.runtime.stopwatch import Clock

# Sizes up to this are kept (windows, groups), larger ones become small ones like them: multiples of the
# channels in a block others, and what is no multiple no multiple.
_KEPT, _BLOCK = 8, 16
# What has larger weights even so is not asked about.
_MOST_NBYTES = 1 << 22
# Kinds in one model: enough to share what opening a model costs, few enough to keep to a time limit.
_BATCH = 64
# Stands before what a convolution, or a sum with it, reads: inside networks that comes from another
# kernel in the same layout, without which the runtime leaves some sums alone. Its value is returned too,
# so that it joins no other kernel.
_BEFORE, _MARK = Conv(strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1)), ".before"
# Stored for what the runtime refuses or cannot be asked.
_REFUSED = -1

_ACTIVATIONS = (Relu, Sigmoid, Tanh, LeakyRelu, Clip, HardSigmoid)
_AFFINE = (Add, Mul, Sub, Div, BatchNormalization)

# Producer classes and the consumer classes that are computed with them.
_PAIRS: tuple[tuple[tuple[type[Operator], ...], tuple[type[Operator], ...]], ...] = (
    ((Conv,), (*_ACTIVATIONS, *_AFFINE)),
    ((Gemm,), _ACTIVATIONS),
    ((MatMul,), (Add, Mul, Div)),
    ((Transpose,), (MatMul,)),
    ((Add,), (LayerNormalization, Gelu)),
)


def listed(inner: Sequence[Operator], outer: Operator) -> bool:
    """Tell whether runtimes usually compute `outer` with the group `inner` that makes its input.

    The list follows ONNX Runtime's graph transformers: activation and affine fusion into Conv and Gemm,
    residual Add, MatMul with Add, with a scalar factor or a transposed operand, bias and skip additions
    before Gelu and LayerNormalization.
    """
    first, last = inner[0], inner[-1]
    if len(inner) == 1:
        return any(
            isinstance(first, makers) and isinstance(outer, users) for makers, users in _PAIRS
        )
    return (
        isinstance(first, (Conv, MatMul))
        and isinstance(last, _AFFINE)
        and isinstance(outer, (*_ACTIVATIONS, *_AFFINE, LayerNormalization))
    )


def together(kernels: Sequence[Kernel]) -> list[tuple[str, ...]]:
    """Return the values of a model that a runtime makes with one kernel, where they are several.

    Of operators that become several kernels, nothing is said.
    """
    makers = Counter(name for kernel in kernels for name in kernel.computes)
    return [
        kernel.computes
        for kernel in kernels
        if len(kernel.computes) > 1 and all(makers[name] == 1 for name in kernel.computes)
    ]


@dataclass(frozen=True, slots=True)
class Fused:
    """What the runtime computes together: in general, and of one model (names of its values)."""

    fuses: Fuses = never
    together: Sequence[Sequence[str]] = ()


def ask(measured: MeasuredCost | None, source: Source | None, settings: Settings) -> Fused:
    """Ask the runtime that measured prices are of; without those, nothing is computed together.

    Without a source, or with one that the runtime refuses, only the general is answered.
    """
    if measured is None:
        return Fused()
    fuses = Fusions(RUNTIME, measured.store, measured.opsets, measured.sizes)
    if source is None:
        return Fused(fuses)
    try:
        return Fused(fuses, together(RUNTIME.kernels(original_of(source), settings)))
    except RuntimeFailure:
        return Fused(fuses)


@dataclass
class Fusions:
    """Asks a runtime which groups it computes together, and remembers what it answered.

    `seconds` bounds the time for asking, over all calls.
    """

    runtime: Runtime
    store: Store
    opsets: Mapping[str, int]
    sizes: Sizes = field(default_factory=dict)
    seconds: float = 2.0
    clock: Clock = time.perf_counter
    spent: float = 0.0
    _kinds: dict[Query, Canonical | None] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._counts = self.store.kernels(self.runtime.name)

    def __call__(self, joints: Sequence[Joint]) -> list[bool]:
        """Tell of each joint whether the runtime computes its parts together."""
        usual = [listed(joint.inner.ops, joint.outer.ops[-1]) for joint in joints]
        first = sorted(range(len(joints)), key=lambda number: not usual[number])
        self._ask(
            query
            for number in first
            for query in (joints[number].whole, joints[number].inner, joints[number].outer)
        )
        return [self._fused(joint, known) for joint, known in zip(joints, usual, strict=True)]

    def _fused(self, joint: Joint, usual: bool) -> bool:
        counts = [self._count(item) for item in (joint.whole, joint.inner, joint.outer)]
        if any(count is None or count == _REFUSED for count in counts):
            return usual
        whole, inner, outer = (count or 0 for count in counts)
        # What needs no kernel at all, such as the shape of a result, is not computed but known.
        return 0 < whole < inner + outer

    def _count(self, query: Query) -> int | None:
        item = self._kind(query)
        return _REFUSED if item is None else self._counts.get(item.signature)

    def _ask(self, queries: Iterable[Query]) -> None:
        begin = self.clock()
        waiting: dict[str, Graph] = {}
        for query in queries:
            item = self._kind(query)
            if item is not None and item.signature not in self._counts:
                waiting[item.signature] = item.graph
        kinds = list(waiting)
        for start in range(0, len(kinds), _BATCH):
            if self.spent + self.clock() - begin > self.seconds:
                break
            some = kinds[start : start + _BATCH]
            found = dict(zip(some, self._kernels([waiting[kind] for kind in some]), strict=True))
            self._counts |= found
            self.store.put_kernels(self.runtime.name, found)
        if kinds:
            self.spent += self.clock() - begin

    def _kernels(self, graphs: Sequence[Graph]) -> list[int]:
        """Return how many kernels each graph comes to; one that is refused is found by halving."""
        try:
            kernels = self.runtime.kernels(model_of(_side_by_side(graphs), self.opsets))
        except (RuntimeFailure, TensaurError):
            if len(graphs) == 1:
                return [_REFUSED]
            half = len(graphs) // 2
            return self._kernels(graphs[:half]) + self._kernels(graphs[half:])
        counts = Counter(map(_graph_of, kernels))
        return [counts[number] for number in range(len(graphs))]

    def _kind(self, query: Query) -> Canonical | None:
        """Return the smallest representative of a group's kind, None if it cannot be asked about."""
        if query not in self._kinds:
            self._kinds[query] = self._representative(query)
        return self._kinds[query]

    def _representative(self, query: Query) -> Canonical | None:
        facts = tuple(static_fact(fact, self.sizes) for fact in query.facts)
        for some in (_small(facts), facts):
            graph = replace(query, facts=some).graph()
            try:
                # Some operators need the sizes that they have, or do nothing at others.
                if _changes(graph) != _changes(replace(query, facts=facts).graph()):
                    continue
                item = canonical(graph, {})
            except (Unpriceable, TypeMismatch):
                continue
            if _weight_nbytes(item.graph) <= _MOST_NBYTES:
                opsets = ",".join(
                    f"{name}:{number}" for name, number in sorted(self.opsets.items())
                )
                return replace(item, signature=f"{item.signature} @{opsets}")
        return None


def _changes(graph: Graph) -> list[tuple[bool, bool]]:
    """Return of each operator whether its result has the shape of its first input, and no elements."""
    shapes = [_dims(fact) for fact in graph.facts]
    return [
        (shapes[place] == shapes[node.inputs[0]], 0 in shapes[place])
        for place, node in enumerate(graph.nodes)
        if node.inputs
    ]


def _small(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return facts with small sizes: equal ones equal, and multiples of 16 multiples of 16."""
    dims = sorted({dim for fact in facts for dim in _dims(fact) if dim > _KEPT})
    even = [dim for dim in dims if dim % _BLOCK == 0]
    odd = [dim for dim in dims if dim % _BLOCK]
    small = {dim: _BLOCK * place for place, dim in enumerate(even, start=2)}
    small |= {dim: 2 * place + 1 for place, dim in enumerate(odd, start=_KEPT)}
    return tuple(
        replace(
            fact, type=TensorType(fact.dtype, tuple(small.get(dim, dim) for dim in _dims(fact)))
        )
        if _dims(fact) and fact.value is None
        else fact
        for fact in facts
    )


def _dims(fact: Fact) -> tuple[int, ...]:
    shape = fact.type.static_shape if isinstance(fact.type, TensorType) else None
    return shape or ()


def _weight_nbytes(graph: Graph) -> float:
    sizes = [type_nbytes(node.op.type) for node in graph.nodes if isinstance(node.op, Weight)]
    return sum(size if isinstance(size, int) else math.inf for size in sizes)


def _side_by_side(graphs: Sequence[Graph]) -> Graph:
    """Return one graph of several that share nothing; names begin with the number of their graph."""
    builder = GraphBuilder()
    outputs = []
    for number, graph in enumerate(graphs):
        place: list[int] = []
        convolves = any(isinstance(node.op, Conv) for node in graph.nodes)
        for node in graph.nodes:
            op, name = node.op, f"{number}.{node.name}"
            if isinstance(op, (Input, Weight)):
                op = replace(op, name=name)
            if isinstance(op, Weight):
                builder.constants[name] = RandomData(op.type, 1, len(builder.nodes))
            place.append(len(builder.nodes))
            # Equal literals of different graphs stay apart.
            builder.nodes.append(Node(op, tuple(place[item] for item in node.inputs), name))
            if convolves and isinstance(op, Input) and _is_picture(op):
                place[-1] = _convolve(builder, name)
                outputs.append(Output(name + _MARK, place[-1]))
        outputs += [Output(f"{number}.{item.name}", place[item.node]) for item in graph.outputs]
    return builder.build(outputs)


def _is_picture(op: Input) -> bool:
    return isinstance(op.type, TensorType) and op.type.rank == 4 and op.type.dtype is DType.FLOAT32


def _convolve(builder: GraphBuilder, name: str) -> int:
    """Replace the input added last by a convolution that makes a value of its type."""
    op = builder.nodes.pop().op
    assert isinstance(op, Input)
    batch, channels, *sides = _dims(Fact(op.type))
    read = TensorType(DType.FLOAT32, (batch, _BLOCK, *sides))
    windows = TensorType(DType.FLOAT32, (channels, _BLOCK, 1, 1))
    weight = f"{name}.weight"
    builder.constants[weight] = RandomData(windows, 1, len(builder.nodes))
    start = len(builder.nodes)
    builder.nodes += [
        Node(replace(op, type=read), (), name),
        Node(Weight(weight, windows), (), weight),
        Node(_BEFORE, (start, start + 1), name + _MARK),
    ]
    return start + 2


def _graph_of(kernel: Kernel) -> int | None:
    """Return the number of the graph that a kernel belongs to, None for what stands before it."""
    name = kernel.computes[-1] if kernel.computes else _MARK
    return None if name.endswith(_MARK) else int(name.split(".", 1)[0])
