"""What passes the gate and what does not, on tiny models and with timings made up."""

from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper

from tensaur import gate as gate_module
from tensaur import onnx_io
from tensaur.errors import RuntimeFailure, RuntimeRefusal, UsageError
from tensaur.gate import Gate
from tensaur.options import Options
from tensaur.runtime.protocol import InFolder
from tensaur.runtime.racing import Standing
from tensaur.runtime.timing import Estimate
from tensaur.runtime.verdict import Timing, Verdict
from tests.runtime.models import external, gather, model, scaled, value
from tests.small import small_model


def quiet(message):
    """Say nothing."""


def verdict(accepted, ratio=1.5, low=1.4, high=1.6, worst=None, reason="said so"):
    estimate = Estimate(ratio, low, high)
    return Verdict(accepted, reason, Timing(estimate, worst or estimate, 3e-3, 2e-3))


FASTER = verdict(True)
SLOWER = verdict(False, 0.8, 0.7, 0.9)


@pytest.fixture
def timing(monkeypatch):
    """Stand in for the stopwatch: `verdicts` are given in turn, `ratios` decide the short race."""
    world = SimpleNamespace(verdicts=[FASTER], ratios=(1.0, 1.0), timed=[])

    def faster(original, candidate, feeds, **settings):
        world.timed.append(SimpleNamespace(candidate=candidate, feeds=feeds, **settings))
        return world.verdicts.pop(0)

    def halving(original, candidates, **settings):
        places = sorted(range(len(candidates)), key=lambda place: -world.ratios[place])
        return [Standing(at, Estimate(world.ratios[at], 0.0, 9.0), 1) for at in places]

    monkeypatch.setattr(gate_module, "faster", faster)
    monkeypatch.setattr(gate_module, "halving", halving)
    return world


def double(**options):
    """Return the gate of a model that doubles its input of n x 3."""
    return Gate(onnx_io.read(scaled(2.0)), Options(**options))


def test_an_equal_and_faster_candidate_wins(timing):
    judgement = double().judge([scaled(2.0)], 5.0, quiet)
    assert judgement.winner == 0
    assert judgement.reason == "said so"
    assert judgement.comparison.equal
    assert judgement.latency.ratio == 1.5
    assert (judgement.latency.before, judgement.latency.after) == (3e-3, 2e-3)
    (timed,) = timing.timed
    assert (timed.seconds, timed.margin, timed.threads) == (5.0, 0.01, 1)


def test_without_candidates_the_original_stays(timing):
    judgement = double().judge([], 5.0, quiet)
    assert (judgement.winner, judgement.reason) == (None, "nothing cheaper was found")
    assert (judgement.comparison, judgement.latency, timing.timed) == (None, None, [])


def test_other_outputs_are_refused(timing):
    judgement = double().judge([scaled(2.1)], 5.0, quiet)
    assert judgement.winner is None
    assert judgement.reason.startswith("outputs differ: output 'y': ")
    assert not judgement.comparison.equal
    assert timing.timed == [], "what is wrong is not timed"


def test_a_candidate_that_the_runtime_refuses_is_said_to_be(timing):
    broken = model([helper.make_node("Mystery", ["x"], ["y"])], [value("x")], [value("y")])
    judgement = double().judge([broken], 5.0, quiet)
    assert judgement.winner is None
    assert judgement.reason.startswith("the rewritten model cannot be run: the runtime refuses")
    assert judgement.comparison is None


def test_one_good_candidate_is_enough(timing):
    broken = model([helper.make_node("Mystery", ["x"], ["y"])], [value("x")], [value("y")])
    judgement = double().judge([scaled(3.0), broken, scaled(2.0)], 5.0, quiet)
    assert judgement.winner == 2
    assert len(timing.timed) == 1


def test_the_fastest_in_a_short_race_is_timed_properly(timing):
    timing.ratios = (1.1, 1.3)
    said = []
    judgement = double().judge([scaled(2.0), scaled(2.0)], 5.0, said.append)
    assert judgement.winner == 1
    assert said == [
        "timing 2 candidates in turn",
        "timing the original against the best candidate",
    ]


