"""The benchmark's models: valid, seeded, and with outputs that tell models apart."""

import numpy as np
import onnx
import pytest

from benchmarks.models.light import load_light
from benchmarks.models.networks import NETWORKS, bert_encoder, nasrnn, to_model
from benchmarks.models.real import LIGHT, SHIPPED
from tensaur.ir.operator import Weight
from tensaur.runtime.session import open_session

WIDTHS = {"nasrnn": 8, "nasrnn-unshared": 8, "bert-tensat": 32, "bert-encoder": 24}


def _weights(graph) -> list[Weight]:
    return [node.op for node in graph if isinstance(node.op, Weight)]


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
