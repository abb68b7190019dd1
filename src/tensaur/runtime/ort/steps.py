"""Nodes of an ONNX graph as plain records: what each reads and writes, and which compute the same.

Both graphs that `matching` compares, the given one and what the runtime made of it, are read by this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# Constants up to this size are compared by content: the runtime merges equal scalars.
_SMALL_NBYTES = 256

# Operators whose results differ from one place to the next.
_RANDOM = frozenset(
    [
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    ]
)


@dataclass(frozen=True, slots=True)
class Step:
    """A node: operator, domain, own name, the values it reads (in its bodies too) and writes."""

    kind: str
    domain: str
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    attributes: tuple[tuple[str, bytes], ...]

    @property
    def value(self) -> str:
        """Return the name of the first value that the node makes."""
        return next((name for name in self.writes if name), "")

    def attribute(self, wanted: str) -> bytes:
        """Return an attribute as it is serialised, nothing if it is not given."""
        return next((content for name, content in self.attributes if name == wanted), b"")


@dataclass
class Steps:
    """All nodes of a graph in order, who makes and who reads a value, and what needs no running.

    `same` maps a value to the first one that is computed in the same way.
    """

    steps: list[Step]
    given: frozenset[str]
    same: dict[str, str] = field(default_factory=dict)
    maker: dict[str, int] = field(default_factory=dict)
    users: dict[str, list[int]] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, graph: Any, *, fixed: bool = False) -> Steps:
        """Read a GraphProto; the data of large initialisers are not looked at.

        `fixed` says that initialisers are constants even if they are listed as inputs.
        """
        inputs = [item.name for item in graph.input]
        stored = [item.name for item in graph.initializer]
        stored += [item.values.name for item in graph.sparse_initializer]
        found = cls([_step(node) for node in graph.node], frozenset((*inputs, *stored)))
        found.constants = set(stored) - set(() if fixed else inputs)
        found._number(_contents(graph))
        return found

    def named(self, value: str) -> str:
        """Return the first value that is computed in the same way."""
        return self.same.get(value, value)

    def values(self) -> Iterator[str]:
        """Return all names of values."""
        yield from self.given
        for step in self.steps:
            yield from filter(None, step.writes)

    def _number(self, contents: dict[str, str]) -> None:
        first: dict[Any, str] = {}
        for name, content in contents.items():
            self.same[name] = first.setdefault(content, name)
        for index, step in enumerate(self.steps):
            reads = tuple(self.named(name) for name in step.reads)
            for name in reads:
                self.users.setdefault(name, []).append(index)
            repeatable = step.kind not in _RANDOM
            if repeatable and all(not name or name in self.constants for name in reads):
                self.constants.update(step.writes)
            for place, name in enumerate(step.writes):
                key = (step.kind, step.domain, step.attributes, reads, place)
                made = first.setdefault(key, name) if repeatable else name
                self.same[name] = made
                self.maker.setdefault(made, index)


def _step(node: Any) -> Step:
    captured = sorted({name for graph in _bodies(node) for name in _captures(graph)})
    attributes = sorted(
        (item.name, item.SerializeToString(deterministic=True)) for item in node.attribute
    )
    return Step(
        node.op_type,
        "" if node.domain == "ai.onnx" else node.domain,
        node.name,
        (*node.input, *captured),
        tuple(node.output),
        tuple(attributes),
    )


def _bodies(node: Any) -> Iterator[Any]:
    for item in node.attribute:
        if item.HasField("g"):
            yield item.g
        yield from item.graphs


def _captures(graph: Any) -> set[str]:
    """Return the outer values that a body reads."""
    known = {item.name for item in graph.input} | {item.name for item in graph.initializer}
    outer: set[str] = set()
    for node in graph.node:
        reads = set(node.input).union(*(_captures(body) for body in _bodies(node)))
        outer |= reads - known - {""}
        known.update(node.output)
    return outer | {item.name for item in graph.output} - known


def _contents(graph: Any) -> dict[str, str]:
    """Return the small initialisers' contents, hashed."""
    found = {}
    for item in graph.initializer:
        if item.external_data or item.ByteSize() > _SMALL_NBYTES + len(item.name):
            continue
        copy = type(item)()
        copy.CopyFrom(item)
        copy.ClearField("name")
        found[item.name] = hashlib.sha256(copy.SerializeToString(deterministic=True)).hexdigest()
    return found
