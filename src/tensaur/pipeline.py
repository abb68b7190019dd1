"""optimize(): read, saturate, extract, check, write. The whole data flow on one page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from tensaur import onnx_io
from tensaur.cost.fusion import Fused, ask
from tensaur.cost.metrics import Metrics, metrics
from tensaur.cost.model import Pricer, runs
from tensaur.cost.objective import LATENCY, SIZE
from tensaur.cost.pricer import pricer_for
from tensaur.cost.sizes import check_given, graph_sizes, named_sizes
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Exploration, Explorer, Limits
from tensaur.errors import ExtractionError, FoldingFailure, RuntimeFailure, UnsoundRule
from tensaur.extract.lower import lower
from tensaur.extract.numbering import ConstantNumbering
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.provenance import rules_used
from tensaur.extract.refine import Refined, Refinement, Solve
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.gate import Gate, Judgement
from tensaur.ir.graph import Graph
from tensaur.ir.rule import Exactness, Rule
from tensaur.options import MATHS, Options
from tensaur.result import ExtractionSummary, Result, Rewrite
from tensaur.rules import ALL_RULES
from tensaur.runtime.protocol import InFolder, Settings

Progress = Callable[[str], None]

# Shares of the time limit: exploring, then everything up to and including extraction; timing has the rest.
EXPLORING, CHOOSING = 0.25, 0.65

# No single extraction takes more than this share; several are made, and proofs may take for ever.
SOLVING = 0.1

# The share of exploring that may go into telling which constants are equal.
NUMBERING = 0.5

# However long judging takes, this share is there for the phases before it.
LEAST = 0.3

# New forms must promise more than the prices are noisy. The careful candidate asks for more, since
# single-operator prices miss what the runtime does across operators.
BIASES = (0.02, 0.3)


@dataclass
class Run:
    """The clock of one run: phases announced and timed, and what is left of the time limit.

    `reserve` seconds at the end are kept for judging. `interrupted` tells that Ctrl-C ended choosing.
    """

    options: Options
    say: Progress
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)
    reserve: float = 0.0
    interrupted: bool = False

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Announce and time a phase."""
        self.say(name)
        before = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - before

    def deadline(self, share: float) -> float:
        """Return the clock time at which this share of the time limit is over."""
        whole = self.options.seconds
        kept = whole if share >= 1.0 else max(whole - self.reserve, LEAST * whole)
        return self.start + min(share * whole, kept)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until `deadline(share)`, at least 0."""
        return max(0.0, self.deadline(share) - time.perf_counter())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A graph that might replace the original, its written form, and how it was chosen."""

    graph: Graph
    written: Any
    refined: Refined
    rewrites: tuple[Rewrite, ...]
    metrics: Metrics


def _interrupted() -> Judgement:
    return Judgement(None, "interrupted before anything was shown to be faster")


def _above(values: Mapping[str, int], limits: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value:,} > {limits[name]:,}" for name, value in values.items())


@dataclass
class Found:
    """What a run has so far: a result can be made of it at any time, since the original is there."""

    source: onnx_io.Source
    sizes: Mapping[str, int]
    exploration: Exploration | None = None
    before: Refined | None = None
    candidates: list[Candidate] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    judgement: Judgement = field(default_factory=_interrupted)

    @cached_property
    def metrics(self) -> Metrics:
        """Return what the original comes to."""
        return metrics(self.source.graph, self.sizes)

    def drop(self, limits: Mapping[str, int]) -> None:
        """Drop the candidates that are above a limit, and say so."""
        for candidate in list(self.candidates):
            above = candidate.metrics.exceeded(limits)
            if above:
                self.candidates.remove(candidate)
                self.dropped.append(f"a candidate was dropped: {_above(above, limits)}")
        above = self.metrics.exceeded(limits)
        if above:
            self.dropped.append(f"the original is above the limit: {_above(above, limits)}")


