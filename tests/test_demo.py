import numpy as np
import onnx

from tensaur import demo
from tensaur.runtime.choice import open_session


def test_the_network_is_valid_and_runs():
    model = demo.model()
    onnx.checker.check_model(model, full_check=True)
    image = np.random.default_rng(0).standard_normal(demo.IMAGE).astype(np.float32)
    scores = open_session(model).run({"image": image})["scores"]
    assert scores.shape == (1, demo.CLASSES)
    assert np.isfinite(scores).all()
    assert np.isclose(scores.sum(), 1, atol=1e-4)
    # The weights keep the signal alive: other images give other scores.
    other = open_session(model).run({"image": -image})["scores"]
    assert np.abs(scores - other).max() > 1e-3 * scores.max()


def test_the_seed_decides():
    assert demo.model(0) == demo.model(0)
    assert demo.model(0) != demo.model(1)
