"""Every rule fires in the e-graph on a graph that is an instance of its own left side."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Explorer, Limits
from tensaur.ir.graph import Graph, GraphBuilder, Output
from tensaur.ir.operator import Input, Literal, Operator, Weight
from tensaur.ir.rule import Rule
from tensaur.ir.term import Tree, Var, tree_fact
from tensaur.ir.types import Fact, TensorType
from tensaur.rules import ALL_RULES
from tensaur.synth.instances import Instance
from tensaur.synth.verify import applications, directions

ONE_WAY = [(rule, one) for rule in ALL_RULES for one in rule.directed()]


@pytest.mark.parametrize(("rule", "one_way"), ONE_WAY, ids=[one.name for _, one in ONE_WAY])
def test_rule_fires_in_engine(rule: Rule, one_way: Rule):
    sampled = one_way if rule.group is None else directions(rule)[0]
    for instance, _ in applications(sampled, seed=5, attempts=20_000):
        if _distinct(instance) and _has_ranks(instance) and not _is_folded(instance):
            break
    else:
        pytest.fail("no instance")
    egraph = EGraph()
    egraph.load(_graph(instance))
    exploration = Explorer(egraph, [one_way], Limits(iterations=1)).run()
    egraph.check_invariants()
    assert exploration.records[0].applied, [str(tree) for tree in instance.finds]


def _distinct(instance: Instance) -> bool:
    return len(set(instance.finds)) == len(instance.finds)


def _has_ranks(instance: Instance) -> bool:
    """Tell whether all ranks are known: without, two forms may have types that nothing shows to be equal."""
    types = (leaf.fact.type for leaf in instance.leaves.values())
    return all(kind.shape is not None for kind in types if isinstance(kind, TensorType))


def _is_folded(instance: Instance) -> bool:
    """Tell whether the e-graph would compute a part of what is to be found."""
    facts = instance.bindings.facts
    return any(
        _has_value(tree, facts) or tree_fact(tree, facts).constant for tree in instance.finds
    )


def _has_value(tree: Tree | Var, facts: Mapping[str, Fact]) -> bool:
    if isinstance(tree, Var):
        return False
    known = bool(tree.inputs) and tree_fact(tree, facts).value is not None
    return known or any(_has_value(item, facts) for item in tree.inputs)


def _graph(instance: Instance) -> Graph:
    builder = GraphBuilder()

    def add(term: Tree | Var) -> int:
        if isinstance(term, Var):
            return builder.add(_leaf(term.name, instance.leaves[term.name].fact))
        return builder.add(term.op, [add(item) for item in term.inputs])

    outputs = [Output(f"y{i}", add(tree)) for i, tree in enumerate(instance.finds)]
    return builder.build(outputs)


def _leaf(name: str, fact: Fact) -> Operator:
    if fact.value is not None:
        return Literal(fact.value)
    if fact.constant:
        assert isinstance(fact.type, TensorType)
        return Weight(name, fact.type)
    return Input(name, fact.type)