def optimize(
    model: Any, *, options: Options | None = None, progress: Progress | None = None
) -> Result:
    """Return an equivalent model that is not slower; see `Options` and `Result`.

    `model` is a path, an `onnx.ModelProto` or an `onnx_ir.Model`. ModelError if it is refused,
    UsageError if an option does not fit it.
    """
    run = Run(options or Options(), progress or (lambda message: None))
    with run.phase("reading"):
        source = onnx_io.read(model)
        check_given(source.graph, run.options.sizes)
        found = Found(source, graph_sizes(source.graph, run.options.sizes))
        try:
            gate = Gate(source, run.options) if run.options.gate else None
        except RuntimeFailure as error:
            found.judgement = Judgement(None, f"it cannot be run here: {error}")
            return _result(found, run)
        if gate is not None:
            found.sizes = graph_sizes(source.graph, gate.sizes)
            run.reserve = gate.reserve
    try:
        with run.phase("exploring"):
            egraph, root, found.exploration = explore(source, run.options, run)
        with run.phase("choosing"):
            found.before, found.candidates = choose(egraph, root, source, found.sizes, run)
            found.drop(run.options.limits)
        with run.phase("checking"):
            found.judgement = judge(gate, found, run)
    except UnsoundRule as error:  # the e-graph is worthless now, the model is not
        found.judgement = Judgement(None, f"a rule is unsound: {error}")
    except KeyboardInterrupt:  # what is there is the original
        pass
    return _result(found, run)


def explore(source: onnx_io.Source, options: Options, run: Run) -> tuple[EGraph, int, Exploration]:
    """Load the model into an e-graph and apply the admitted rules until a limit is reached."""
    egraph = EGraph()
    root = egraph.load(source.graph)
    limits = Limits(
        nodes=max(options.nodes, 2 * len(source.graph)),
        seconds=run.left(EXPLORING),
        iterations=options.iterations,
        multi=options.multi,
    )
    rules = admitted(options, source.opset)
    exact = MATHS[options.math] is Exactness.EXACT
    numbering = ConstantNumbering(
        egraph, source.graph.constants, run.left(EXPLORING) * NUMBERING, exact
    )
    explorer = Explorer(
        egraph, rules, limits, cycle_filter=options.cycle_filter, on_iteration=numbering
    )
    return egraph, root, explorer.run()


def admitted(options: Options, opset: int) -> tuple[Rule, ...]:
    """Return the rules of the library and the user that the options admit and the opset can write."""
    rules = (*ALL_RULES, *(options.rules or ()))
    exactness = MATHS[options.math]
    return tuple(
        one
        for rule in rules
        if rule.exactness <= exactness
        for one in rule.directed()
        if all(onnx_io.writable(op, opset) for op in one.operators_made())
    )


def choose(
    egraph: EGraph, root: int, source: onnx_io.Source, sizes: Mapping[str, int], run: Run
) -> tuple[Refined, list[Candidate]]:
    """Price and extract: the original's cost, and distinct graphs that are not dearer.

    On Ctrl-C the candidates found so far are returned.
    """
    options = run.options
    opsets = {item.domain: item.version for item in source.proto.opset_import}
    pricer = pricer_for(
        options.objective,
        sizes,
        options.threads,
        options.store,
        opsets=opsets,
        weight_nbytes=sum(data.nbytes for data in source.graph.constants.values()),
    )
    writes = partial(onnx_io.expressible, opset=source.opset)
    unfoldable: frozenset[int] = frozenset()
    # Where opening the original takes most of the time there is, its prices are those of small groups.
    original = (
        None
        if run.reserve > run.left(CHOOSING)
        else source.path or InFolder(source.proto, source.folder)
    )
    fused = ask(pricer.measured, original, Settings(threads=options.threads))
    refinement = _original(source, pricer, fused, run)
    before = refinement.run(_solver(run), None, loaded_only=True)
    while True:
        space = Space(
            egraph,
            root,
            source.graph.constants,
            fused.fuses,
            writes,
            unfoldable,
            fused.together,
            byte_price(options),
        )
        # Where Ctrl-C has ended the measuring, the deadline is over.
        refinement = Refinement(space, pricer, time.perf_counter, refinement.deadline)
        try:
            return before, _candidates(refinement, before, source, sizes, run)
        except FoldingFailure:  # the graph has to do without this constant
            unfoldable = space.folder.failed


def _original(source: onnx_io.Source, pricer: Pricer, fused: Fused, run: Run) -> Refinement:
    """Return the prices of the graph as it was read, in an e-graph of its own.

    In the explored one, some of its values may have been found equal, and the cheaper of two would stand
    for both.
    """
    egraph = EGraph()
    space = Space(
        egraph,
        egraph.load(source.graph),
        source.graph.constants,
        fused.fuses,
        together=fused.together,
        byte_price=byte_price(run.options),
    )
    return Refinement(space, pricer, time.perf_counter, run.deadline(CHOOSING))


def byte_price(options: Options) -> float:
    """Return what a byte of constants in the file costs."""
    return options.objective.factor(SIZE)


