"""The whole way of a model: nothing lost, nothing changed in its interface, the same every time."""

import signal

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tensaur import choosing, onnx_io, pipeline
from tensaur.cost.analytic import Launches
from tensaur.egraph.egraph import EGraph
from tensaur.errors import ModelError, RuntimeFailure, UnsoundRule, UsageError
from tensaur.extract import refine
from tensaur.extract.serialized import read
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.gate import Judgement
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var, derived
from tensaur.ir.types import Fact
from tensaur.ops import Mul, add, matmul, mul, relu
from tensaur.options import Options
from tensaur.pipeline import optimize
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import compare_outputs
from tensaur.runtime.protocol import Settings
from tensaur.testing import optimize_proto
from tests.runtime.models import FLOAT, INT64, model, scaled, value
from tests.small import small_file, small_model

METRICS = ("flops", "bytes", "launches")
x, y = Var("x"), Var("y")


def alone(**options):
    """Return options for the rewriting alone."""
    return Options(**{"cost": "flops", "gate": False, **options})


def product(opset=18, batch="batch"):
    """Return the first row of x * a * b for x of batch x 64."""
    random = np.random.default_rng(0)
    weights = {
        "a": random.standard_normal((64, 64)).astype(np.float32),
        "b": random.standard_normal((64, 64)).astype(np.float32),
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "axis": np.array([0], np.int64),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["xa"]),
        helper.make_node("MatMul", ["xa", "b"], ["all"]),
        helper.make_node("Slice", ["all", "zero", "one", "axis"], ["first"]),
        helper.make_node("Relu", ["first"], ["y"]),
    ]
    x_, y_ = value("x", FLOAT, [batch, 64]), value("y", FLOAT, ["rows", 64])
    return model(nodes, [x_], [y_], weights, opset=opset)


def ops(proto):
    """Return the operators of a model, sorted."""
    return sorted(node.op_type for node in proto.graph.node)


def same(before, after, *shapes):
    """Assert equal outputs on inputs `x` of these shapes."""
    sessions = open_session(before), open_session(after)
    for shape in shapes:
        feeds = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
        first, second = (session.run(feeds) for session in sessions)
        found = compare_outputs(first, second)
        assert found.equal, found.reason


@pytest.mark.parametrize("op", ["Add", "Max", "Sub", "Less"])
def test_axes_reversed_of_unknown_ranks_are_not_taken_for_the_same(op):
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"]),
        helper.make_node("Transpose", ["y"], ["b"]),
        helper.make_node(op, ["a", "b"], ["z"]),
    ]
    inputs = [helper.make_value_info(n, helper.make_tensor_type_proto(FLOAT, None)) for n in "xy"]
    before = model(nodes, inputs, [value("z", TensorProto.BOOL if op == "Less" else FLOAT)])
    after = optimize(before, options=alone(cost="launches")).model
    feeds = {"x": np.float32([[1, 2], [3, 4]]), "y": np.float32([10, 2])}
    first, second = (open_session(item).run(feeds)["z"] for item in (before, after))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("cost", METRICS)
def test_work_is_removed_and_nothing_else_changes(cost):
    before = product()
    result = optimize(before, options=alone(cost=cost))
    after = result.model
    onnx.checker.check_model(after, full_check=True)
    assert list(after.graph.input) == list(before.graph.input)
    assert list(after.graph.output) == list(before.graph.output)
    assert after.opset_import == before.opset_import
    same(before, after, (5, 64), (1, 64))
    assert result.cost_after < result.cost_before
    assert result.cost_unit == cost
    assert not result.kept_original
    assert result.rewrites
    assert result.extraction.proved
    assert result.extraction.cost == result.extraction.bound == result.cost_after
    assert (result.nodes_before, result.nodes_after) == (4, 3)
    assert set(result.seconds) == {"reading", "exploring", "choosing", "checking", "explaining"}


