"""optimize(): read, saturate, extract, check, write. The whole data flow on one page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tensaur import onnx_io
from tensaur.cost.fusion import fuses
from tensaur.cost.pricer import pricer_for
from tensaur.cost.sizes import graph_sizes
from tensaur.egraph.egraph import EGraph
from tensaur.egraph.explore import Exploration, Explorer, Limits
from tensaur.errors import ExtractionError
from tensaur.extract.lower import lower
from tensaur.extract.problem import Problem, Solution
from tensaur.extract.provenance import rules_used
from tensaur.extract.refine import Refined, Refinement
from tensaur.extract.solve import extract
from tensaur.extract.space import Space
from tensaur.gate import Gate, Judgement
from tensaur.ir.graph import Graph
from tensaur.ir.operator import STRUCTURAL, Opaque
from tensaur.ir.rule import Rule
from tensaur.options import MATHS, Options
from tensaur.result import ExtractionSummary, Result, Rewrite
from tensaur.rules import ALL_RULES

Progress = Callable[[str], None]

# Shares of the time limit: exploring, then everything up to and including extraction; timing has the rest.
EXPLORING, CHOOSING = 0.25, 0.65

# New forms must promise more than the prices are noisy. The careful candidate asks for more, since
# single-operator prices miss what the runtime does across operators.
BIASES = (0.02, 0.3)


@dataclass
class Run:
    """The clock of one run: phases announced and timed, and what is left of the time limit."""

    options: Options
    say: Progress
    start: float = field(default_factory=time.perf_counter)
    seconds: dict[str, float] = field(default_factory=dict)

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
        return self.start + share * self.options.seconds

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


def optimize(
    model: Any, *, options: Options | None = None, progress: Progress | None = None
) -> Result:
    """Return an equivalent model that is not slower; see `Options` and `Result`.

    `model` is a path, an `onnx.ModelProto` or an `onnx_ir.Model`. ModelError if it is refused.
    """
    options = options or Options()
    run = Run(options, progress or (lambda message: None))
    with run.phase("reading"):
        source = onnx_io.read(model)
        gate = Gate(source, options) if options.gate else None
        sizes = graph_sizes(source.graph, options.sizes if gate is None else gate.sizes)
    with run.phase("exploring"):
        egraph, root, exploration = explore(source, options, run)
    with run.phase("choosing"):
        before, candidates = choose(egraph, root, source, sizes, run)
    with run.phase("checking"):
        judgement = judge(gate, candidates, run)
    return _result(source, before, candidates, judgement, exploration, run, sizes)


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
    explorer = Explorer(egraph, rules, limits, cycle_filter=options.cycle_filter)
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
    """Price and extract: the original's cost, and the distinct cheaper graphs."""
    options = run.options
    space = Space(egraph, root, dict(source.graph.constants), fuses)
    opsets = {item.domain: item.version for item in source.proto.opset_import}
    pricer = pricer_for(options.cost, sizes, options.threads, options.store, opsets=opsets)
    refinement = Refinement(space, pricer, time.perf_counter, run.deadline(CHOOSING))
    original_nbytes = sum(data.nbytes for data in source.graph.constants.values())
    budget = original_nbytes + options.growth_budget(original_nbytes)

    def solve(problem: Problem, final: bool) -> Solution:
        seconds = max(1.0, run.left(CHOOSING) / 2)
        if options.extract == "ilp" and not final:
            try:
                return extract(problem, "dag", seconds=seconds, seed=options.seed)
            except ExtractionError:  # greedy choices may miss a size budget that others meet
                pass
        return extract(problem, options.extract, seconds=seconds, seed=options.seed)

    before = refinement.run(solve, None, loaded_only=True)
    candidates: list[Candidate] = []
    for bias in BIASES if options.cost == "latency" else BIASES[:1]:
        refined = refinement.run(solve, budget, bias=bias)
        if refined.solution.cost >= before.solution.cost and candidates:
            continue
        graph = lower(space, refined.picked, [o.name for o in source.graph.outputs], source.graph)
        if all(graph.nodes != known.graph.nodes for known in candidates):
            rewrites = tuple(Rewrite(*item) for item in rules_used(space, refined.picked))
            candidates.append(Candidate(graph, onnx_io.write(graph, source), refined, rewrites))
    return before, candidates


def judge(gate: Gate | None, candidates: list[Candidate], run: Run) -> Judgement:
    """Compare and time the candidates against the original; without a gate, take the first."""
    if gate is None:
        return Judgement(0 if candidates else None, "not compared and not timed")
    return gate.judge([item.written for item in candidates], max(4.0, run.left()), run.say)


def _result(
    source: onnx_io.Source,
    before: Refined,
    candidates: list[Candidate],
    judgement: Judgement,
    exploration: Exploration,
    run: Run,
    sizes: Mapping[str, int],
) -> Result:
    winner = None if judgement.winner is None else candidates[judgement.winner]
    shown = winner or (candidates[0] if candidates else None)
    nodes = _node_count(source.graph)
    return Result(
        source=source,
        written=source.proto if winner is None else winner.written,
        kept_original=winner is None,
        reason=judgement.reason,
        latency=judgement.latency,
        cost_before=before.solution.cost,
        cost_after=before.solution.cost if winner is None else winner.refined.solution.cost,
        cost_unit="ns" if run.options.cost == "latency" else run.options.cost,
        nodes_before=nodes,
        nodes_after=nodes if winner is None else _node_count(winner.graph),
        rewrites=() if winner is None else winner.rewrites,
        records=exploration.records,
        stop=str(exploration.stop.value),
        extraction=None if shown is None else _summary(shown.refined.solution),
        comparison=judgement.comparison,
        seconds=dict(run.seconds),
        sizes=dict(sizes),
    )


def _summary(solution: Solution) -> ExtractionSummary:
    return ExtractionSummary(
        method=solution.solver,
        cost=solution.cost,
        bound=solution.lower_bound,
        proved=solution.proved,
        seconds=solution.seconds,
        stop=solution.stop.value,
    )


def _node_count(graph: Graph) -> int:
    """Count the operators that run: structural nodes are no work."""
    ops = [graph.nodes[position].op for position in graph.live()]
    return sum(isinstance(op, Opaque) or not isinstance(op, STRUCTURAL) for op in ops)
