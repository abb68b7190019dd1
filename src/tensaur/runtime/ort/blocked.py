"""Names of values inside blocked convolution layouts (NCHWc), from the graph without them.

The layout transformation renames what it touches: values become ``reorder_token_7``, nodes are called
after what they first returned, ``conv1_nchwc``. Each kernel is found again in the graph before the
transformation, by that name or by its kind and what it reads; a sum or an activation that the blocked
kernel has and the other lacks is the operator after it. What is not found stays nameless.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tensaur.runtime.ort.steps import Step, Steps

DOMAIN = "com.microsoft.nchwc"
# Kernels that only change the layout.
REORDERS = frozenset(("ReorderInput", "ReorderOutput"))

# A normalisation becomes a convolution.
_SUFFIXES = ("_bn_nchwc", "_nchwc")
# The input of a blocked convolution that is added to its result.
SUM = 3


def is_blocked(steps: Steps) -> bool:
    """Tell whether some kernel of a graph works in a blocked layout."""
    return any(step.domain == DOMAIN for step in steps.steps)


def renamed(blocked: Steps, plain: Steps) -> list[Step]:
    """Return the steps of the blocked graph with the value names that the plain one has for them."""
    return _Renaming(plain, set(plain.values())).run(blocked.steps)


@dataclass
class _Renaming:
    """`name_of` maps values of the blocked graph to values of the plain one; `taken` are found steps."""

    plain: Steps
    known: set[str]
    name_of: dict[str, str] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)

    def run(self, steps: list[Step]) -> list[Step]:
        result = []
        for step in steps:
            step = replace(step, reads=tuple(self._named(name) for name in step.reads))
            if step.kind in REORDERS:
                self._reorder(step)
            elif not all(name in self.known for name in step.writes if name):
                self._find(step)
            result.append(step)
        return [
            replace(
                step,
                reads=tuple(map(self._named, step.reads)),
                writes=tuple(map(self._named, step.writes)),
            )
            for step in result
        ]

    def _reorder(self, step: Step) -> None:
        """Take both sides of a change of layout for one value, under the name that is known."""
        (old, *_), (new, *_) = step.reads, step.writes
        if old in self.known or new not in self.known:
            self.name_of[new] = old
        else:
            self.name_of[old] = new

    def _named(self, value: str) -> str:
        return self.name_of.get(value, value)

    def _find(self, step: Step) -> None:
        called = (step.name.removesuffix(suffix) for suffix in _SUFFIXES)
        at = next((self.plain.maker[name] for name in called if name in self.plain.maker), None)
        if at is None:
            at = next((item for item in self._readers(step) if self._is_like(step, item)), None)
        if at is None:
            return
        at = self._with_sum(step, at)
        at = self._with_activation(step, at)
        self.taken.add(at)
        pairs = zip(step.writes, self.plain.steps[at].writes, strict=False)
        self.name_of |= {new: old for new, old in pairs if new and new not in self.known}

    def _readers(self, step: Step) -> list[int]:
        lists = [self.plain.users.get(name, []) for name in step.reads]
        return min((item for item in lists if item), key=len, default=[])

    def _is_like(self, step: Step, at: int) -> bool:
        other = self.plain.steps[at]
        alike = other.kind == step.kind and at not in self.taken
        return alike and self._moving(step) == self._moving(other)

    def _moving(self, step: Step) -> list[str]:
        """Return what a step reads but constants, which may have been reordered."""
        given = self.plain.given
        return [name for name in step.reads if name in self.known and name not in given]

    def _with_sum(self, step: Step, at: int) -> int:
        summand = step.reads[SUM] if len(step.reads) > SUM else ""
        if not summand or len(self.plain.steps[at].reads) > SUM:
            return at
        after = self._after(at)
        return next((item for item in after if summand in self.plain.steps[item].reads), at)

    def _with_activation(self, step: Step, at: int) -> int:
        wanted = step.attribute("activation")
        if not wanted or self.plain.steps[at].attribute("activation"):
            return at
        after = self._after(at)
        return next((item for item in after if self.plain.steps[item].kind.encode() in wanted), at)

    def _after(self, at: int) -> list[int]:
        return self.plain.users.get(self.plain.steps[at].value, [])
