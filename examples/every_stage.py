"""One small graph through every stage: read, explored, priced, extracted, written.

Run: python examples/every_stage.py. docs/tour.md explains what it prints.
"""

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tensaur import onnx_io, pipeline
from tensaur.choosing import choose
from tensaur.ir.text import graph_text
from tensaur.options import Options
from tensaur.run import Run


def model() -> ModelProto:
    """Return the first row of x * A * B: what a head that reads one token does."""
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("A", (256, 512)), ("B", (512, 256)))
    ]
    bounds = [
        numpy_helper.from_array(np.array([number], np.int64), name)
        for name, number in (("zero", 0), ("one", 1))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "A"], ["wide"]),
        helper.make_node("MatMul", ["wide", "B"], ["all"]),
        helper.make_node("Slice", ["all", "zero", "one", "zero"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 256])
    graph = helper.make_graph(nodes, "head", [x], [y], [*weights, *bounds])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main(cost: str = "flops") -> ModelProto:
    """Print the graph as it passes through the stages and return the model written at the end."""
    options = Options(cost=cost)
    run = Run(options, lambda phase: print(f"\n== {phase}"))

    with run.phase("reading"):
        source = onnx_io.read(model())
        print(graph_text(source.graph))

    with run.phase("exploring"):
        egraph, root, exploration = pipeline.explore(source, options, run)
        for record in exploration.records:
            print(f"round {record.number}: {record.nodes} e-nodes in {record.classes} classes")
            for rule in record.rules:
                if rule.applied:
                    print(f"  {rule.rule}: {rule.applied} of {rule.matches} matches applied")
        print("stopped because of:", exploration.stop.value)

    with run.phase("choosing"):
        chosen = choose(egraph, root, source, {}, run)
        best = chosen.candidates[0]
        print("cost of the original:", chosen.before.cost, cost)
        print("cost of the cheapest:", best.refined.cost, cost)
        print("nothing is below:", best.refined.bound, cost)
        print("rules it rests on:", ", ".join(rewrite.rule for rewrite in best.rewrites))

    with run.phase("writing"):
        print(graph_text(best.graph))
    written: ModelProto = best.written
    return written


if __name__ == "__main__":
    main()
