"""From an explored e-graph to candidates: priced, extracted, run and profiled, priced better, extracted again.

Holds `choose`. Knows nothing of how the e-graph came about, and leaves it to the gate which candidate is
right and fast.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tensaur import onnx_io
from tensaur.cost.feedback import Feedback
from tensaur.cost.fusion import Fused, ask
from tensaur.cost.learning import learn
from tensaur.cost.measured import MeasuredCost
from tensaur.cost.metrics import Metrics, metrics
from tensaur.cost.objective import LATENCY, SIZE
from tensaur.cost.pricer import pricer_for
from tensaur.egraph.egraph import EGraph
from tensaur.errors import ExtractionError, FoldingFailure, RuntimeFailure
from tensaur.extract.lower import lower
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.provenance import rules_used
from tensaur.extract.refine import Refined, Refinement, Solve
from tensaur.extract.serialized import Serialized
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.ir.graph import Graph
from tensaur.onnx_io import Source
from tensaur.result import Rewrite
from tensaur.run import Run
from tensaur.runtime.build import original_of
from tensaur.runtime.choice import RUNTIME
from tensaur.runtime.protocol import Feeds, InFolder, Model, Settings

# The share of the time limit up to which prices are measured and graphs extracted, ...
CHOOSING = 0.55

# ... and that up to which candidates are profiled and graphs extracted anew; timing has the rest.
LEARNING = 0.65

# No single extraction takes more than this share; several are made, and proofs may take for ever.
SOLVING = 0.1

# New forms must promise more than the prices are noisy. The careful candidate asks for more, since
# single-operator prices miss what the runtime does across operators.
BIASES = (0.02, 0.3)

# How often prices are corrected by what running the candidates has shown, at the most.
ROUNDS = 2

# Seconds of running that one profile is made of, and the sessions whose opening is kept for judging, of
# which a profile takes two.
PROFILING, _OPENINGS = 0.3, 7


@dataclass(frozen=True, slots=True)
class Candidate:
    """A graph that might replace the original, its written form, and how it was chosen.

    `before` is the original under the prices that the candidate was chosen by.
    """

    graph: Graph
    written: Any
    before: Refined
    refined: Refined
    rewrites: tuple[Rewrite, ...]
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the original comes to, and distinct graphs that promise to be cheaper.

    `egraph` is what was chosen from last. `price` returns what the cheapest graph of an e-graph costs under
    the prices there are now, without measuring any more.
    """

    before: Refined
    candidates: list[Candidate] = field(default_factory=list)
    egraph: Serialized | None = None
    price: Callable[[EGraph, int], float] = lambda egraph, root: 0.0


def choose(
    egraph: EGraph,
    root: int,
    source: Source,
    sizes: Mapping[str, int],
    run: Run,
    feeds: Feeds | None = None,
) -> Chosen:
    """Price and extract: the original's cost, and distinct graphs that are not dearer.

    With `feeds`, candidates are also run and profiled on them, and prices corrected by what that shows.
    On Ctrl-C the candidates found so far are returned.
    """
    return _Choosing(egraph, root, source, sizes, run).run_all(feeds)


