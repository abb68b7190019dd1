import onnx
import onnx_ir
import pytest

import tensaur
from tests.small import small_file, small_model

FLAT = {"cost": "flops", "gate": False}


def test_a_path_a_proto_and_an_ir_model_give_the_same(tmp_path):
    model = small_model()
    path = small_file(tmp_path)
    proto = tensaur.optimize(model, **FLAT).model
    for given in (path, str(path)):
        assert tensaur.optimize(given, **FLAT).model == proto
    # onnx_ir declares the types of constants too.
    from_ir = tensaur.optimize(onnx_ir.from_proto(model), **FLAT).model
    del from_ir.graph.value_info[:], proto.graph.value_info[:]
    assert from_ir == proto


def test_the_same_seed_gives_the_same_model():
    first, second = (tensaur.optimize(small_model(), seed=3, **FLAT) for _ in range(2))
    assert first.model == second.model
    assert first.rewrites == second.rewrites


def test_the_result_can_be_saved(tmp_path):
    result = tensaur.optimize(small_model(), **FLAT)
    result.save(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == result.model
    assert [item.name for item in tmp_path.iterdir()] == ["out.onnx"]


def test_phases_are_announced():
    said = []
    tensaur.optimize(small_model(), progress=said.append, **FLAT)
    assert said[:3] == ["reading", "exploring", "choosing"]


def test_the_input_is_left_alone():
    model = small_model()
    tensaur.optimize(model, **FLAT)
    assert model == small_model()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"cost": "money"}, "money"),
        ({"extract": "luck"}, "luck"),
        ({"threads": 0}, "threads"),
        ({"sizes": {"n": 0}}, "n"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, part):
    with pytest.raises(tensaur.TensaurError, match=part):
        tensaur.optimize(small_model(), **options)


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="speed"):
        tensaur.optimize(small_model(), speed=11)


def test_every_public_name_exists():
    assert all(hasattr(tensaur, name) for name in tensaur.__all__)