@pytest.mark.parametrize("cost", METRICS)
@pytest.mark.parametrize("extract", ["ilp", "dag", "tree"])
def test_the_same_twice(cost, extract):
    options = alone(cost=cost, extract=extract)
    first, second = (
        optimize(product(), options=options).model.SerializeToString(deterministic=True)
        for _ in range(2)
    )
    assert first == second


def test_the_source_is_not_changed():
    proto = product()
    before = proto.SerializeToString(deterministic=True)
    optimize(proto, options=alone())
    assert proto.SerializeToString(deterministic=True) == before


def test_dynamic_dimensions_stay_dynamic():
    after = optimize(product(), options=alone(sizes={"batch": 8})).model
    assert after.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert optimize(product(), options=alone(sizes={"batch": 8})).sizes["batch"] == 8
    same(product(), after, (8, 64), (3, 64))


def test_overridable_initialisers_stay_overridable():
    proto = scaled(1.0)  # x * 1 would be x
    proto.graph.input.append(value("factor", FLOAT, []))
    after = optimize(proto, options=alone()).model
    assert [item.name for item in after.graph.input] == ["x", "factor"]
    assert [item.name for item in after.graph.initializer] == ["factor"]
    session, feeds = open_session(after), {"x": np.ones((2, 3), np.float32)}
    assert session.run(feeds)["y"].max() == 1
    changed = session.run({**feeds, "factor": np.array(3, np.float32)})
    assert changed["y"].max() == 3


def test_a_path_a_proto_and_an_ir_model_give_the_same(tmp_path):
    import onnx_ir

    path = small_file(tmp_path)
    given = (path, str(path), small_model(), onnx_ir.from_proto(small_model()))
    results = [optimize(item, options=alone(cost="launches")) for item in given]
    assert len({tuple(ops(result.model)) for result in results}) == 1
    assert len({result.cost_after for result in results}) == 1


def test_saving(tmp_path):
    result = optimize(small_file(tmp_path), options=alone())
    result.save(tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx") == result.model


def test_optimize_proto_is_the_rewriting_alone():
    after = optimize_proto(product())
    assert len(after.graph.node) == 3
    same(product(), after, (4, 64))


def test_a_file_that_is_no_model_is_an_error(tmp_path):
    path = tmp_path / "text.onnx"
    path.write_text("not a model")
    with pytest.raises(ModelError, match=r"text\.onnx"):
        optimize(path)


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 17, 21])
def test_every_opset_is_written_as_it_was_read(opset):
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["p"]),
        helper.make_node("MatMul", ["x", "b"], ["q"]),
        helper.make_node("Add", ["p", "q"], ["s"]),
        helper.make_node("Relu", ["s"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0]),
        helper.make_node("Transpose", ["t"], ["y"], perm=[1, 0]),
    ]
    weights = {name: np.ones((64, 64), np.float32) for name in "ab"}
    before = model(nodes, [value("x", FLOAT, ["n", 64])], [value("y")], weights, opset=opset)
    result = optimize(before, options=alone())
    assert result.model.opset_import[0].version == opset
    assert ops(result.model) == ["MatMul", "Relu"]
    same(before, result.model, (3, 64))


# --- budgets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", METRICS)
@pytest.mark.parametrize("limit", [{"seconds": 0.0}, {"nodes": 1}, {"iterations": 0}])
def test_without_any_budget_the_result_is_still_right(cost, limit):
    result = optimize(product(), options=alone(cost=cost, **limit))
    onnx.checker.check_model(result.model)
    same(product(), result.model, (3, 64))
    assert result.cost_after <= result.cost_before


def test_the_node_limit_never_keeps_the_model_itself_out():
    result = optimize(product(), options=alone(nodes=1))
    assert result.stop.startswith("the node limit")


