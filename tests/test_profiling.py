"""Pricing a model now: every signature once, from the store the second time."""

import pytest

from tensaur import onnx_io, profiling
from tensaur.errors import UsageError
from tensaur.options import Options
from tensaur.profiling import profile
from tensaur.report.costs import profile_text
from tests.runtime.models import FLOAT, model, value
from tests.small import small_model


def layers():
    """Return a model of four equal rectified sums, behind a reshape."""
    from onnx import helper

    nodes = [helper.make_node("Flatten", ["x"], ["v0"])]
    for at in range(4):
        nodes += [
            helper.make_node("Sub", [f"v{at}", "b"], [f"s{at}"]),
            helper.make_node("Relu", [f"s{at}"], [f"v{at + 1}"]),
        ]
    nodes.append(helper.make_node("Neg", ["v4"], ["y"]))
    import numpy as np

    x, y = value("x", FLOAT, ["n", 2, 4]), value("y", FLOAT, ["n", 8])
    return model(nodes, [x], [y], {"b": np.ones(8, np.float32)}, opset=18)


def test_every_signature_is_priced_once(tmp_path):
    source, options = onnx_io.read(layers()), Options(store=tmp_path / "costs.sqlite")
    said = []
    first = profile(source, options, said.append)
    # The first sum reads the reshape's result, and the others the same type.
    assert first.signatures == first.measured == len(first.entries) >= 3
    assert (first.stored, first.estimated) == (0, 0)
    assert first.spread is not None and first.sizes == {"n": 1}
    assert said[0] == "looking into the store"
    assert f"pricing {first.signatures} of {first.signatures}: " in said[-1]
    again = profile(source, options)
    assert (again.measured, again.stored) == (0, first.signatures)
    assert {entry.stored for entry in again.entries} == {entry.stored for entry in first.entries}
    other = profile(source, Options(store=tmp_path / "costs.sqlite", sizes={"n": 3}))
    assert other.measured == first.signatures


def test_what_there_is_no_time_for_is_estimated(tmp_path):
    source = onnx_io.read(small_model())
    found = profile(source, Options(store=tmp_path / "costs.sqlite", seconds=0))
    assert found.estimated == found.signatures > 0 == found.measured == found.stored
    assert found.spread is None
    text = profile_text(found, "m", found.entries)
    assert f"{found.signatures}: 0 measured now, 0 from the store, {found.signatures} only" in text
    assert "nothing was measured" in text


def test_sizes_of_no_dimension_are_refused(tmp_path):
    with pytest.raises(UsageError, match="size of n"):
        profiling.profile(onnx_io.read(small_model()), Options(sizes={"n": 2}))
