"""Two models side by side: are their outputs equal, and which is faster, with a confidence interval.

Holds what `tensaur compare` does. Whether a candidate may replace an original is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensaur import onnx_io
from tensaur.cost.sizes import check_given
from tensaur.runtime.choice import open_session
from tensaur.runtime.compare import Comparison, agree
from tensaur.runtime.inputs import check_feeds, random_feeds
from tensaur.runtime.protocol import Feeds, Session, Settings
from tensaur.runtime.timing import Estimate, Limits, race

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """How two models compare: outputs, seconds of each, and first / second with its interval.

    `interface` says how the interfaces differ; models that cannot be fed alike are not run.
    """

    interface: str
    outputs: Comparison | None = None
    first_seconds: float | None = None
    second_seconds: float | None = None
    ratio: Estimate | None = None

    @property
    def equal(self) -> bool:
        """Tell whether interfaces and outputs are equal."""
        return not self.interface and self.outputs is not None and self.outputs.equal


def compare(
    first: Path,
    second: Path,
    *,
    threads: int = 1,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
    seed: int = 0,
    seconds: float = 10.0,
    say: Say = lambda message: None,
) -> SideBySide:
    """Run two models on the same inputs and time them in interleaved blocks.

    ModelError names a model that cannot be read, RuntimeFailure what the runtime refuses.
    """
    say("reading both models")
    for path in (first, second):
        check_given(onnx_io.read(path).graph, sizes or {})
    settings = Settings(threads=threads)
    one, other = open_session(first, settings), open_session(second, settings)
    interface = interface_difference(one, other)
    if interface:
        return SideBySide(interface)
    say("comparing outputs")
    feeds: list[Feeds]
    if inputs is None:
        feeds = random_feeds(one, sizes, seed=seed)
    else:
        feeds = [check_feeds(inputs, one.inputs, "inputs")]
    outputs = agree(one, other, feeds)
    say("timing both models in turn")
    timed = race(
        [first, second], feeds[:1], threads=threads, limits=Limits(seconds=seconds), seed=seed
    )
    return SideBySide("", outputs, timed.time(0), timed.time(1), timed.estimate(1))


def interface_difference(first: Session, second: Session) -> str:
    """Return in which input or output two models differ first, empty if in none.

    Sizes may differ where one model declares less than the other; names and element types may not.
    """
    for kind, left, right in (
        ("input", first.inputs, second.inputs),
        ("output", first.outputs, second.outputs),
    ):
        names = [[port.name for port in ports] for ports in (left, right)]
        if names[0] != names[1]:
            return f"{kind}s {', '.join(names[0])} and {', '.join(names[1])}"
        for one, other in zip(left, right, strict=True):
            if one.kind != other.kind:
                return f"{kind} {one.name!r} is {one.kind} and {other.kind}"
    return ""
