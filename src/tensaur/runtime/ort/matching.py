"""Which operators of a model stand behind each kernel that ONNX Runtime makes of it.

The two graphs are compared by the names of values. Fused kernels keep the name of what they return, so
that a kernel stands for the operators between the surviving values it reads and those it returns.
That is exact where a kernel's inputs and outputs keep their names. It is approximate in two places:

- Several kernels between surviving values (a product as Reshape, Gemm, Reshape; an operator that is a
  function; transpositions moved past others): an operator goes to the kernel of its own kind, and what
  is left to every kernel that computes and has none.
- Blocked convolution layouts (NCHWc), in which values lose their names: `blocked` gives them back, from
  the graph before the layout transformation.

Operators on constants alone stand behind no kernel. Of operators that compute the same, the first counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tensaur.runtime.ort.blocked import REORDERS
from tensaur.runtime.ort.steps import Step, Steps
from tensaur.runtime.protocol import Kernel

# Kinds that carry data from one form to another: beside a kernel that computes, they are what was added.
_CARRIERS = frozenset(
    [
        "Reshape",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Flatten",
        "Identity",
        "Cast",
        "Expand",
        "MemcpyFromHost",
        "MemcpyToHost",
    ]
)


def matched(given: Steps, steps: list[Step], stored: Iterable[str]) -> tuple[Kernel, ...]:
    """Return the kernels in order; `stored` are the values of the optimised graph that no step makes."""
    return _Matching(given, steps, frozenset(stored)).run()


@dataclass
class _Matching:
    """Goes through the kernels in order; a region is what lies between surviving values.

    `waiting` maps a value without a name in the given graph to the kernels behind it, `open` are the
    kernels whose operators are not known yet.
    """

    given: Steps
    steps: list[Step]
    stored: frozenset[str]
    surviving: set[str] = field(default_factory=set)
    waiting: dict[str, frozenset[int]] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    claimed: set[int] = field(default_factory=set)
    computes: list[list[int]] = field(default_factory=list)

    def run(self) -> tuple[Kernel, ...]:
        known = set(self.given.values())
        names = self.stored.union(*(step.writes for step in self.steps)) & known - {""}
        self.surviving = {self.given.named(name) for name in names}
        self.computes = [[] for _ in self.steps]
        for number, step in enumerate(self.steps):
            if step.kind in REORDERS:
                continue
            self.open.add(number)
            behind = (self.waiting.get(name, frozenset()) for name in step.reads)
            region = frozenset((number,)).union(*behind)
            made = [name for name in step.writes if name in known and name]
            if made:
                self._close(region & self.open, made)
            for name in step.writes:
                if name not in known:
                    self.waiting[name] = region
        return tuple(
            Kernel(
                step.kind,
                tuple(self.given.steps[op].value for op in sorted(ops)),
                carries="" if ops or step.value not in known else step.value,
            )
            for step, ops in zip(self.steps, self.computes, strict=True)
        )

    def _close(self, region: frozenset[int], made: list[str]) -> None:
        left = self._behind(made)
        left = self._by_kind(left, sorted(region))
        left = self._by_kind(left, sorted(self.open - region))
        self.open -= region
        computing = [number for number in sorted(region) if self._computes(number)]
        idle = [number for number in computing if not self.computes[number]]
        for number in idle or computing[-1:] or [max(region)]:
            self.computes[number] += left

    def _computes(self, number: int) -> bool:
        return self.steps[number].kind not in _CARRIERS

    def _by_kind(self, ops: list[int], kernels: list[int]) -> list[int]:
        """Give operators to kernels of the same kind; return those that are left."""
        left = []
        for op in ops:
            kind = self.given.steps[op].kind
            free = (
                number
                for number in kernels
                if self.steps[number].kind == kind and not self.computes[number]
            )
            number = next(free, None) if len(kernels) > 1 else None
            if number is None:
                left.append(op)
            else:
                self.computes[number].append(op)
        return left

    def _behind(self, made: list[str]) -> list[int]:
        """Return the operators between some values and the surviving ones before them, in order."""
        found: set[int] = set()
        stack = [self.given.named(name) for name in made]
        while stack:
            value = stack.pop()
            op = self.given.maker.get(value)
            if op is None or op in self.claimed or value in self.given.constants:
                continue
            self.claimed.add(op)
            found.add(op)
            reads = (self.given.named(name) for name in self.given.steps[op].reads)
            stack += [name for name in reads if name not in self.surviving]
        return sorted(found)