def test_a_slower_candidate_is_refused_with_its_timing(timing):
    timing.verdicts = [SLOWER]
    judgement = double().judge([scaled(2.0)], 5.0, quiet)
    assert (judgement.winner, judgement.reason) == (None, "said so")
    assert judgement.latency.ratio == 0.8
    assert judgement.comparison.equal


AS_FAST = verdict(False, 1.0, 0.99, 1.01, reason="no gain")
HARDLY_SLOWER = verdict(False, 0.99, 0.98, 1.005, reason="no gain")
SLOW_INPUT = verdict(False, 1.0, 0.99, 1.01, worst=Estimate(0.9, 0.8, 1.0), reason="no gain")


@pytest.mark.parametrize(
    ("cost", "found", "accepted"),
    [
        ("latency", AS_FAST, False),
        ("flops", AS_FAST, True),
        ("bytes", HARDLY_SLOWER, True),
        ("launches", SLOWER, False),
        ("flops", SLOW_INPUT, False),
        ("flops", FASTER, True),
    ],
)
def test_for_other_metrics_as_fast_is_enough(timing, cost, found, accepted):
    timing.verdicts = [found]
    judgement = double(cost=cost).judge([scaled(2.0)], 5.0, quiet)
    assert (judgement.winner == 0) == accepted
    if accepted and not found.accepted:
        assert judgement.reason.startswith("as fast: ratio ")
    else:
        assert judgement.reason == found.reason


@pytest.mark.parametrize(
    ("cost", "found", "rest", "accepted"),
    [
        # The original takes 3e6 ns; the candidate at most 3e6 / 1.4 = 2.14e6.
        ("latency + bytes", FASTER, (1000, 900), True),
        ("latency + bytes", FASTER, (1000, 859_000), False),
        ("latency + bytes", FASTER, (1000, 857_000), True),
        ("2*latency + bytes", FASTER, (1000, 1_700_000), True),
        # Slower, at worst 3e6 / 0.7 = 4.29e6, and yet cheaper in sum.
        ("latency + bytes", SLOWER, (2_000_000, 100_000), True),
        ("latency + bytes", SLOWER, (1_000_000, 100_000), False),
        ("latency + bytes", AS_FAST, (1000, 1000), False),
    ],
)
def test_combinations_fall_with_the_measured_latency(timing, cost, found, rest, accepted):
    timing.verdicts = [found]
    judgement = double(cost=cost).judge([scaled(2.0)], 5.0, quiet, rest)
    assert (judgement.winner == 0) == accepted
    assert judgement.reason.startswith("with measured latency the cost is ")


def test_ctrl_c_while_timing_leaves_it_to_the_caller(timing, monkeypatch):
    def interrupted(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(gate_module, "faster", interrupted)
    with pytest.raises(KeyboardInterrupt):
        double().judge([scaled(2.0)], 5.0, quiet)


def sizes_of(feeds):
    return [item["x"].shape for item in feeds]


def test_dynamic_sizes_are_compared_at_three_other_sizes_and_timed_at_two(timing):
    gate = double()
    assert set(sizes_of(gate.feeds)) == {(1, 3), (2, 3), (3, 3)}, "half of one is one"
    gate.judge([scaled(2.0)], 5.0, quiet)
    assert sizes_of(timing.timed[0].feeds) == [(1, 3), (2, 3), (3, 3)]
    assert gate.sizes == {"n": 1}


def test_given_sizes_are_timed_alone_and_others_compared():
    gate = double(sizes={"n": 8})
    assert set(sizes_of(gate.feeds)) == {(8, 3), (16, 3), (4, 3), (9, 3)}
    assert sizes_of(gate.timed) == [(8, 3)]
    assert gate.sizes == {"n": 8}


def test_free_sizes_are_timed_with_the_given_ones_as_they_are():
    node = helper.make_node("Relu", ["x"], ["y"])
    proto = model([node], [value("x", TensorProto.FLOAT, ["b", "c"])], [value("y")])
    gate = Gate(onnx_io.read(proto), Options(sizes={"b": 4}))
    assert sizes_of(gate.timed) == [(4, 64), (4, 128), (4, 32)]
    assert {(8, 128), (2, 32), (5, 65)} < set(sizes_of(gate.feeds))


def test_sizes_at_which_the_model_fails_are_left_out():
    # Rows and columns have names of their own, yet only squares work.
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("Add", ["x", "t"], ["y"]),
    ]
    fussy = model(nodes, [value("x", TensorProto.FLOAT, ["r", "c"])], [value("y")])
    gate = Gate(onnx_io.read(fussy), Options())
    assert all(feeds["x"].shape[0] in (1, feeds["x"].shape[1]) for feeds in gate.feeds)


