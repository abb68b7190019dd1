"""Which operators stand behind the kernels that ONNX Runtime makes of a model, and how long they take."""

import numpy as np
import pytest
from onnx import TensorProto, helper, load, save_model

from tensaur.errors import RuntimeFailure
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import InFolder, Kernel, Settings
from tensaur.runtime.stopwatch import latency, meter_for
from tests.runtime.models import FLOAT, model, value

node = helper.make_node
RANDOM = np.random.default_rng(0)


def weight(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def built(nodes, shape, outputs=("y",), weights=None, **inputs):
    """Return a model with the input x and others by name."""
    ports = [value(name, FLOAT, item) for name, item in {"x": shape, **inputs}.items()]
    return model(nodes, ports, [value(name) for name in outputs], weights)


def computed(found):
    """Return what each kernel computes, without those that were added."""
    return [kernel.computes for kernel in found if kernel.computes]


def kernels(*arguments, **options):
    return RUNTIME.kernels(built(*arguments, **options))


GELU = [
    node("Div", ["x", "root"], ["d"]),
    node("Erf", ["d"], ["e"]),
    node("Add", ["e", "one"], ["p"]),
    node("Mul", ["x", "p"], ["m"]),
    node("Mul", ["m", "half"], ["y"]),
]
GELU_WEIGHTS = {
    "root": np.float32(np.sqrt(2)),
    "one": np.float32(1),
    "half": np.float32(0.5),
}
NORMALISATION = [
    node("ReduceMean", ["x", "axis"], ["mean"]),
    node("Sub", ["x", "mean"], ["d"]),
    node("Pow", ["d", "two"], ["square"]),
    node("ReduceMean", ["square", "axis"], ["variance"]),
    node("Add", ["variance", "epsilon"], ["v"]),
    node("Sqrt", ["v"], ["s"]),
    node("Div", ["d", "s"], ["n"]),
    node("Mul", ["n", "scale"], ["scaled"]),
    node("Add", ["scaled", "bias"], ["y"]),
]
NORMALISATION_WEIGHTS = {
    "axis": np.array([-1]),
    "two": np.float32(2),
    "epsilon": np.float32(1e-5),
    "scale": weight(16),
    "bias": weight(16),
}


@pytest.mark.parametrize(
    ("nodes", "shape", "weights"),
    [
        (GELU, (2, 8, 16), GELU_WEIGHTS),
        (NORMALISATION, (2, 8, 16), NORMALISATION_WEIGHTS),
    ],
)
def test_patterns_written_out_are_one_kernel(nodes, shape, weights):
    (found,) = kernels(nodes, shape, weights=weights)
    assert found.computes == tuple(item.output[0] for item in nodes)


def test_names_survive_the_blocked_layout_of_convolutions():
    nodes = [
        node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Relu", ["c"], ["r"]),
        node("Conv", ["r", "w"], ["d"], pads=[1, 1, 1, 1]),
        node("Add", ["d", "r"], ["s"]),
        node("Relu", ["s"], ["t"]),
        node("MaxPool", ["t"], ["p"], kernel_shape=[2, 2]),
        node("Mul", ["p", "p"], ["q"]),
        node("Abs", ["q"], ["y"]),
    ]
    found = kernels(nodes, (1, 16, 8, 8), weights={"w": weight(16, 16, 3, 3)})
    assert computed(found) == [("c", "r"), ("d", "s", "t"), ("p",), ("q",), ("y",)]
    added = [kernel.kind for kernel in found if not kernel.computes]
    assert added == ["ReorderInput", "ReorderOutput"]


def test_a_normalisation_in_a_blocked_layout_is_found_again():
    nodes = [
        node("AveragePool", ["x"], ["a"], kernel_shape=[2, 2]),
        node("BatchNormalization", ["a", "scale", "bias", "mean", "variance"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2]),
    ]
    names = ("scale", "bias", "mean", "variance")
    weights = {name: np.abs(weight(16)) + 1 for name in names}
    found = kernels(nodes, (1, 16, 8, 8), weights=weights)
    assert computed(found) == [("a",), ("n", "r"), ("y",)]
    assert [kernel.kind for kernel in found if kernel.computes][1] == "Conv"


def test_a_product_with_a_bias_is_one_kernel_and_what_was_added_computes_nothing():
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])]
    found = kernels(nodes, (2, 8, 16), weights={"w": weight(16, 4), "b": weight(4)})
    assert computed(found) == [("m", "y")]
    assert [kernel.kind for kernel in found] == ["Reshape", "Gemm", "Reshape"]


