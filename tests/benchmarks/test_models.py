"""The benchmark's models: valid, seeded, and with outputs that tell models apart."""

from math import prod

import numpy as np
import onnx
import pytest

from benchmarks.latency import chosen
from benchmarks.models.branching import inception_v3
from benchmarks.models.builder import to_model
from benchmarks.models.convnets import resnet50, resnext50_branches, squeezenet
from benchmarks.models.light import load_light
from benchmarks.models.networks import NETWORKS, PAPERS
from benchmarks.models.real import LIGHT, SHIPPED
from benchmarks.models.recurrent import nasrnn
from benchmarks.models.transformers import bert_encoder
from tensaur.ir.graph import Node
from tensaur.ir.operator import Input, Literal, Weight
from tensaur.ops import Conv, MatMul
from tensaur.runtime.choice import open_session

WIDTHS = {
    "nasrnn": 8,
    "nasrnn-unshared": 8,
    "bert-tensat": 32,
    "bert-encoder": 24,
    "alexnet": 2,
    "inception-v3": 2,
    "mobilenet-v2": 4,
    "nasnet-a": 2,
    "nmt": 8,
    "resnet50": 2,
    "resnext50": 2,
    "resnext50-branches": 2,
    "rnntc": 8,
    "squeezenet": 4,
    "vgg19": 2,
}
# Number of parameters, in the versions that torchvision publishes (Inception-v3 without its auxiliary
# classifier); those with batch normalisation have two for each channel there, folded into one here.
PUBLISHED = {
    "alexnet": 61_100_840,
    "squeezenet": 1_235_496,
    "vgg19": 143_667_240,
}
PUBLISHED_NORMALISED = {
    "inception-v3": 23_834_568,
    "mobilenet-v2": 3_504_872,
    "resnet50": 25_557_032,
    "resnext50": 25_028_904,
    "resnext50-branches": 25_028_904,
}
CONVOLUTIONS = {
    "alexnet": 5,
    "inception-v3": 94,
    "mobilenet-v2": 52,
    "nasnet-a": 18 * 12,
    "resnet50": 53,
    "resnext50": 53,
    "resnext50-branches": 5 + 16 * (2 * 32 + 1),
    "squeezenet": 26,
    "vgg19": 16,
}
OUTPUTS = {
    "nasrnn": (1, 512),
    "nasrnn-unshared": (1, 512),
    "bert-tensat": (64, 1024),
    "bert-encoder": (128, 768),
    "nasnet-a": (1, 2560, 7, 7),
    "nmt": (1, 1024),
    "rnntc": (1, 1024),
}


def _weights(graph) -> list[Weight]:
    return [node.op for node in graph if isinstance(node.op, Weight)]


def _parameters(graph, position: int) -> int:
    """Return how many parameters a node holds; scalars and shapes are no parameters."""
    tensor = graph.facts[position].type
    held = (
        isinstance(graph.nodes[position].op, (Weight, Literal)) and tensor.dtype.name == "FLOAT32"
    )
    return prod(tensor.shape) if held and tensor.shape else 0


def _convolutions(graph) -> list[Node]:
    return [node for node in graph if isinstance(node.op, Conv)]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_valid_and_seeded(name: str) -> None:
    graph = NETWORKS[name](width=WIDTHS[name])
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    session = open_session(model)
    rng = np.random.default_rng(0)
    shapes = {item.name: item.infer().tensor.static_shape for item in graph.inputs}
    feeds = {key: rng.standard_normal(shape).astype("f4") for key, shape in shapes.items()}
    outputs = session.run(feeds)
    again = open_session(to_model(NETWORKS[name](width=WIDTHS[name]))).run(feeds)
    other = open_session(to_model(NETWORKS[name](width=WIDTHS[name], seed=1))).run(feeds)
    for key, value in outputs.items():
        assert 1e-3 < value.std() < 1e3
        np.testing.assert_array_equal(value, again[key])
        assert not np.allclose(value, other[key])


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_their_real_sizes_by_default(name: str) -> None:
    graph = NETWORKS[name]()
    assert graph.live() == set(range(len(graph)))
    last = graph.outputs[-1].node
    assert graph.facts[last].tensor.static_shape == OUTPUTS.get(name, (1, 1000))
    assert len(_convolutions(graph)) == CONVOLUTIONS.get(name, 0)
    entry = next(entry for entry in PAPERS if entry.name == name)
    shapes = {item.name: item.infer().tensor.static_shape for item in graph.inputs}
    assert shapes == {key: value.shape for key, value in entry.feeds().items()}