class _Choosing:
    """The prices and the space of one e-graph, and the candidates found in it."""

    def __init__(
        self, egraph: EGraph, root: int, source: Source, sizes: Mapping[str, int], run: Run
    ) -> None:
        self._egraph, self._root = egraph, root
        self._source, self._sizes, self._run = source, sizes, run
        self._objective = run.options.objective
        self._settings = Settings(threads=run.options.threads)
        self._deadline = run.deadline(CHOOSING)
        self._pricer = pricer_for(
            self._objective,
            sizes,
            run.options.threads,
            run.options.store,
            opsets={item.domain: item.version for item in source.proto.opset_import},
            weight_nbytes=sum(data.nbytes for data in source.graph.constants.values()),
        )
        # Where opening the original takes most of the time there is, it is not asked about.
        asked = None if run.reserve > run.left(CHOOSING) else source
        self._fused: Fused = ask(self._pricer.measured, asked, self._settings)
        self._own = self._alone()
        self._found: list[Candidate] = []
        self._chosen_from: Serialized | None = None

    def run_all(self, feeds: Feeds | None) -> Chosen:
        """Choose, and choose again as long as running what was chosen leads to something new."""
        first = self._before()
        self._space = self._explored()
        self._choose(first, BIASES if self._objective.factor(LATENCY) else (0.0,))
        measured = self._pricer.measured
        if feeds is not None and measured is not None and self._objective.factor(LATENCY):
            try:
                self._learn(measured, feeds)
            except KeyboardInterrupt:  # what is chosen counts
                self._run.interrupted = True
        return Chosen(first, self._found, self._chosen_from, self._price)

    def _price(self, egraph: EGraph, root: int) -> float:
        space = self._space_of(egraph, root, frozenset())
        budget = space.loaded_nbytes + self._run.options.growth_budget(space.loaded_nbytes)
        measured_until = time.perf_counter()
        refinement = Refinement(space, self._pricer, time.perf_counter, measured_until)
        return refinement.run(self._solver(), budget).cost

    def _learn(self, measured: MeasuredCost, feeds: Feeds) -> None:
        if self._run.interrupted:
            return
        feedback, source = Feedback(), self._source
        self._deadline = self._run.deadline(LEARNING)
        unseen: list[tuple[Graph, Model]] = [(source.graph, original_of(source))]
        unseen += self._written(0)
        # Judging opens every session many times.
        each = PROFILING + self._run.reserve / _OPENINGS
        for _ in range(ROUNDS):
            if self._run.interrupted or self._left() < each * len(unseen):
                return
            begin = time.perf_counter()
            for graph, model in unseen:
                self._observe(feedback, measured, graph, model, feeds)
            each = (time.perf_counter() - begin) / len(unseen)
            measured.use(feedback)
            known = len(self._found)
            self._choose(self._before(), BIASES[:1])
            unseen = self._written(known)
            if not unseen:
                return

    def _written(self, start: int) -> list[tuple[Graph, Model]]:
        """Return the candidates from a place on, as graphs and as models to be opened."""
        folder = self._source.folder
        return [(item.graph, InFolder(item.written, folder)) for item in self._found[start:]]

    def _observe(
        self, feedback: Feedback, measured: MeasuredCost, graph: Graph, model: Model, feeds: Feeds
    ) -> None:
        try:
            kernels = RUNTIME.profile(model, feeds, self._settings, PROFILING)
        except RuntimeFailure:  # the gate will say so
            return
        learn(feedback, measured, onnx_io.named(graph, self._source), kernels)

    def _before(self) -> Refined:
        """Return the original under the present prices, in an e-graph of its own.

        In the explored one, some of its values may have been found equal, and the cheaper of two would
        stand for both.
        """
        refinement = Refinement(self._own, self._pricer, time.perf_counter, self._deadline)
        refined = refinement.run(self._solver(), None, loaded_only=True)
        self._note(refinement)
        return refined

    def _choose(self, before: Refined, biases: Sequence[float]) -> None:
        """Add what the present prices find to the candidates."""
        while True:
            refinement = Refinement(self._space, self._pricer, time.perf_counter, self._deadline)
            try:
                return self._extract(refinement, before, biases)
            except FoldingFailure:  # the graph has to do without this constant
                self._space = self._explored(self._space.folder.failed)

    def _extract(self, refinement: Refinement, before: Refined, biases: Sequence[float]) -> None:
        space, options = refinement.space, self._run.options
        budget = space.loaded_nbytes + options.growth_budget(space.loaded_nbytes)
        try:
            for bias in biases:
                try:
                    refined = refinement.run(self._solver(), budget, bias=bias)
                except ExtractionError:  # greedy choices may miss a budget that the original meets
                    continue
                scale = space.scale(refinement.prices)
                self._chosen_from = Serialized.of(space, refined.problem, scale)
                gain = before.cost - refined.cost
                if gain < 0 or (not gain and (self._found or options.gate)):
                    continue
                self._add(space, before, refined)
        except KeyboardInterrupt:  # the phase is over
            self._run.interrupted = True
        self._note(refinement)

    def _add(self, space: Space, before: Refined, refined: Refined) -> None:
        graph = lower(space, refined.picked, self._source.graph)
        if all(graph.nodes != known.graph.nodes for known in self._found):
            rewrites = tuple(Rewrite(*item) for item in rules_used(space, refined.picked))
            written = onnx_io.write(graph, self._source)
            amounts = metrics(graph, self._sizes)
            self._found.append(Candidate(graph, written, before, refined, rewrites, amounts))

    def _note(self, refinement: Refinement) -> None:
        """Note that Ctrl-C has ended the measuring: no more is measured, nor profiled."""
        if refinement.interrupted:
            self._run.interrupted = True
            self._deadline = refinement.deadline

    def _explored(self, unfoldable: frozenset[int] = frozenset()) -> Space:
        return self._space_of(self._egraph, self._root, unfoldable)

    def _space_of(self, egraph: EGraph, root: int, unfoldable: frozenset[int]) -> Space:
        return Space(
            egraph,
            root,
            self._source.graph.constants,
            self._fused.fuses,
            partial(onnx_io.expressible, opset=self._source.opset),
            unfoldable,
            self._fused.together,
            self._objective.factor(SIZE),
        )

    def _alone(self) -> Space:
        egraph = EGraph()
        return Space(
            egraph,
            egraph.load(self._source.graph),
            self._source.graph.constants,
            self._fused.fuses,
            together=self._fused.together,
            byte_price=self._objective.factor(SIZE),
        )

    def _left(self) -> float:
        return self._deadline - time.perf_counter()

    def _solver(self) -> Solve:
        options = self._run.options

        def solve(problem: Problem, final: bool) -> Solution:
            seconds = max(1.0, min(self._left() / 2, SOLVING * options.seconds))
            if options.extract == "ilp" and not final:
                try:
                    return extract(problem, "dag", seconds=seconds, seed=options.seed)
                except ExtractionError:  # greedy choices may miss a size budget that others meet
                    pass
            return extract(problem, options.extract, seconds=seconds, seed=options.seed)

        return solve