def test_an_operator_with_several_outputs_is_named_by_its_first():
    nodes = [
        node("Split", ["x"], ["a", "b"], axis=-1, num_outputs=2),
        node("Add", ["a", "b"], ["y"]),
    ]
    assert computed(kernels(nodes, (2, 8))) == [("a",), ("y",)]


def test_bodies_belong_to_their_operator():
    def body(kind):
        result = value(f"{kind}_y", FLOAT)
        return helper.make_graph([node(kind, ["r"], [result.name])], kind, [], [result])

    nodes = [
        node("Relu", ["x"], ["r"]),
        node("If", ["flag"], ["c"], then_branch=body("Neg"), else_branch=body("Exp")),
        node("Add", ["c", "c"], ["y"]),
    ]
    ports = [value("x", FLOAT, (4,)), value("flag", TensorProto.BOOL, ())]
    found = RUNTIME.kernels(model(nodes, ports, [value("y")]))
    assert computed(found) == [("r",), ("c",), ("y",)]


def test_operators_on_constants_belong_to_no_kernel():
    nodes = [node("Exp", ["w"], ["e"]), node("Mul", ["x", "e"], ["y"])]
    assert computed(kernels(nodes, (4,), weights={"w": weight(4)})) == [("y",)]


def test_initialisers_listed_as_inputs_are_constants_in_old_models_alone():
    nodes = [node("Abs", ["w"], ["e"]), node("Conv", ["x", "e"], ["c"])]
    nodes.append(node("Relu", ["c"], ["y"]))
    whole = built(nodes, (1, 16, 4, 4), weights={"w": weight(16, 16, 1, 1)}, w=(16, 16, 1, 1))
    assert computed(RUNTIME.kernels(whole)) == [("e",), ("c", "y")]
    whole.ir_version = 3
    assert computed(RUNTIME.kernels(whole)) == [("c", "y")]


def test_of_equal_operators_the_first_is_named():
    nodes = [
        node("Exp", ["x"], ["a"]),
        node("Exp", ["x"], ["b"]),
        node("Add", ["a", "b"], ["s"]),
        node("Tanh", ["s"], ["y"]),
    ]
    assert computed(kernels(nodes, (4,))) == [("a",), ("s",), ("y",)]


def test_an_operator_that_is_a_function_is_named_by_each_of_its_kernels():
    nodes = [
        node("MeanVarianceNormalization", ["x"], ["n"], axes=[0, 2]),
        node("Neg", ["n"], ["y"]),
    ]
    found = computed(kernels(nodes, (2, 3, 4)))
    assert found[-1] == ("y",)
    assert set(found[:-1]) == {("n",)}


def test_transpositions_moved_past_others_leave_the_others_their_kernels():
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]),
        node("Relu", ["t"], ["r"]),
        node("Transpose", ["r"], ["y"], perm=[0, 3, 1, 2]),
    ]
    (found,) = computed(kernels(nodes, (1, 8, 4, 4)))
    assert "r" in found


def test_without_optimisation_every_operator_is_a_kernel():
    found = RUNTIME.kernels(
        built(GELU, (2, 8, 16), weights=GELU_WEIGHTS), Settings(optimised=False)
    )
    assert found == tuple(Kernel(item.op_type, (item.output[0],)) for item in GELU)


