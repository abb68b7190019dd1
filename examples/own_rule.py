"""Write a rule, have it verified, see a wrong one refuted, and use the right one.

Run: python examples/own_rule.py
"""

import numpy as np
from onnx import TensorProto, helper

import tensaur
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var
from tensaur.ops import abs_, add, mul
from tensaur.synth.verify import verify

x, y = Var("x"), Var("y")

# |x| * |y| = |x * y|: one operator less.
SOUND = Rule(
    "mine-product-of-absolutes", mul(abs_(x), abs_(y)), abs_(mul(x, y)), exactness=ROUNDING
)
# |x| + |y| = |x + y| looks alike, but holds for equal signs only.
WRONG = Rule("mine-sum-of-absolutes", add(abs_(x), abs_(y)), abs_(add(x, y)), exactness=ROUNDING)


def main() -> tensaur.Result:
    """Verify both rules and optimise |x| * |x - 1| with the sound one."""
    for rule in (SOUND, WRONG):
        print(f"{rule}\n  {verify(rule)}")
    result = tensaur.optimize(model(), cost="flops", rules=[SOUND], gate=False)
    print([node.op_type for node in result.model.graph.node], result.rewrites)
    return result


def model() -> object:
    """Return |x| * |x - 1| as an ONNX model."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [256]) for name in ("x", "y")]
    one = helper.make_tensor("one", TensorProto.FLOAT, [], np.ones(1, np.float32))
    nodes = [
        helper.make_node("Sub", ["x", "one"], ["less"]),
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Abs", ["less"], ["b"]),
        helper.make_node("Mul", ["a", "b"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "product", ends[:1], ends[1:], [one])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


if __name__ == "__main__":
    main()
