"""Random small graphs for tests of the whole: forwards over common forms, backwards over every operator.

Also the ways from a graph to a model with named dimensions, and the search for equal behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper

from tensaur import onnx_io, ops
from tensaur.errors import TypeMismatch
from tensaur.ir.dims import symbol
from tensaur.ir.graph import ArrayData, Graph, GraphBuilder, Output
from tensaur.ir.operator import (
    Absent,
    Input,
    Literal,
    Opaque,
    Operator,
    Project,
    Weight,
    infer_fact,
    is_small,
)
from tensaur.ir.rule import Rule
from tensaur.ir.term import Tree, Var
from tensaur.ir.types import DType, Fact, Known, TensorType, TupleType
from tensaur.onnx_io.source import Source
from tensaur.onnx_io.types import elem_type_of
from tensaur.synth.instances import Instance, InstanceSampler

BATCH = symbol("N")
OPSET = 20
_SMOOTH = (
    ops.Neg, ops.Abs, ops.Exp, ops.Erf, ops.Sin, ops.Cos, ops.Relu, ops.Sigmoid, ops.Tanh,
    ops.Softplus, ops.HardSwish, ops.Sqrt, ops.Reciprocal, ops.LeakyRelu, ops.HardSigmoid,
)  # fmt: skip
_NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 6.0)


@dataclass
class Drawing:
    """A graph in the making, with the facts of its nodes and the numbers its constants get."""

    rng: Random
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    facts: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.numbers = np.random.default_rng(self.rng.randrange(2**32))
        self.integers = self.rng.random() < 0.4
        self.last = -1

    def add(self, op: Operator, *inputs: int, name: str = "") -> int:
        """Add a node; TypeMismatch if it is ill-typed."""
        fact = infer_fact(op, [self.facts[item] for item in inputs])
        position = self.builder.add(op, inputs, name)
        if position == len(self.facts):
            self.facts.append(fact)
        self.last = position
        return position

    def input(self, kind: TensorType) -> int:
        """Add an input."""
        name = f"x{len(self.builder.nodes)}"
        return self.add(Input(name, kind), name=name)

    def constant(self, array: Any, dtype: DType) -> int:
        """Add a constant, as a literal if it is small."""
        array = np.asarray(array).astype(dtype.numpy)
        kind = TensorType(dtype, array.shape)
        if is_small(kind):
            return self.add(Literal(Known.of(array, dtype)))
        name = f"w{len(self.builder.nodes)}"
        self.builder.constants[name] = ArrayData(array)
        return self.add(Weight(name, kind), name=name)

    def weight(self, shape: tuple[int, ...], dtype: DType = DType.FLOAT32) -> int:
        """Add a constant of random numbers."""
        return self.constant(self.array(shape, dtype), dtype)

    def array(self, shape: tuple[int, ...], dtype: DType) -> Any:
        """Draw numbers: small integers in some graphs, so that nothing is rounded there."""
        if dtype is DType.BOOL:
            return self.numbers.random(shape) < 0.5
        if dtype.is_integer or self.integers:
            low = 0 if dtype.value.startswith("u") else -2
            return self.numbers.integers(low, 3, shape)
        return self.numbers.standard_normal(shape) * 0.7

    def shape(self, position: int) -> tuple[Any, ...]:
        """Return the shape of a tensor of known rank; TypeMismatch for other values."""
        fact = self.facts[position]
        if not fact.is_tensor or fact.shape is None:
            raise TypeMismatch("no tensor of known rank")
        return fact.shape

    def floats(self) -> list[int]:
        """Return the positions of single-precision values, late ones more than once."""
        found = [
            i for i, fact in enumerate(self.facts)
            if fact.is_tensor and fact.dtype is DType.FLOAT32 and fact.shape is not None
            and not fact.constant
        ]  # fmt: skip
        return found + found[-3:] * 2

    def graph(self) -> Graph:
        """Return the graph; what nothing reads is an output."""
        read = {item for node in self.builder.nodes for item in node.inputs}
        ends = [
            i for i, fact in enumerate(self.facts)
            if i not in read and fact.is_tensor and self.builder.nodes[i].inputs
        ]  # fmt: skip
        inner = [i for i in read if self.builder.nodes[i].inputs and self.facts[i].is_tensor]
        if inner and self.rng.random() < 0.3:
            ends.append(self.rng.choice(inner))
        return self.builder.build([Output(f"y{i}", end) for i, end in enumerate(ends)])


def forward_graph(rng: Random, size: int = 12) -> Graph:
    """Draw a graph of common forms with a dynamic batch, operator after operator."""
    drawing = Drawing(rng)
    batch = BATCH if rng.random() < 0.6 else rng.choice((1, 2, 3))
    dims = [2, 3, 4, 4, 6, 8]
    for _ in range(rng.choice((1, 1, 2, 3))):
        rank = rng.choice((2, 2, 3, 4, 4))
        shape = (batch, *(rng.choice(dims) for _ in range(rank - 1)))
        drawing.input(TensorType(DType.FLOAT32, shape))
    made = 0
    for _ in range(20 * size):
        if made == size:
            break
        try:
            rng.choice(_MAKERS)(drawing, rng.choice(drawing.floats()))
        except (TypeMismatch, IndexError):
            continue
        made += 1
    return drawing.graph()


def _unary(drawing: Drawing, x: int) -> None:
    drawing.add(drawing.rng.choice(_SMOOTH)(), x)


def _clip(drawing: Drawing, x: int) -> None:
    bounds = [drawing.constant(np.float32(item), DType.FLOAT32) for item in (0.0, 3.0)]
    drawing.add(ops.Clip(), x, *bounds[: drawing.rng.choice((1, 2))])


def _operand(drawing: Drawing, shape: tuple[Any, ...]) -> int:
    rng = drawing.rng
    choice = rng.random()
    if choice < 0.35:
        return rng.choice(drawing.floats())
    if choice < 0.65:
        return drawing.constant(np.float32(rng.choice(_NUMBERS)), DType.FLOAT32)
    static = tuple(dim if isinstance(dim, int) and rng.random() < 0.6 else 1 for dim in shape)
    return drawing.weight(static[rng.randrange(len(static) + 1) :])


def _binary(drawing: Drawing, x: int) -> None:
    op = drawing.rng.choice((ops.Add, ops.Add, ops.Mul, ops.Mul, ops.Sub, ops.Div))()
    pair = [x, _operand(drawing, drawing.shape(x))]
    drawing.rng.shuffle(pair)
    drawing.add(op, *pair)


def _again(drawing: Drawing, x: int) -> None:
    """Combine two values made the same way, as factoring rules like them."""
    like = [
        i for i in drawing.floats()
        if drawing.facts[i].type == drawing.facts[x].type and i != x
    ]  # fmt: skip
    if not like:
        raise TypeMismatch("nothing alike")
    op = drawing.rng.choice((ops.Add(), ops.Sub(), ops.Mul(), ops.Concat(-1), ops.Concat(1)))
    drawing.add(op, drawing.rng.choice(like), x)


def _variadic(drawing: Drawing, x: int) -> None:
    others = [_operand(drawing, drawing.shape(x)) for _ in range(drawing.rng.choice((1, 2)))]
    drawing.add(drawing.rng.choice((ops.Sum, ops.Min, ops.Max))(), x, *others)


def _matmul(drawing: Drawing, x: int) -> None:
    rng, shape = drawing.rng, drawing.shape(x)
    if rng.random() < 0.25:
        drawing.add(ops.MatMul(), x, rng.choice(drawing.floats()))
    elif rng.random() < 0.8:
        if not isinstance(shape[-1], int):
            raise TypeMismatch("no static columns")
        drawing.add(ops.MatMul(), x, drawing.weight((shape[-1], rng.choice((2, 4, 6)))))
    else:
        if len(shape) < 2 or not isinstance(shape[-2], int):
            raise TypeMismatch("no static rows")
        drawing.add(ops.MatMul(), drawing.weight((rng.choice((2, 4, 6)), shape[-2])), x)


def _gemm(drawing: Drawing, x: int) -> None:
    rng, shape = drawing.rng, drawing.shape(x)
    if len(shape) != 2 or not isinstance(shape[1], int):
        raise TypeMismatch("no matrix")
    columns, flip = rng.choice((2, 4, 5)), rng.random() < 0.5
    w = drawing.weight((columns, shape[1]) if flip else (shape[1], columns))
    alpha, beta = rng.choice(((1.0, 1.0), (1.0, 1.0), (0.5, 2.0)))
    bias = [drawing.weight((columns,))] if rng.random() < 0.7 else []
    drawing.add(ops.Gemm(alpha, beta, trans_a=False, trans_b=flip), x, w, *bias)


def _transpose(drawing: Drawing, x: int) -> None:
    perm = list(range(len(drawing.shape(x))))
    if drawing.rng.random() < 0.5 and len(perm) > 1:
        perm[-2], perm[-1] = perm[-1], perm[-2]
    else:
        drawing.rng.shuffle(perm)
    drawing.add(ops.Transpose(tuple(perm)), x)


def _reshape(drawing: Drawing, x: int) -> None:
    shape = drawing.shape(x)
    if len(shape) < 2:
        raise TypeMismatch("too few axes")
    target = drawing.rng.choice(([0, -1], [-1, shape[-1]], [0, 1, -1], [0, -1, 2], [-1]))
    if not all(isinstance(item, int) for item in target):
        raise TypeMismatch("symbolic target")
    drawing.add(ops.Reshape(), x, drawing.constant(target, DType.INT64))


def _axes(drawing: Drawing, x: int) -> None:
    shape = drawing.shape(x)
    ones = [axis for axis, dim in enumerate(shape) if dim == 1]
    if ones and drawing.rng.random() < 0.6:
        drawing.add(ops.Squeeze((drawing.rng.choice(ones),)), x)
    else:
        drawing.add(ops.Unsqueeze((drawing.rng.randint(-len(shape) - 1, len(shape)),)), x)


def _concat(drawing: Drawing, x: int) -> None:
    rng, shape = drawing.rng, drawing.shape(x)
    if not shape:
        raise TypeMismatch("a scalar")
    axis = rng.randint(-len(shape), len(shape) - 1)
    items = [x]
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.5 and all(isinstance(dim, int) for dim in shape):
            items.append(drawing.weight(shape))
        else:
            items.append(rng.choice(drawing.floats()))
    rng.shuffle(items)
    drawing.add(ops.Concat(axis), *items)


def _static_axis(drawing: Drawing, x: int, least: int = 2) -> tuple[int, int]:
    shape = drawing.shape(x)
    axes = [i for i, dim in enumerate(shape) if isinstance(dim, int) and dim >= least]
    if not axes:
        raise TypeMismatch("no axis to cut")
    axis = drawing.rng.choice(axes)
    return axis, shape[axis]


def _split(drawing: Drawing, x: int) -> None:
    axis, size = _static_axis(drawing, x)
    first = drawing.rng.randrange(1, size)
    signed = axis - len(drawing.shape(x)) if drawing.rng.random() < 0.5 else axis
    whole = drawing.add(ops.Split(signed, (first, size - first)), x)
    for index in drawing.rng.choice(((0, 1), (0, 1), (0,), (1,))):
        drawing.add(Project(index), whole)


def _slice(drawing: Drawing, x: int) -> None:
    axis, size = _static_axis(drawing, x)
    start = drawing.rng.randrange(size - 1)
    end = drawing.rng.choice((size, 2**63 - 1, start + 1, -1))
    step = drawing.rng.choice((1, 1, 1, 2))
    drawing.add(ops.Slice((start,), (end,), (axis,), (step,)), x)


def _gather(drawing: Drawing, x: int) -> None:
    axis, size = _static_axis(drawing, x, 1)
    shape = drawing.rng.choice(((), (2,), (3,), (1, 2)))
    indices = drawing.numbers.integers(0, size, shape)
    drawing.add(ops.Gather(axis), x, drawing.constant(indices, DType.INT64))


def _reduce(drawing: Drawing, x: int) -> None:
    rng, rank = drawing.rng, len(drawing.shape(x))
    if not rank:
        raise TypeMismatch("a scalar")
    kind = rng.choice((ops.ReduceSum, ops.ReduceMean, ops.ReduceMax, ops.ReduceMin))
    axes = rng.sample(range(-rank, 0), rng.choice((1, 1, min(2, rank))))
    drawing.add(kind(tuple(axes), keepdims=rng.random() < 0.6), x)


def _softmax(drawing: Drawing, x: int) -> None:
    drawing.add(drawing.rng.choice((ops.Softmax, ops.LogSoftmax))(-1), x)


def _where(drawing: Drawing, x: int) -> None:
    zero = drawing.constant(np.float32(0), DType.FLOAT32)
    mask = drawing.add(drawing.rng.choice((ops.Greater, ops.Less))(), x, zero)
    if drawing.rng.random() < 0.3:
        drawing.add(ops.Cast(DType.FLOAT32), mask)
    else:
        drawing.add(ops.Where(), mask, x, _operand(drawing, drawing.shape(x)))


def _image(drawing: Drawing, x: int) -> tuple[Any, ...]:
    shape = drawing.shape(x)
    if len(shape) != 4 or not all(isinstance(dim, int) for dim in shape[1:]):
        raise TypeMismatch("no image")
    return shape


def _conv(drawing: Drawing, x: int) -> None:
    rng, shape = drawing.rng, _image(drawing, x)
    kernel = rng.choice((1, 1, 3))
    pad = kernel // 2 if rng.random() < 0.8 else 0
    group = 2 if shape[1] % 2 == 0 and rng.random() < 0.2 else 1
    w = drawing.weight((rng.choice((2, 4)), shape[1] // group, kernel, kernel))
    filters = drawing.shape(w)[0]
    bias = [drawing.weight((filters,))] if rng.random() < 0.5 else []
    drawing.add(ops.Conv((1, 1), (pad,) * 4, (1, 1), group), x, w, *bias)
    if rng.random() < 0.4:
        affine = rng.choice((ops.Add, ops.Mul))()
        drawing.add(affine, drawing.last, drawing.weight((1, filters, 1, 1)))


def _batch_normalization(drawing: Drawing, x: int) -> None:
    shape = drawing.shape(x)
    if len(shape) < 2 or not isinstance(shape[1], int):
        raise TypeMismatch("no channels")
    size = (shape[1],)
    moments = [drawing.weight(size) for _ in range(3)]
    variance = drawing.constant(np.abs(drawing.array(size, DType.FLOAT32)) + 0.5, DType.FLOAT32)
    drawing.add(ops.BatchNormalization(1e-5), x, *moments, variance)


def _pool(drawing: Drawing, x: int) -> None:
    shape, rng = _image(drawing, x), drawing.rng
    if min(shape[2:]) < 2:
        raise TypeMismatch("too small an image")
    if rng.random() < 0.3:
        drawing.add(rng.choice((ops.GlobalAveragePool, ops.GlobalMaxPool))(), x)
        return
    kind = rng.choice((ops.MaxPool, ops.AveragePool))
    stride = rng.choice((1, 2))
    drawing.add(kind(kernel=(2, 2), strides=(stride,) * 2, pads=(0,) * 4, dilations=(1, 1)), x)


def _pad(drawing: Drawing, x: int) -> None:
    rank = len(drawing.shape(x))
    pads = [drawing.rng.choice((0, 0, 1)) for _ in range(2 * rank)]
    drawing.add(ops.Pad(tuple(pads), "constant"), x)


def _layer_normalization(drawing: Drawing, x: int) -> None:
    shape = drawing.shape(x)
    if not shape or not isinstance(shape[-1], int):
        raise TypeMismatch("no static last axis")
    scale, bias = (drawing.weight((shape[-1],)) for _ in range(2))
    drawing.add(ops.LayerNormalization(-1, 1e-5), x, scale, bias)


def _opaque(drawing: Drawing, x: int) -> None:
    """Add an operator without a class, perhaps one with bodies that read outer values."""
    kind = drawing.facts[x].type
    if drawing.rng.random() < 0.5:
        drawing.add(Opaque("", "Round", "", (), (kind,), 1), x)
        return
    like = [i for i in drawing.floats() if drawing.facts[i].type == kind]
    flag = drawing.constant(np.array([drawing.rng.random() < 0.5]), DType.BOOL)
    flag = drawing.add(ops.Not(), flag)
    bodies = (_body("then_branch", "Add", kind), _body("else_branch", "Sub", kind))
    name = f"if{len(drawing.facts)}"
    op = Opaque("", "If", "", tuple(sorted(bodies)), (kind,), 1, ("first", "second"), name)
    drawing.add(op, flag, x, drawing.rng.choice(like))


def _body(name: str, op_type: str, kind: Any) -> tuple[str, bytes]:
    nodes = [
        helper.make_node(op_type, ["first", "second"], ["between"]),
        helper.make_node("Neg", ["between"], ["end"]),
    ]
    body = helper.make_graph(nodes, name, [], [_declared("end", kind)])
    return name, helper.make_attribute(name, body).SerializeToString(deterministic=True)


_MAKERS = (
    _opaque,
    _unary, _unary, _clip, _binary, _binary, _binary, _binary, _again, _again, _variadic, _matmul,
    _matmul, _matmul, _gemm, _transpose, _transpose, _reshape, _axes, _concat, _concat, _split,
    _split, _slice, _slice, _gather, _reduce, _softmax, _where, _conv, _conv, _conv,
    _batch_normalization, _pool, _pad, _layer_normalization,
)  # fmt: skip


def backward_graph(rng: Random, size: int = 10) -> Graph:
    """Draw a graph from its output to its inputs, every operator being as likely as any other."""
    drawing = Drawing(rng)
    dtype = rng.choice((*(DType.FLOAT32,) * 8, DType.FLOAT64, DType.INT64, DType.INT32, DType.BOOL))
    shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((1, 2, 2, 3, 4, 4))))
    for _ in range(rng.choice((1, 1, 2))):
        _grow(drawing, TensorType(dtype, shape), [size])
    return drawing.graph()


def _grow(drawing: Drawing, kind: TensorType | Known | Any, left: list[int]) -> int:
    """Return a value of the type, drawing what makes it as long as operators are left."""
    rng = drawing.rng
    if isinstance(kind, Known):
        assert kind.array is not None
        return drawing.constant(kind.array, kind.dtype)
    if not isinstance(kind, TensorType):
        return drawing.add(Absent())
    same = [i for i, fact in enumerate(drawing.facts) if fact.type == kind]
    if same and rng.random() < 0.3:
        return rng.choice(same)
    if left[0] > 0 and rng.random() < 0.85:
        left[0] -= 1
        found = _made(drawing, kind, left)
        if found is not None:
            return found
    if rng.random() < 0.4:
        return drawing.weight(kind.static_shape or (), kind.dtype)
    return drawing.input(kind)


def _made(drawing: Drawing, kind: TensorType, left: list[int]) -> int | None:
    rng = drawing.rng
    for _ in range(30):
        cls = rng.choice(ops.OPERATORS)
        index = rng.randrange(2) if cls is ops.Split else 0
        try:
            sample = cls.sample(rng, kind, index)
            facts = [_proposed(item) for item in sample.inputs]
            result = infer_fact(sample.op, facts).type
        except TypeMismatch:
            continue
        many = isinstance(result, TupleType)
        found = result.items[index] if isinstance(result, TupleType) else result
        if found != kind or not _has_floats(facts):
            continue
        whole = drawing.add(sample.op, *(_grow(drawing, item, left) for item in sample.inputs))
        return drawing.add(Project(index), whole) if many else whole
    return None


def _proposed(item: Any) -> Fact:
    return Fact(item.type, item, constant=True) if isinstance(item, Known) else Fact(item)


def _has_floats(facts: list[Fact]) -> bool:
    """Tell whether the operator works on floats or integers that may have any value."""
    return all(not fact.is_tensor or fact.value or fact.dtype.bits > 8 for fact in facts)


@dataclass(frozen=True)
class Planted:
    """A graph that holds what rules find, and sizes for its symbols."""

    graph: Graph
    sizes: Mapping[str, int]


def rule_graph(rules: Sequence[Rule], rng: Random, tries: int = 200) -> Planted | None:
    """Draw a graph that holds what the rules find, on common values, perhaps with more on top."""
    drawing = Drawing(rng)
    sizes: dict[str, int] = {}
    for rule in rules:
        instance = _instance(rule, rng, tries)
        if instance is None or not _add_instance(drawing, instance):
            return None
        sizes.update(instance.sizes)
    if rng.random() < 0.5:
        for _ in range(4):
            try:
                rng.choice(_MAKERS)(drawing, drawing.last)
            except (TypeMismatch, IndexError):
                continue
    graph = drawing.graph()
    return Planted(graph, sizes) if graph.outputs else None


def _instance(rule: Rule, rng: Random, tries: int) -> Instance | None:
    if rule.group is not None:
        rule = rule.instance(rng.choice((2, 3)))
    # Few operators of the runtime take double precision or other floats.
    sampler = InstanceSampler(rule, rng, without=(DType.FLOAT64, DType.BFLOAT16))
    for _ in range(tries):
        for instance in sampler.draw():
            # What is measured has no empty inputs.
            empty = any(0 in (leaf.type.shape or ()) for leaf in instance.leaves.values())
            if not empty and rng.random() < 0.3:
                return instance
    return None


def _add_instance(drawing: Drawing, instance: Instance) -> bool:
    places: dict[str, int] = {}
    for name, leaf in instance.leaves.items():
        shape = leaf.type.static_shape or ()
        like = [i for i, fact in enumerate(drawing.facts) if fact.type == leaf.fact.type]
        if leaf.data is not None:
            places[name] = drawing.constant(leaf.data.array, leaf.type.dtype)
        elif leaf.fact.constant:
            places[name] = drawing.weight(shape, leaf.type.dtype)
        elif like and drawing.rng.random() < 0.5:
            places[name] = drawing.rng.choice(like)
        elif isinstance(leaf.fact.type, TensorType) and leaf.fact.type.shape is not None:
            places[name] = drawing.input(leaf.fact.type)
        else:
            return False
    try:
        for tree in instance.finds:
            _plant(drawing, tree, places)
    except TypeMismatch:
        return False
    return True


def _plant(drawing: Drawing, tree: Tree | Var, places: dict[str, int]) -> int:
    if isinstance(tree, Var):
        return places[tree.name]
    return drawing.add(tree.op, *(_plant(drawing, item, places) for item in tree.inputs))


def model(graph: Graph, opset: int = OPSET) -> ModelProto:
    """Return a graph as a model whose dimensions keep their names."""
    proto = ModelProto(ir_version=10)
    proto.opset_import.append(helper.make_opsetid("", opset))
    proto.graph.name = "graph"
    proto.graph.input.extend(_declared(item.name, item.type) for item in graph.inputs)
    proto.graph.output.extend(
        _declared(output.name, graph.facts[output.node].type) for output in graph.outputs
    )
    return onnx_io.write(graph, Source(graph, proto, opset, None, Path()))


def _declared(name: str, kind: Any) -> ValueInfoProto:
    assert isinstance(kind, TensorType)
    shape = None
    if kind.shape is not None:
        shape = [dim if isinstance(dim, int) else _dim_name(str(dim)) for dim in kind.shape]
    return helper.make_tensor_value_info(name, elem_type_of(kind.dtype), shape)


def _dim_name(text: str) -> str | None:
    return text if text.isidentifier() else None