@pytest.mark.parametrize("extract", ["ilp", "dag", "tree"])
@pytest.mark.parametrize("growth", [0, 100, 1 << 20])
def test_the_file_grows_within_its_budget(extract, growth):
    before = product()
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["c"]),
        helper.make_node("Mul", ["all", "c"], ["z"]),
    ]
    before.graph.node.extend(nodes)
    before.graph.output.append(value("z"))
    result = optimize(before, options=alone(extract=extract, max_growth=growth))
    assert result.cost_after <= result.cost_before

    def constants(proto):
        return sum(numpy_helper.to_array(item).nbytes for item in proto.graph.initializer)

    # What Slice takes as inputs is written anew where a Slice moves: 8 bytes each.
    assert constants(result.model) <= constants(before) + growth + 64


def test_greedy_choices_that_miss_the_budget_keep_the_original(monkeypatch):
    def too_large(problem, method, **settings):
        if problem.size_budget is not None:
            raise choosing.ExtractionError("no solution of at most 0 bytes was found")
        return extract_(problem, method, **settings)

    extract_ = choosing.extract
    monkeypatch.setattr(choosing, "extract", too_large)
    result = optimize(product(), options=alone(extract="tree"))
    assert result.kept_original
    assert result.model == product()
    assert result.cost_after == result.cost_before > 0


@pytest.mark.parametrize("extract", ["dag", "tree"])
def test_greedy_choices_that_are_dearer_are_dropped(extract, monkeypatch):
    def price(self, picked, prices):
        return 10 if all(option.loaded for option in picked.values()) else 11

    monkeypatch.setattr(Space, "price", price)
    result = optimize(product(), options=alone(extract=extract))
    assert result.kept_original


# --- when something fails -----------------------------------------------------------------------------


def custom(domain="some.where"):
    """Return a model with an operator that no runtime knows."""
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Mystery", ["n"], ["m"], domain=domain),
        helper.make_node("Neg", ["m"], ["k"]),
        helper.make_node("Neg", ["k"], ["y"]),
    ]
    proto = model(nodes, [value("x", FLOAT, [4])], [value("y", FLOAT, [4])])
    proto.graph.value_info.append(value("m", FLOAT, [4]))
    proto.opset_import.append(helper.make_opsetid(domain, 1))
    return proto


def test_a_model_that_cannot_be_run_is_returned_as_it_is():
    said = []
    result = optimize(custom(), options=Options(cost="flops"), progress=said.append)
    assert result.kept_original
    assert result.model == custom()
    assert result.reason.startswith("it cannot be run here: the runtime refuses the model")
    assert "some.where" in result.reason
    assert said == ["reading"], "nothing can be shown to be faster"
    assert (result.latency, result.comparison, result.rewrites) == (None, None, ())


def test_without_the_gate_it_is_rewritten_around_the_unknown():
    result = optimize(custom(), options=alone(cost="launches"))
    assert ops(result.model) == ["Mystery", "Neg"]


def test_wrong_inputs_are_wrong_usage():
    with pytest.raises(UsageError, match="inputs"):
        optimize(small_model(), options=Options(inputs={"z": np.zeros(3, np.float32)}))


@derived
def _never(fact: Fact) -> bool:
    return False


def test_rules_of_the_user_are_applied():
    rule = Rule("user-double", add(x, x), mul(x, matmul(x, x)), (_never(x),), ROUNDING)
    assert rule.name not in {
        r.rule for r in optimize(small_model(), options=alone(rules=(rule,))).rewrites
    }
    rule = Rule("user-no-relu", relu(x), x, (), ROUNDING)  # a user may say what is not so
    result = optimize(small_model(), options=alone(rules=(rule,)))
    assert "Relu" not in ops(result.model)
    assert "user-no-relu" in {rewrite.rule for rewrite in result.rewrites}
    assert result.trusted == ()


def test_trusted_rules_are_told_apart_where_they_are_used():
    used = Rule("user-no-relu", relu(x), x, (), ROUNDING)
    unused = Rule("user-double", add(x, x), mul(x, matmul(x, x)), (_never(x),), ROUNDING)
    trusted = frozenset({used.name, unused.name})
    result = optimize(small_model(), options=alone(rules=(used, unused), trusted=trusted))
    assert result.trusted == ("user-no-relu",)