def test_own_inputs_are_used_and_random_ones_beside_them():
    own = {"x": np.full((4, 3), 5.0, np.float32)}
    gate = double(inputs=own)
    assert np.array_equal(gate.feeds[0]["x"], own["x"])
    assert set(sizes_of(gate.feeds)) == {(4, 3), (8, 3), (2, 3), (5, 3)}
    assert sizes_of(gate.feeds).count((4, 3)) == 3
    assert len(gate.timed) == 1 and gate.timed[0] is gate.feeds[0]
    assert gate.sizes == {"n": 4}


def test_own_inputs_that_do_not_fit_are_wrong_usage():
    with pytest.raises(UsageError, match="expected"):
        double(inputs={"x": np.zeros((4, 5), np.float32)})


def test_own_inputs_serve_where_no_random_ones_do():
    gate = Gate(onnx_io.read(gather(1)), Options(inputs={"i": np.zeros(2, np.int64)}))
    assert np.array_equal(gate.feeds[0]["i"], [0, 0])


def test_an_original_that_cannot_be_run_is_said_to_be():
    broken = model([helper.make_node("Relu", ["x"], ["y"], domain="some.where")],
                   [value("x", TensorProto.FLOAT, [2])], [value("y")])  # fmt: skip
    broken.opset_import.append(helper.make_opsetid("some.where", 1))
    with pytest.raises(RuntimeRefusal, match=r"some\.where"):
        Gate(onnx_io.read(broken), Options())


def test_external_data_reach_the_candidates(timing, tmp_path):
    source = onnx_io.read(external(tmp_path))
    gate = Gate(source, Options())
    candidate = onnx_io.write(source.graph, source)
    assert gate.judge([candidate], 5.0, quiet).winner == 0
    (timed,) = timing.timed
    assert isinstance(timed.candidate, InFolder)
    assert timed.candidate.folder == tmp_path


def test_models_too_large_for_one_message_are_kept_in_memory(timing, monkeypatch):
    class Large:
        def SerializeToString(self):  # protobuf's name
            raise ValueError("larger than 2 GB")

    seen = []

    def opened(candidate, settings):
        seen.append(candidate.model)
        raise RuntimeFailure("not opened here")

    gate = double()
    monkeypatch.setattr(gate_module, "open_session", opened)
    large = Large()
    assert gate.judge([large], 5.0, quiet).winner is None
    assert seen == [large]


@pytest.mark.slow
def test_real_timing_keeps_the_original_against_itself():
    gate = Gate(onnx_io.read(small_model()), Options())
    judgement = gate.judge([small_model()], 4.0, quiet)
    assert judgement.winner is None
    assert judgement.latency is not None


def test_what_is_too_slow_to_be_timed_stays_and_says_so(timing):
    gate = double(seconds=10.0)
    gate.run_seconds = 2.0
    judgement = gate.judge([scaled(2.0)], 5.0, quiet)
    assert judgement.winner is None and not timing.timed
    assert judgement.reason.startswith("one run takes 2 s, so that timing needs about 120 s")


def test_a_slow_original_is_compared_on_one_input(monkeypatch):
    times = iter(float(i) for i in range(100))
    monkeypatch.setattr(gate_module.time, "perf_counter", lambda: next(times))
    assert len(double(seconds=10.0).feeds) == 1
    assert len(double(seconds=1000.0).feeds) > 1
