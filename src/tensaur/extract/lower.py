"""From chosen options back to a Graph: nodes in order, folded constants computed, names kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensaur.extract.option import Option
from tensaur.extract.space import Space
from tensaur.ir.graph import ArrayData, Graph, GraphBuilder, Output
from tensaur.ir.operator import Literal, Root, Weight, is_small
from tensaur.ir.types import Known, TensorType


@dataclass
class _Lowering:
    """Emits the chosen options, children first; `position` maps a class to its node."""

    space: Space
    picked: dict[int, Option]
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    position: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        stack = [self.space.root]
        while stack:
            cls = stack[-1]
            option = self.picked[cls]
            missing = [child for child in option.children if child not in self.position]
            if cls in self.position or not missing:
                if cls not in self.position:
                    self.position[cls] = self._emit(option)
                stack.pop()
            else:
                stack.extend(missing)

    def _emit(self, option: Option) -> int:
        if not option.rows:
            return self._constant(option.cls)
        inner: dict[int, int] = {}
        node = -1
        for row in option.rows:
            op = self.space.operator(row)
            if isinstance(op, Root):
                return -1
            if isinstance(op, Weight):
                self.builder.constants[op.name] = self.space.constants[op.name]
            children = self.space.children[row]
            inputs = [inner.get(child, self.position.get(child, -1)) for child in children]
            name = self.space.names.get(int(self.space.rows.cls[row]), "")
            node = self.builder.add(op, inputs, name)
            inner[int(self.space.rows.cls[row])] = node
        return node

    def _constant(self, cls: int) -> int:
        array = self.space.folder.value(cls)
        kind = self.space.egraph.fact(cls).type
        assert isinstance(kind, TensorType)
        if is_small(kind):
            return self.builder.add(Literal(Known.of(array, kind.dtype)))
        name = self._fresh_name(cls)
        self.builder.constants[name] = ArrayData(array)
        return self.builder.add(Weight(name, TensorType(kind.dtype, array.shape)), (), name)

    def _fresh_name(self, cls: int) -> str:
        hint = self.space.names.get(cls, "folded")
        name, number = hint, 0
        while name in self.builder.constants or name in self.space.constants:
            number += 1
            name = f"{hint}_{number}"
        return name


def lower(space: Space, picked: dict[int, Option], source: Graph) -> Graph:
    """Return the graph of the chosen options, with the source's inputs and names of outputs.

    Inputs that nothing reads any more stay: they belong to the interface.
    """
    lowering = _Lowering(space, picked)
    for op in source.inputs:
        lowering.builder.add(op, (), op.name)
    lowering.run()
    (root_row,) = picked[space.root].rows
    children = space.children[root_row]
    outputs = zip(source.outputs, children, strict=True)
    return lowering.builder.build([Output(o.name, lowering.position[c]) for o, c in outputs])