@pytest.fixture
def broken(monkeypatch):
    """Make products of constants fail when they are to be folded."""
    asked = []

    def evaluate(self, *inputs):
        asked.append(len(inputs))
        raise ValueError("cannot be computed")

    monkeypatch.setattr(Mul, "evaluate", evaluate)
    return asked


def test_what_cannot_be_folded_is_done_at_run_time(broken):
    weights = {name: np.full((8, 8), 2.0, np.float32) for name in "ab"}
    nodes = [
        helper.make_node("Mul", ["a", "b"], ["ab"]),
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node("Neg", ["n"], ["k"]),
        helper.make_node("Add", ["k", "ab"], ["y"]),
    ]
    before = model(nodes, [value("x", FLOAT, [8, 8])], [value("y")], weights)
    result = optimize(before, options=alone())
    assert broken, "folding was tried"
    assert ops(result.model) == ["Add", "Mul"], "and everything else was done"
    same(before, result.model, (8, 8))


# --- Ctrl-C -------------------------------------------------------------------------------------------


def interrupt(*args, **settings):
    raise KeyboardInterrupt


def test_ctrl_c_while_exploring_ends_the_exploring():
    calls = []

    @derived
    def busy(fact: Fact) -> bool:
        calls.append(fact)
        raise KeyboardInterrupt

    rule = Rule("user-busy", relu(x), x, (busy(x),))
    result = optimize(product(), options=alone(rules=(rule,)))
    assert calls
    assert result.stop == "interrupted"
    onnx.checker.check_model(result.model)
    same(product(), result.model, (3, 64))


@pytest.mark.parametrize("measured", [0, 1, 2, 4])
def test_ctrl_c_while_measuring_ends_the_measuring(measured, monkeypatch):
    class Slow(Launches):
        measured = None

        def known(self, graph):
            return None

        def measure(self, graph):
            calls.append(graph)
            if len(calls) == measured + 1:
                raise KeyboardInterrupt
            return super().measure(graph)

    calls = []
    monkeypatch.setattr(choosing, "pricer_for", lambda *args, **settings: Slow())
    result = optimize(product(), options=alone())
    assert len(calls) == measured + 1, "nothing is measured afterwards"
    assert result.cost_after <= result.cost_before
    same(product(), result.model, (3, 64))


def test_ctrl_c_while_extracting_keeps_what_was_found(monkeypatch):
    def extract(problem, method, **settings):
        if problem.size_budget is not None:
            raise KeyboardInterrupt
        return extract_(problem, method, **settings)

    extract_ = choosing.extract
    monkeypatch.setattr(choosing, "extract", extract)
    result = optimize(product(), options=alone())
    assert result.kept_original
    assert result.model == product()
    assert result.cost_before == result.cost_after > 0


def test_an_interrupted_choice_is_not_called_a_finding(monkeypatch):
    monkeypatch.setattr(choosing, "lower", interrupt)
    result = optimize(product(), options=Options(cost="launches"))
    assert result.kept_original
    assert result.reason.startswith("interrupted")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (EGraph, "load"),
        (Space, "__post_init__"),
        (refine.Refinement, "__post_init__"),
        (choosing, "lower"),
        (choosing, "rules_used"),
        (onnx_io, "write"),
    ],
)
def test_ctrl_c_anywhere_gives_a_result(place, name, monkeypatch):
    monkeypatch.setattr(place, name, interrupt)
    result = optimize(product(), options=alone())
    assert result.kept_original
    assert result.model == product()
    assert result.reason


def test_ctrl_c_while_timing_keeps_the_original(monkeypatch):
    monkeypatch.setattr(pipeline.Gate, "judge", interrupt)
    result = optimize(small_model(), options=Options(cost="launches"))
    assert result.kept_original
    assert result.model == small_model()
    assert result.reason == "interrupted before anything was shown to be faster"