def test_models_with_data_in_other_files(tmp_path):
    nodes = [node("MatMul", ["x", "w"], ["m"]), node("Relu", ["m"], ["y"])]
    whole = built(nodes, (8, 64), weights={"w": weight(64, 64)})
    expected = RUNTIME.kernels(whole)
    path = tmp_path / "model.onnx"
    save_model(whole, path, save_as_external_data=True, location="data", size_threshold=0)
    assert RUNTIME.kernels(path) == expected
    assert RUNTIME.kernels(InFolder(path.read_bytes(), tmp_path)) == expected
    assert sorted(item.name for item in tmp_path.iterdir()) == ["data", "model.onnx"]


def test_refused_models_raise():
    with pytest.raises(RuntimeFailure, match="refuses"):
        kernels([node("Relu", ["nowhere"], ["y"])], (4,))


def test_a_profile_adds_up_to_the_latency_and_the_product_has_most_of_it():
    nodes = [node("Neg", ["x"], ["n"]), node("MatMul", ["n", "w"], ["m"])]
    nodes.append(node("Abs", ["m"], ["y"]))
    whole = built(nodes, (256, 512), weights={"w": weight(512, 512)})
    feeds = {"x": weight(256, 512)}
    found = RUNTIME.profile(whole, feeds, Settings(), 0.2)
    assert [kernel.computes for kernel in found] == [("n",), ("m",), ("y",)]
    total = sum(kernel.seconds for kernel in found)
    plain = latency(RUNTIME.open(whole).runner(feeds), 0.1, meter=meter_for(1))
    assert plain / 4 < total < 4 * plain
    assert found[1].seconds > total / 2


def test_a_profile_counts_bodies_once():
    body = helper.make_graph(
        [node("MatMul", ["x", "x"], ["t"]), node("Exp", ["t"], ["u"])], "b", [], [value("u")]
    )
    nodes = [
        node("If", ["flag"], ["c"], then_branch=body, else_branch=body),
        node("Neg", ["c"], ["y"]),
    ]
    ports = [value("x", FLOAT, (64, 64)), value("flag", TensorProto.BOOL, ())]
    feeds = {"x": weight(64, 64), "flag": np.array(True)}
    found = RUNTIME.profile(model(nodes, ports, [value("y")]), feeds, Settings(), 0.1)
    assert [kernel.computes for kernel in found] == [("c",), ("y",)]
    assert found[0].seconds > found[1].seconds > 0


def test_optimisations_matter_if_their_absence_changes_the_kernels():
    nodes = [
        node("Add", ["x", "r"], ["s"]),
        node("LayerNormalization", ["s", "scale", "bias"], ["y"]),
    ]
    weights = {"scale": weight(16), "bias": weight(16)}
    whole = built(nodes, (1, 8, 16), weights=weights, r=(1, 8, 16))
    assert RUNTIME.switches(whole) == (("SkipLayerNormFusion",),)
    assert computed(RUNTIME.kernels(whole)) == [("s", "y")]
    apart = Settings(without=("SkipLayerNormFusion",))
    assert computed(RUNTIME.kernels(whole, apart)) == [("s",), ("y",)]
    assert RUNTIME.switches(whole, apart) == ()
    assert RUNTIME.switches(whole, seconds=0.0) == ()


def test_an_optimisation_under_two_names_is_one():
    found = RUNTIME.switches(built(GELU, (2, 8, 16), weights=GELU_WEIGHTS))
    assert ("GeluFusionL1", "GeluFusionL2") in found


def test_the_recipe_is_an_option_that_works(tmp_path):
    import onnxruntime

    def kinds(recipe):
        options = onnxruntime.SessionOptions()
        exec(recipe.replace("SessionOptions", "options"), {"options": options})
        options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
        whole = built(GELU, (2, 8, 16), weights=GELU_WEIGHTS)
        onnxruntime.InferenceSession(whole.SerializeToString(), options)
        return {item.op_type for item in load(options.optimized_model_filepath).graph.node}

    assert kinds("") == {"Gelu"}
    assert "Erf" in kinds(RUNTIME.recipe(("GeluFusionL1", "GeluFusionL2")))