@pytest.mark.parametrize("name", [*PUBLISHED, *PUBLISHED_NORMALISED])
def test_networks_have_the_published_number_of_parameters(name: str) -> None:
    graph = NETWORKS[name]()
    found = sum(_parameters(graph, position) for position in range(len(graph)))
    folded = sum(_parameters(graph, node.inputs[2]) for node in _convolutions(graph))
    expected = PUBLISHED.get(name) or PUBLISHED_NORMALISED[name] - folded
    assert found == expected


@pytest.mark.parametrize(("name", "kernels"), [("rnntc", 220), ("nmt", 440)])
def test_recurrent_units_are_as_many_operators_as_metaflow_counts(name: str, kernels: int) -> None:
    graph = NETWORKS[name]()
    live = [graph.nodes[position].op for position in graph.live()]
    assert len([op for op in live if not isinstance(op, (Input, Weight))]) == kernels
    assert len([op for op in live if isinstance(op, MatMul)]) == 3 * kernels // 11


@pytest.mark.parametrize("build", [resnet50, resnext50_branches, inception_v3, squeezenet])
def test_biases_can_be_left_out(build) -> None:
    with_bias, without = (build(bias=bias) for bias in (True, False))
    assert {len(node.inputs) for node in _convolutions(with_bias)} == {3}
    assert {len(node.inputs) for node in _convolutions(without)} == {2}
    assert len(_convolutions(with_bias)) == len(_convolutions(without))


def test_default_latency_table_keeps_its_networks() -> None:
    names = {entry.name for entry in chosen([], quick=False, every=False)} & set(NETWORKS)
    assert names == {"nasrnn", "nasrnn-unshared", "bert-tensat", "bert-encoder"}


def test_nasrnn_shares_weights_or_does_not() -> None:
    assert len(_weights(nasrnn(width=8, steps=3, shared=True))) == 16
    assert len(_weights(nasrnn(width=8, steps=3, shared=False))) == 48


def test_bert_encoder_normalises_its_output() -> None:
    graph = bert_encoder(width=24, heads=2, layers=1, sequence=5)
    session = open_session(to_model(graph))
    value = np.random.default_rng(0).standard_normal((5, 24)).astype("f4")
    (output,) = session.run({"x": value}).values()
    assert abs(output.std() - 1) < 0.2


def test_light_models_are_told_apart_by_their_outputs() -> None:
    model = load_light("squeezenet")
    assert not [node for node in model.graph.node if node.op_type == "ConstantOfShape"]
    session = open_session(model)
    entry = next(entry for entry in LIGHT if entry.name == "light-squeezenet")
    first, second = (next(iter(session.run(entry.feeds(seed)).values())) for seed in (0, 1))
    assert first.max() < 0.9, "a saturated softmax hides differences"
    assert np.abs(first - second).max() > 1e-3
    other = open_session(load_light("squeezenet", seed=1)).run(entry.feeds(0))
    assert np.abs(first - next(iter(other.values()))).max() > 1e-3


@pytest.mark.parametrize("entry", [*LIGHT, *SHIPPED], ids=lambda entry: entry.name)
def test_inputs_are_seeded(entry) -> None:
    first, again, other = entry.feeds(0), entry.feeds(0), entry.feeds(1)
    for name, value in first.items():
        np.testing.assert_array_equal(value, again[name])
    assert any(not np.array_equal(first[name], other[name]) for name in first)