@pytest.mark.parametrize("phase", ["exploring", "choosing", "checking"])
@pytest.mark.parametrize("cost", METRICS)
def test_a_true_interrupt_in_any_phase_gives_a_result(phase, cost):
    def press(said):
        if said == phase:
            signal.raise_signal(signal.SIGINT)

    result = optimize(product(), options=alone(cost=cost), progress=press)
    assert result.kept_original
    assert result.model == product()
    assert result.reason.startswith("interrupted")


def test_ctrl_c_while_reading_is_the_caller_s(monkeypatch):
    monkeypatch.setattr(onnx_io, "read", interrupt)
    with pytest.raises(KeyboardInterrupt):
        optimize(small_model(), options=alone())


# --- the gate -----------------------------------------------------------------------------------------


class FakeGate:
    """A gate that opens nothing and takes what it is told to take."""

    def __init__(self, source, options):
        self.sizes, self.reserve = {"batch": 4}, 0.0
        self.original, self.settings, self.timed = source.proto, Settings(), [{}]

    winner: int | None = 0
    seen: list[object] = []

    def judge(self, candidates, seconds, say, rest):
        self.seen.append(candidates)
        return Judgement(self.winner if candidates else None, "as told")


@pytest.fixture
def gate(monkeypatch):
    monkeypatch.setattr(pipeline, "Gate", FakeGate)
    monkeypatch.setattr(FakeGate, "seen", [])
    return FakeGate


def test_the_gate_decides(gate, monkeypatch):
    result = optimize(product(), options=Options(cost="flops"))
    assert (result.kept_original, result.reason) == (False, "as told")
    assert result.sizes["batch"] == 4
    monkeypatch.setattr(gate, "winner", None)
    result = optimize(product(), options=Options(cost="flops"))
    assert (result.kept_original, result.reason) == (True, "as told")
    assert result.model == product()
    assert result.cost_after == result.cost_before
    assert result.rewrites == ()


def test_what_is_not_cheaper_is_not_judged(gate):
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    plain = model(nodes, [value("x", FLOAT, [4])], [value("y", FLOAT, [4])])
    result = optimize(plain, options=Options(cost="flops"))
    assert gate.seen == [[]]
    assert result.kept_original


def test_an_original_that_fails_to_run_is_kept(monkeypatch):
    class Failing(FakeGate):
        def __init__(self, source, options):
            raise RuntimeFailure("no random inputs found that the model accepts: bad index")

    monkeypatch.setattr(pipeline, "Gate", Failing)
    result = optimize(product(), options=Options(cost="flops"))
    assert result.kept_original
    assert result.reason.endswith("bad index")


def test_unsound_rules_do_not_lose_the_model(monkeypatch):
    def contradict(*args):
        raise UnsoundRule("rule a equates 1 with 2")

    monkeypatch.setattr(pipeline, "explore", contradict)
    result = optimize(product(), options=alone())
    assert result.kept_original
    assert "rule a equates 1 with 2" in result.reason


@pytest.mark.slow
def test_a_real_gate_lets_through_what_is_faster(tmp_path):
    random = np.random.default_rng(0)
    weights = {n: random.standard_normal((512, 512)).astype(np.float32) for n in "ab"}
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["p"]),
        helper.make_node("MatMul", ["x", "b"], ["q"]),
        helper.make_node("Add", ["p", "q"], ["y"]),
    ]
    before = model(nodes, [value("x", FLOAT, [256, 512])], [value("y")], weights)
    options = Options(seconds=20, store=tmp_path / "costs.sqlite")
    result = optimize(before, options=options)
    assert not result.kept_original
    assert result.speedup > 1.3
    assert ops(result.model) == ["MatMul"]


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.INT64])
def test_models_without_any_operator(kind):
    wire = model(
        [helper.make_node("Identity", ["x"], ["y"])],
        [value("x", kind, [2])],
        [value("y", kind, [2])],
    )
    result = optimize(wire, options=alone())
    assert ops(result.model) == ["Identity"]
    constant = model([], [], [value("c", INT64, [2])], {"c": np.array([1, 2], np.int64)})
    result = optimize(constant, options=alone())
    assert open_session(result.model).run({})["c"].tolist() == [1, 2]


