"""Every model of ONNX's backend test suite, read and written, means what it meant."""

from collections import Counter

import onnx
import pytest

from tensaur.onnx_io import read, write
from tests.onnx_io import models
from tests.onnx_io.suite import DATA, node_cases, stored_cases

SHARDS = 8
RANDOM = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",
}  # fmt: skip
# Gone when a model is read: what they say is said otherwise.
VANISHING = {"Constant", "Identity"}


def outputs_of(model, feeds, runners):
    """Return the first runner that can run the model, and its outputs; None, None if none can."""
    for runner in runners:
        try:
            return runner, [runner(model, **feed) for feed in feeds]
        except Exception:  # noqa: BLE001, S112, RUF100  # any failure of a runtime: try the next one
            continue
    return None, None


def interface(model):
    """Return what a written model must have as its source has it."""
    rest = onnx.ModelProto()
    rest.CopyFrom(model)
    for field in ("node", "initializer", "sparse_initializer", "value_info"):
        rest.graph.ClearField(field)
    if model.ir_version < 4:
        constants = {tensor.name for tensor in model.graph.initializer}
        kept = [item for item in model.graph.input if item.name not in constants]
        rest.graph.ClearField("input")
        rest.graph.input.extend(kept)
    return rest.SerializeToString(deterministic=True)


def fault(case):
    """Read and write a model; return what is wrong with the result, and whether it was run."""
    source = read(case.model)
    result = write(source.graph, source)
    onnx.checker.check_model(result)
    if interface(result) != interface(case.model):
        return "interface", True
    runner, expected = outputs_of(case.model, case.feeds, (models.run, models.run_reference))
    if runner is None or not case.feeds:
        return operators_fault(case.model, result), False
    found = [runner(result, **feed) for feed in case.feeds]
    if RANDOM & set(models.operators(case.model)):
        return operators_fault(case.model, result), True
    return None if models.same(expected, found) else "outputs", True


def operators_fault(before, after):
    counts = [
        Counter(op for op in models.operators(item) if op not in VANISHING)
        for item in (before, after)
    ]
    return None if counts[0] == counts[1] else f"operators {counts}"


def check_all(cases, unrunnable):
    """Check models; no more than `unrunnable` of them may be compared by their operators alone."""
    results = {case.name: fault(case) for case in cases}
    assert results
    assert {name: found for name, (found, _) in results.items() if found is not None} == {}
    assert sum(not ran for _, ran in results.values()) <= unrunnable


@pytest.mark.parametrize("shard", range(SHARDS))
def test_node_models(shard):
    check_all(node_cases()[shard::SHARDS], unrunnable=2)


def test_the_suite_is_complete():
    assert len(node_cases()) > 1500
    assert len(stored_cases()) > 100


def test_stored_models():
    check_all(stored_cases(), unrunnable=2)


@pytest.mark.parametrize("path", sorted(DATA.glob("light/*.onnx")), ids=lambda path: path.stem)
def test_light_models(path):
    model = onnx.load(path)
    result = models.round_trip(model)
    assert interface(result) == interface(model)
    (x,) = models.session(model).get_inputs()
    feed = {x.name: models.floats(*x.shape)}
    assert models.same(models.run(model, **feed), models.run(result, **feed))
