"""The nine `light_*` networks that the `onnx` package carries, with random weights that mean something.

The files keep the graphs of well-known convolutional networks and make every weight by ConstantOfShape,
that is with all elements equal. Here these nodes give way to seeded initialisers whose scale follows
from what reads them, so that signals neither vanish nor explode and outputs tell models apart. Does not
download anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from tensaur.runtime.choice import open_session

FloatArray = npt.NDArray[np.float32]

# What the weights pass through, unchanged in value, before the operator that uses them.
_TRANSPARENT = ("Unsqueeze", "Reshape", "Identity")
# The standard deviation that the last matrix product is scaled to: a softmax over it is neither flat
# nor saturated.
_LOGIT_SCALE = 2.0


@dataclass(frozen=True, slots=True)
class Role:
    """Who reads a weight: operator type, number of the input, and whether Gemm transposes it."""

    op_type: str
    index: int
    transposed: bool = False


def light_folder() -> Path:
    """Return the folder of the installed `onnx` package that holds the light models."""
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def light_names() -> tuple[str, ...]:
    """Return the names of the light models, without the prefix ``light_``."""
    return tuple(path.stem.removeprefix("light_") for path in sorted(light_folder().glob("*.onnx")))


def light_ports(name: str) -> dict[str, tuple[int, ...]]:
    """Return the inputs of a light model that have to be given, with their shapes."""
    return _ports(onnx.load(light_folder() / f"light_{name}.onnx").graph)


def _ports(graph: onnx.GraphProto) -> dict[str, tuple[int, ...]]:
    constants = {item.name for item in graph.initializer}
    return {
        item.name: tuple(dim.dim_value for dim in item.type.tensor_type.shape.dim)
        for item in graph.input
        if item.name not in constants
    }


def load_light(name: str, seed: int = 0) -> onnx.ModelProto:
    """Return a light model with seeded random weights in place of its ConstantOfShape nodes."""
    model = onnx.load(light_folder() / f"light_{name}.onnx")
    graph = model.graph
    roles = _roles(graph)
    rng = np.random.default_rng(seed)
    shapes = {item.name: tuple(numpy_helper.to_array(item)) for item in graph.initializer}
    for node in _generators(graph):
        shape = tuple(int(size) for size in shapes[node.input[0]])
        data = _draw(rng, roles[node.output[0]], shape)
        graph.initializer.append(numpy_helper.from_array(data, node.output[0]))
        graph.input.append(
            onnx.helper.make_tensor_value_info(node.output[0], onnx.TensorProto.FLOAT, shape)
        )
    _drop_generators(graph)
    _scale_logits(model, seed)
    return model


def _generators(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    return (node for node in graph.node if node.op_type == "ConstantOfShape")


def _roles(graph: onnx.GraphProto) -> dict[str, Role]:
    """Return the role of every generated weight, looking through operators that only reshape it."""
    roles: dict[str, Role] = {}
    for node in reversed(graph.node):
        transposed = any(item.name == "transB" and item.i for item in node.attribute)
        for index, name in enumerate(node.input):
            role = Role(node.op_type, index, transposed)
            if node.op_type in _TRANSPARENT and node.output[0] in roles:
                role = roles[node.output[0]]
            roles[name] = role
    return roles


def _drop_generators(graph: onnx.GraphProto) -> None:
    kept = [node for node in graph.node if node.op_type != "ConstantOfShape"]
    used = {name for node in kept for name in node.input}
    dropped = {item.name for item in graph.initializer if item.name not in used}
    _replace(graph.node, kept)
    _replace(graph.initializer, [item for item in graph.initializer if item.name not in dropped])
    _replace(graph.input, [item for item in graph.input if item.name not in dropped])


def _scale_logits(model: onnx.ModelProto, seed: int) -> None:
    """Scale the weights of the last Gemm, if there is one, for logits of the wanted size."""
    products = [node for node in model.graph.node if node.op_type == "Gemm"]
    if not products:
        return
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.append(onnx.ValueInfoProto(name=products[-1].output[0]))
    session = open_session(probe)
    ports = _ports(model.graph)
    rng = np.random.default_rng(seed)
    feeds = {port: rng.standard_normal(shape).astype(np.float32) for port, shape in ports.items()}
    logits = session.run(feeds)[products[-1].output[0]]
    factor = np.float32(_LOGIT_SCALE / np.std(logits))
    scaled = {_origin(model.graph, name) for name in products[-1].input[1:]}
    for item in model.graph.initializer:
        if item.name in scaled:
            item.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(item) * factor, item.name))


def _origin(graph: onnx.GraphProto, name: str) -> str:
    """Return the name of what a value is, before operators that only reshape it."""
    makers = {node.output[0]: node for node in graph.node if node.op_type in _TRANSPARENT}
    while name in makers:
        name = makers[name].input[0]
    return name


def _replace(field: Any, items: list[Any]) -> None:
    del field[:]
    field.extend(items)


def _draw(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> FloatArray:
    draw = _DRAWS.get((role.op_type, role.index), _small)
    return np.asarray(draw(rng, role, shape), dtype=np.float32)


def _kernel(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> Any:
    # He et al. 2015: the variance of what a rectifier passes on stays the same.
    return rng.standard_normal(shape) * np.sqrt(2.0 / np.prod(shape[1:]))


def _matrix(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * np.sqrt(2.0 / shape[1 if role.transposed else 0])


def _near_one(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> Any:
    return rng.uniform(0.8, 1.2, shape)


def _variance(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> Any:
    # Above 1, so that the sums of residual networks do not double the signal at every block.
    return rng.uniform(1.5, 3.0, shape)


def _small(rng: np.random.Generator, role: Role, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape) * 0.1


_DRAWS: dict[tuple[str, int], Callable[[np.random.Generator, Role, tuple[int, ...]], Any]] = {
    ("Conv", 1): _kernel,
    ("Gemm", 1): _matrix,
    ("Mul", 1): _near_one,
    ("BatchNormalization", 1): _near_one,
    ("BatchNormalization", 4): _variance,
}