def test_progress_names_the_phases():
    said = []
    optimize(small_model(), options=alone(), progress=said.append)
    assert said == ["reading", "exploring", "choosing", "checking", "explaining"]


def test_size_alone_can_be_made_small():
    # Two 64 x 64 weights become one of their product's size, and nothing else changes.
    result = optimize(product(), options=alone(cost="size"))
    assert result.cost_unit == "size"
    assert result.cost_after == result.metrics_after.size < result.cost_before
    assert result.cost_before == result.metrics_before.size
    same(product(), result.model, (5, 64))


def test_combinations_weigh_their_parts():
    result = optimize(product(), options=alone(cost="0.5*launches + 1e-6*size"))
    assert result.cost_unit == "0.5*launches + 1e-6*size"
    for cost, found in (
        (result.cost_before, result.metrics_before),
        (result.cost_after, result.metrics_after),
    ):
        assert cost == pytest.approx(0.5 * found.launches + 1e-6 * found.size)
    assert result.extraction.proved
    assert result.cost_after == pytest.approx(1.5 + 1e-6 * result.metrics_after.size)


def test_own_costs_choose_the_form():
    def products(op, inputs, output):
        return 1 if type(op).__name__ == "MatMul" else 0.01

    result = optimize(product(), options=alone(cost=products))
    assert ops(result.model) == ["MatMul", "Relu", "Slice"]
    assert (result.cost_before, result.cost_after) == (2.02, 1.02)
    assert result.cost_unit == "products"


def test_faults_of_own_costs_end_the_run():
    def wrong(op, inputs, output):
        return -1

    with pytest.raises(UsageError, match=r"^cost: wrong returned -1 for \w+"):
        optimize(product(), options=alone(cost=wrong))


def test_candidates_above_a_limit_are_dropped():
    free = optimize(product(), options=alone())
    assert free.limits == ()
    peak = free.metrics_after.peak_memory
    assert peak < free.metrics_before.peak_memory
    within = optimize(product(), options=alone(limits={"peak_memory": peak}))
    assert not within.kept_original and within.metrics_after == free.metrics_after
    over = f"peak_memory {free.metrics_before.peak_memory:,} > {peak:,}"
    assert within.limits == (f"the original is above the limit: {over}",)
    kept = optimize(product(), options=alone(limits={"peak_memory": peak - 1}))
    assert kept.kept_original
    assert kept.metrics_after == kept.metrics_before
    assert kept.limits[0] == f"a candidate was dropped: peak_memory {peak:,} > {peak - 1:,}"
    assert kept.limits[1].startswith("the original is above the limit: peak_memory")


def test_limits_that_hold_are_not_mentioned():
    found = optimize(product(), options=alone(limits={"flops": 10**9, "bytes": 10**9}))
    assert found.limits == () and not found.kept_original


def test_a_limit_on_size_bounds_what_is_extracted():
    free = optimize(product(), options=alone())
    limit = free.metrics_after.size
    found = optimize(product(), options=alone(limits={"size": limit}))
    assert not found.kept_original and found.metrics_after.size <= limit
    none = optimize(product(), options=alone(limits={"size": 100}))
    assert none.kept_original
    assert any(line.startswith("the original is above the limit: size") for line in none.limits)


def test_the_egraph_that_was_extracted_from_can_be_written(tmp_path):
    result = optimize(small_file(tmp_path), options=Options(cost="flops", gate=False))
    result.egraph.save(tmp_path / "e.json")
    found = read(tmp_path / "e.json")
    again = extract(found.problem)
    # Every node costs a little beside its price, which whole numbers of operations leave out.
    assert int(again.cost / found.scale) == result.extraction.cost