def _solver(run: Run) -> Solve:
    options = run.options

    def solve(problem: Problem, final: bool) -> Solution:
        seconds = max(1.0, min(run.left(CHOOSING) / 2, SOLVING * options.seconds))
        if options.extract == "ilp" and not final:
            try:
                return extract(problem, "dag", seconds=seconds, seed=options.seed)
            except ExtractionError:  # greedy choices may miss a size budget that others meet
                pass
        return extract(problem, options.extract, seconds=seconds, seed=options.seed)

    return solve


def _candidates(
    refinement: Refinement,
    before: Refined,
    source: onnx_io.Source,
    sizes: Mapping[str, int],
    run: Run,
) -> list[Candidate]:
    space, nbytes = refinement.space, refinement.space.loaded_nbytes
    budget = nbytes + run.options.growth_budget(nbytes)
    found: list[Candidate] = []
    try:
        for bias in BIASES if run.options.objective.factor(LATENCY) else (0.0,):
            try:
                refined = refinement.run(_solver(run), budget, bias=bias)
            except ExtractionError:  # greedy choices may miss a size budget that the original meets
                continue
            gain = before.cost - refined.cost
            if gain < 0 or (not gain and (found or run.options.gate)):
                continue
            graph = lower(space, refined.picked, source.graph)
            if all(graph.nodes != known.graph.nodes for known in found):
                rewrites = tuple(Rewrite(*item) for item in rules_used(space, refined.picked))
                written = onnx_io.write(graph, source)
                found.append(Candidate(graph, written, refined, rewrites, metrics(graph, sizes)))
    except KeyboardInterrupt:  # the phase is over
        run.interrupted = True
    run.interrupted |= refinement.interrupted
    return found


def judge(gate: Gate | None, found: Found, run: Run) -> Judgement:
    """Compare and time the candidates against the original; without a gate, take the first."""
    candidates = found.candidates
    if gate is None:
        return Judgement(0 if candidates else None, "not compared and not timed")
    if run.interrupted and not candidates:
        return _interrupted()
    if found.dropped and not candidates:
        return Judgement(None, "nothing cheaper was found within the limits")
    written = [item.written for item in candidates]
    wanted = run.options.objective
    rest = [item.weighted(wanted) for item in (found.metrics, *(one.metrics for one in candidates))]
    return gate.judge(written, max(4.0, run.left()), run.say, rest)


def _result(found: Found, run: Run) -> Result:
    source, candidates, judgement = found.source, found.candidates, found.judgement
    winner = None if judgement.winner is None else candidates[judgement.winner]
    shown = winner or (candidates[0] if candidates else None)
    nodes = _node_count(source.graph)
    cost = 0 if found.before is None else found.before.cost
    return Result(
        source=source,
        written=source.proto if winner is None else winner.written,
        kept_original=winner is None,
        reason=judgement.reason,
        latency=judgement.latency,
        cost_before=cost,
        cost_after=cost if winner is None else winner.refined.cost,
        cost_unit=run.options.objective.unit,
        nodes_before=nodes,
        nodes_after=nodes if winner is None else _node_count(winner.graph),
        rewrites=() if winner is None else winner.rewrites,
        records=() if found.exploration is None else found.exploration.records,
        stop="nothing was explored" if found.exploration is None else str(found.exploration.stop),
        extraction=None if shown is None else _summary(shown.refined),
        comparison=judgement.comparison,
        seconds=dict(run.seconds),
        sizes=named_sizes(source.graph, found.sizes),
        metrics_before=found.metrics,
        metrics_after=found.metrics if winner is None else winner.metrics,
        limits=tuple(found.dropped),
        trusted=() if winner is None else _trusted(winner.rewrites, run.options.trusted),
    )


def _trusted(rewrites: Sequence[Rewrite], names: frozenset[str]) -> tuple[str, ...]:
    used = {item.rule.removesuffix("~") for item in rewrites}  # one direction of a rule is the rule
    return tuple(sorted(used & names))


def _summary(refined: Refined) -> ExtractionSummary:
    solution = refined.solution
    return ExtractionSummary(
        method=solution.solver,
        cost=refined.cost,
        bound=refined.bound,
        proved=solution.proved,
        seconds=solution.seconds,
        stop=solution.stop.value,
    )


def _node_count(graph: Graph) -> int:
    """Count the operators that run: structural nodes are no work."""
    ops = [graph.nodes[position].op for position in graph.live()]
    return sum(runs(op) for op in ops)
