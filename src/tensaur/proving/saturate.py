"""Proof by equality saturation: one e-graph, many cases, axioms as rewrites (TenSat's way).

Both sides of every case are ground terms whose leaves are inputs of unknown content. Whatever the axioms
join is equal for all contents. Knows neither axioms nor operators.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import CycleFilter, Explorer, Iteration, Limits, StopReason
from tensaur.errors import UnsoundRule
from tensaur.ir.operator import Input, Literal
from tensaur.ir.rule import Rule
from tensaur.ir.term import Tree, Var
from tensaur.proving.cases import Case

Clock = Callable[[], float]
TIME_IS_OVER = "the time is over"

# A batch of cases is halved at most so often when a limit stops it before it is saturated.
_HALVINGS = 6
# The part of the nodes from which on matches have had to wait for room.
_CROWDED = 0.6


@dataclass(frozen=True, slots=True)
class Pair:
    """The classes of the two sides of one equation."""

    found: int
    made: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What saturation says of one case: whether it is proved, else why it stopped.

    `causes` are axioms because of which both sides are one, `applied` all that were applied until then.
    """

    proved: bool
    reason: str = ""
    causes: frozenset[str] = frozenset()
    applied: frozenset[str] = frozenset()


class _AllProved(Exception):
    """Control flow inside this module: nothing is left to explore for."""


class Saturation:
    """One e-graph that holds both sides of many cases, explored with axioms until they meet.

    Cases share inputs of equal types: what is equal for all contents is so for each case.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        axioms: Sequence[Rule],
        limits: Limits,
        clock: Clock = time.perf_counter,
    ) -> None:
        self.egraph = EGraph()
        self.pairs = tuple(self._load(case) for case in cases)
        self.stop: StopReason | None = None
        self.contradiction = ""
        self._nodes = limits.nodes
        self.iterations: list[Iteration] = []
        self._explorer = Explorer(
            self.egraph,
            axioms,
            limits,
            CycleFilter.NONE,
            on_iteration=self._look,
            clock=clock,
        )

    def run(self) -> tuple[Outcome, ...]:
        """Explore until all cases are proved or a limit is reached."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # from known values
                self.stop = self._explorer.run().stop
        except _AllProved:
            pass
        except UnsoundRule as error:
            # Constants have given a class two values (as 1 / 0 does): nothing follows from that.
            self.contradiction = f"contradiction: {error}"
        applied = frozenset(
            record.rule for item in self.iterations for record in item.rules if record.applied
        )
        return tuple(self._outcome(pairs, applied) for pairs in self.pairs)

    @property
    def is_cut_short(self) -> bool:
        """Tell whether more might have been proved with less in the e-graph, or with more time."""
        crowded = self.egraph.node_count > _CROWDED * self._nodes
        stopped = self.stop in (StopReason.NODE_LIMIT, StopReason.TIME_LIMIT)
        return bool(self.contradiction) or stopped or crowded

    def _outcome(self, pairs: Iterable[Pair], applied: frozenset[str]) -> Outcome:
        if self.contradiction:
            return Outcome(False, self.contradiction)
        if not self._has_met(pairs):
            return Outcome(False, str(self.stop))
        causes = (
            self.egraph.instances[cause].rule
            for pair in pairs
            for cause in self.egraph.causes(pair.found, pair.made)
        )
        return Outcome(True, "", frozenset(causes), applied)

    def _has_met(self, pairs: Iterable[Pair]) -> bool:
        find = self.egraph.find
        return all(find(pair.found) == find(pair.made) for pair in pairs)

    def _look(self, iteration: Iteration) -> None:
        self.iterations.append(iteration)
        if all(map(self._has_met, self.pairs)):
            raise _AllProved

    def _load(self, case: Case) -> tuple[Pair, ...]:
        leaves = _Leaves(self.egraph, case)
        return tuple(
            Pair(leaves.add(found), leaves.add(made))
            for found, made in zip(case.finds, case.makes, strict=True)
        )


class _Leaves:
    """Adds the trees of one case: known values as literals, all else as inputs."""

    def __init__(self, egraph: EGraph, case: Case) -> None:
        self._egraph = egraph
        self._case = case
        self._classes: dict[str, int] = {}
        self._counts: Counter[str] = Counter()

    def add(self, tree: Tree | Var) -> int:
        """Return the class of a tree."""
        if isinstance(tree, Var):
            if tree.name not in self._classes:
                self._classes[tree.name] = self._leaf(tree.name)
            return self._classes[tree.name]
        return self._egraph.add(tree.op, [self.add(item) for item in tree.inputs])

    def _leaf(self, name: str) -> int:
        fact = self._case.facts[name]
        if fact.value is not None and fact.value.raw is not None:
            return self._egraph.add(Literal(fact.value))
        kind = str(fact.type)
        self._counts[kind] += 1
        return self._egraph.add(Input(f"{kind} {self._counts[kind]}", fact.type))


@dataclass(frozen=True, slots=True)
class Stage:
    """Axioms to saturate with, how far, and how many cases share an e-graph at first.

    In a `last` stage a rule is given up with its first case that is not proved.
    """

    axioms: tuple[Rule, ...]
    iterations: int
    seconds: float
    batch: int
    nodes: int = 5_000
    last: bool = False


def saturate(
    cases: Sequence[Case], stage: Stage, deadline: float, clock: Clock = time.perf_counter
) -> tuple[Outcome, ...]:
    """Prove what can be proved of many cases in one e-graph, and in smaller ones where that is too large."""
    outcomes: list[Outcome] = []
    for start in range(0, len(cases), stage.batch):
        batch = cases[start : start + stage.batch]
        outcomes += _saturate(batch, stage, deadline, clock, _HALVINGS)
    return tuple(outcomes)


def _saturate(
    cases: Sequence[Case], stage: Stage, deadline: float, clock: Clock, halvings: int
) -> tuple[Outcome, ...]:
    seconds = min(stage.seconds, deadline - clock())
    if not cases or seconds <= 0:
        return (Outcome(False, TIME_IS_OVER),) * len(cases)
    limits = Limits(
        nodes=stage.nodes, seconds=seconds, iterations=stage.iterations, multi=stage.iterations
    )
    saturation = Saturation(cases, stage.axioms, limits, clock)
    outcomes = list(saturation.run())
    left = [number for number, outcome in enumerate(outcomes) if not outcome.proved]
    if saturation.is_cut_short and halvings and len(left) > 1:
        for half in (left[: len(left) // 2], left[len(left) // 2 :]):
            part = _saturate([cases[i] for i in half], stage, deadline, clock, halvings - 1)
            for number, outcome in zip(half, part, strict=True):
                outcomes[number] = outcome
    return tuple(outcomes)
