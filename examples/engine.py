"""The engine without models: an e-graph, rules, exploring, asking, extracting, drawing.

Run: python examples/engine.py. docs/engine.md explains it.
"""

import numpy as np

from tensaur.cost.analytic import Flops
from tensaur.egraph.dot import to_dot
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer, Limits, Schedule
from tensaur.extract.cheapest import Cheapest, cheapest
from tensaur.ir.graph import ArrayData
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Elem, Seq, Var
from tensaur.ir.text import graph_text, parse_graph
from tensaur.ops import OPERATORS, concat, matmul, split
from tensaur.rules.conditions import all_constant, ranks_at_least
from tensaur.rules.products import sizes_of

GRAPH = """
input x: f32[8,64]
input y: f32[64,1]
weight wq: f32[64,64]
weight wk: f32[64,64]
q = MatMul(x, wq)
k = MatMul(x, wk)
kk = MatMul(k, wk)
z = MatMul(kk, y)
output q
output z
"""

x, y, z = Var("x"), Var("y"), Var("z")
ws = Seq("w")

RULES = (
    Rule(
        "associate",
        matmul(matmul(x, y), z),
        matmul(x, matmul(y, z)),
        when=(ranks_at_least(2, x, y, z),),
        exactness=ROUNDING,
        both_ways=True,
    ),
    Rule(
        "share-left-operands",
        matmul(x, Elem(ws)),
        split(matmul(x, concat(ws, axis=-1)), axis=-1, sizes=sizes_of(-1, ws)),
        when=(all_constant(ws), ranks_at_least(2, x)),
        exactness=ROUNDING,
    ),
)


def main() -> Cheapest:
    """Explore a small graph and print what there is to see."""
    random = np.random.default_rng(0)
    weights = {
        name: ArrayData(random.standard_normal((64, 64), dtype=np.float32)) for name in ("wq", "wk")
    }
    graph = parse_graph(GRAPH, OPERATORS, weights)
    egraph = EGraph()
    root = egraph.load(graph)

    limits = Limits(nodes=1_000, seconds=5.0, iterations=10, multi=2)
    explorer = Explorer(egraph, RULES, limits, cycle_filter="efficient", schedule=Schedule())
    exploration = explorer.run()
    for record in exploration.records:
        applied = {rule.rule: rule.applied for rule in record.rules if rule.applied}
        print(f"round {record.number}: {record.nodes} e-nodes, {record.classes} classes, {applied}")
    print("stopped:", exploration.stop)

    print("still represented:", egraph.represents(graph, root))
    best = cheapest(egraph, root, graph, Flops())
    print(f"{Flops().estimate(graph)} -> {best.cost} operations, none below {best.bound}")
    print(graph_text(best.graph))

    z_row = next(row for row, name in egraph.names.items() if name == "z")
    rows = egraph.rows()
    for row in rows.row[rows.cls == egraph.find(z_row)].tolist()[1:]:
        causes = [str(egraph.instances[cause]) for cause in egraph.causes(z_row, row)]
        print(f"z equals row {row}, {egraph.describe(row)}, because of {'; '.join(causes)}")
    print(to_dot(egraph).count("subgraph"), "boxes to draw with Graphviz")
    return best


if __name__ == "__main__":
    main()
