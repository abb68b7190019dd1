"""optimize(): read, saturate, extract, check, write. The whole data flow on one page."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tensaur import onnx_io
from tensaur.advice import advise
from tensaur.choosing import Candidate, choose
from tensaur.cost.metrics import Metrics, metrics
from tensaur.cost.model import runs
from tensaur.cost.sizes import check_given, graph_sizes, named_sizes
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Exploration, Explorer, Limits, StopReason
from tensaur.errors import ExtractionError, RuntimeFailure, UnsoundRule
from tensaur.extract.numbering import ConstantNumbering
from tensaur.extract.refine import Refined
from tensaur.extract.serialized import Serialized
from tensaur.extract.solve import check_method
from tensaur.gate import Gate, Judgement
from tensaur.ir.graph import Graph
from tensaur.ir.rule import Exactness, Rule
from tensaur.options import MATHS, Options
from tensaur.result import Advice, ExtractionSummary, Result, Rewrite
from tensaur.rules import ALL_RULES
from tensaur.run import Progress, Run
from tensaur.runtime.protocol import InFolder
from tensaur.shares import with_shares

# The share of the time limit for exploring; choosing and timing have theirs.
EXPLORING = 0.25

# The share of exploring that may go into telling which constants are equal.
NUMBERING = 0.5

# The share that may go into each rule's share of the gain.
SHARING = 0.1

# The share that may go into advice on how to open the returned model.
ADVISING = 0.1


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
    egraph: Serialized | None = None
    dropped: list[str] = field(default_factory=list)
    judgement: Judgement = field(default_factory=_interrupted)
    advice: tuple[Advice, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()

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
    check_method(run.options.extract)
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
            feeds = None if gate is None else gate.timed[0]
            chosen = choose(egraph, root, source, found.sizes, run, feeds)
            found.before, found.candidates = chosen.before, chosen.candidates
            found.egraph = chosen.egraph
            found.drop(run.options.limits)
        with run.phase("checking"):
            found.judgement = judge(gate, found, run)
        if gate is not None:
            with run.phase("advising"):
                found.advice = _advice(gate, found, run)
        with run.phase("explaining"):
            found.rewrites = _shares(egraph, root, chosen.price, found, run)
    except UnsoundRule as error:  # the e-graph is worthless now, the model is not
        found.judgement = Judgement(None, f"a rule is unsound: {error}")
    except KeyboardInterrupt:  # what is there is the original
        pass
    return _result(found, run)


def explore(source: onnx_io.Source, options: Options, run: Run) -> tuple[EGraph, int, Exploration]:
    """Load the model into an e-graph and apply the admitted rules until a limit is reached."""
    return _explored(source, options, admitted(options, source.opset), run.left(EXPLORING))


def _explored(
    source: onnx_io.Source, options: Options, rules: Sequence[Rule], seconds: float
) -> tuple[EGraph, int, Exploration]:
    egraph = EGraph()
    root = egraph.load(source.graph)
    limits = Limits(
        nodes=max(options.nodes, 2 * len(source.graph)),
        seconds=seconds,
        iterations=options.iterations,
        multi=options.multi,
    )
    exact = MATHS[options.math] is Exactness.EXACT
    numbering = ConstantNumbering(egraph, source.graph.constants, seconds * NUMBERING, exact)
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


def _advice(gate: Gate, found: Found, run: Run) -> tuple[Advice, ...]:
    """Look for options with which the returned model runs faster, in a small share of the time."""
    winner = found.judgement.winner
    written = None if winner is None else found.candidates[winner].written
    model = gate.original if written is None else InFolder(written, found.source.folder)
    seconds = min(ADVISING * run.options.seconds, run.left())
    return advise(model, gate.timed[:1], gate.settings, seconds, seed=run.options.seed)


def _shares(
    egraph: EGraph, root: int, price: Callable[[EGraph, int], float], found: Found, run: Run
) -> tuple[Rewrite, ...]:
    """Return the winner's rewrites with their shares of the gain, as far as a share of the time allows."""
    winner, source, options = found.judgement.winner, found.source, run.options
    if winner is None:
        return ()
    rewrites, refined = found.candidates[winner].rewrites, found.candidates[winner].refined
    deadline = time.perf_counter() + min(SHARING * options.seconds, run.left())
    each = run.seconds["exploring"] + refined.solution.seconds
    if not rewrites or 2 * each > deadline - time.perf_counter():
        return rewrites
    rules = admitted(options, source.opset)

    def without(name: str) -> float | None:
        left = deadline - time.perf_counter()
        if left < each:
            return None
        fewer = [rule for rule in rules if rule.name != name]
        other, top, exploration = _explored(source, options, fewer, left)
        return None if exploration.stop is StopReason.TIME_LIMIT else price(other, top)

    unchanged = EGraph()
    try:
        before = price(unchanged, unchanged.load(source.graph))
        after = price(egraph, root)
    except ExtractionError:  # a size budget that the original exceeds, or greedy choices miss
        return rewrites
    return with_shares(rewrites, before, after, without)


def _result(found: Found, run: Run) -> Result:
    source, candidates, judgement = found.source, found.candidates, found.judgement
    winner = None if judgement.winner is None else candidates[judgement.winner]
    shown = winner or (candidates[0] if candidates else None)
    nodes = _node_count(source.graph)
    before = found.before if winner is None else winner.before
    cost = 0 if before is None else before.cost
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
        rewrites=found.rewrites or (() if winner is None else winner.rewrites),
        records=() if found.exploration is None else found.exploration.records,
        stop="nothing was explored" if found.exploration is None else str(found.exploration.stop),
        extraction=None if shown is None else _summary(shown.refined),
        comparison=judgement.comparison,
        seconds=dict(run.seconds),
        sizes=named_sizes(source.graph, found.sizes),
        metrics_before=found.metrics,
        metrics_after=found.metrics if winner is None else winner.metrics,
        limits=tuple(found.dropped),
        advice=found.advice,
        egraph=found.egraph,
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
        prover=solution.prover,
        gap=0.0 if solution.proved else 1.0 - refined.bound / refined.cost,
    )


def _node_count(graph: Graph) -> int:
    """Count the operators that run: structural nodes are no work."""
    ops = [graph.nodes[position].op for position in graph.live()]
    return sum(runs(op) for op in ops)
