"""Are the outputs of two models equal, and within which tolerance.

`compare_outputs` is the pure comparison; `agree` runs both models and tells rounding apart from a
fault where outputs are random or unstable. Does not make inputs and does not time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensaur.errors import RuntimeFailure
from tensaur.ir.types import Array, DType
from tensaur.runtime.protocol import Feeds, Session, Value

# An output may have this many times the share of deviating elements that the original model itself
# has under rounding-sized changes of its inputs.
_UNSTABLE_FACTOR = 4.0
_TRIALS = 3
_EPSILONS = {
    DType.FLOAT64: 2.0**-52,
    DType.FLOAT32: 2.0**-23,
    DType.FLOAT16: 2.0**-10,
    DType.BFLOAT16: 2.0**-7,
}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Floats agree if they differ by at most `relative` * value + `scaled` * greatest value of the output."""

    relative: float
    scaled: float


_TOLERANCES = {
    DType.FLOAT64: Tolerance(1e-7, 1e-9),
    DType.FLOAT32: Tolerance(1e-3, 1e-4),
    DType.FLOAT16: Tolerance(2e-2, 1e-2),
    DType.BFLOAT16: Tolerance(6e-2, 4e-2),
}
# Anything that only comes in eight bits or fewer.
_COARSE = Tolerance(0.25, 0.125)


@dataclass(frozen=True, slots=True)
class Difference:
    """How one output differs: greatest absolute error, greatest error relative to the output's scale.

    `share` is the share of elements outside the tolerance; `reason` says why the outputs count as
    different, or, if they do not although elements deviate, why not.
    """

    name: str
    equal: bool
    max_abs: float = 0.0
    max_rel: float = 0.0
    share: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of all outputs."""

    outputs: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Tell whether every output is equal within its tolerance."""
        return all(item.equal for item in self.outputs)

    @property
    def max_abs(self) -> float:
        """Return the greatest absolute error of any output."""
        return max((item.max_abs for item in self.outputs), default=0.0)

    @property
    def max_rel(self) -> float:
        """Return the greatest relative error of any output."""
        return max((item.max_rel for item in self.outputs), default=0.0)

    @property
    def reason(self) -> str:
        """Return why the outputs are different, or what the equality leaves out."""
        notes = [item for item in self.outputs if item.reason and item.equal == self.equal]
        return "; ".join(f"output {item.name!r}: {item.reason}" for item in notes)


def compare_outputs(
    expected: Mapping[str, Value],
    actual: Mapping[str, Value],
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Compare outputs by name; `tolerance` replaces the one that each element type has."""
    differences = [
        _difference(name, value, actual[name], tolerance)
        if name in actual
        else Difference(name, False, reason="missing")
        for name, value in expected.items()
    ]
    extra = [
        Difference(name, False, reason="unexpected") for name in actual if name not in expected
    ]
    return Comparison((*differences, *extra))


def agree(
    original: Session,
    candidate: Session,
    feeds: Sequence[Feeds],
    tolerance: Tolerance | None = None,
) -> Comparison:
    """Run both models on every input and return the first difference, else the last comparison.

    An output in which the original differs from itself is random: only its type is compared. An
    output whose elements jump under rounding-sized changes (arg max of near ties, thresholds) may
    deviate in about as many elements as it does in the original alone.
    """
    worst: dict[str, Difference] = {}
    for given in feeds:
        found = _agree_once(original, candidate, given, tolerance)
        for item in found.outputs:
            known = worst.get(item.name)
            worst[item.name] = item if known is None else _worse(known, item)
        if not found.equal:
            break
    return Comparison(tuple(worst.values()))


def _worse(first: Difference, second: Difference) -> Difference:
    base = first if not first.equal or second.equal else second
    return replace(
        base,
        max_abs=max(first.max_abs, second.max_abs),
        max_rel=max(first.max_rel, second.max_rel),
        share=max(first.share, second.share),
        reason=base.reason or first.reason or second.reason,
    )


def _agree_once(
    original: Session, candidate: Session, feeds: Feeds, tolerance: Tolerance | None
) -> Comparison:
    expected = original.run(feeds)
    try:
        actual = candidate.run(feeds)
    except RuntimeFailure as error:
        return Comparison(
            tuple(Difference(name, False, reason=f"candidate: {error}") for name in expected)
        )
    found = compare_outputs(expected, actual, tolerance)
    if found.equal:
        return found
    again = compare_outputs(expected, original.run(feeds), tolerance)
    noise = None
    judged = []
    for item in found.outputs:
        if not item.equal and _differs(again, item.name):
            item = _judge_random(item, expected[item.name], actual.get(item.name))
        elif not item.equal:
            noise = noise or _noise(original, feeds, expected, tolerance)
            item = _judge_unstable(item, noise.get(item.name, 0.0))
        judged.append(item)
    return Comparison(tuple(judged))


def _differs(comparison: Comparison, name: str) -> bool:
    return any(item.name == name and not item.equal for item in comparison.outputs)


def _judge_random(item: Difference, expected: Value, actual: Value) -> Difference:
    if _type_text(expected) == _type_text(actual):
        return replace(item, equal=True, reason="random, only type and shape compared")
    return item


def _judge_unstable(item: Difference, noise: float) -> Difference:
    if not 0.0 < item.share <= _UNSTABLE_FACTOR * noise:
        return item
    return replace(
        item,
        equal=True,
        reason=f"{item.share:.2%} of the elements deviate, {noise:.2%} do in the original alone "
        "under rounding-sized changes",
    )


def _noise(
    original: Session,
    feeds: Feeds,
    expected: Mapping[str, Value],
    tolerance: Tolerance | None,
) -> dict[str, float]:
    """Return per output the greatest share of elements that rounding alone moves out of tolerance."""
    runs = [original.run(_perturbed(feeds, seed)) for seed in range(_TRIALS)]
    plain = original.reopened(replace(original.settings, optimised=False))
    runs.append(plain.run(feeds))
    noise: dict[str, float] = {}
    for outputs in runs:
        for item in compare_outputs(expected, outputs, tolerance).outputs:
            noise[item.name] = max(noise.get(item.name, 0.0), item.share)
    return noise


def _perturbed(feeds: Feeds, seed: int) -> Feeds:
    rng = np.random.default_rng(seed)
    result = dict(feeds)
    for name, array in feeds.items():
        if isinstance(array, np.ndarray) and _is_inexact(array):
            step = 4 * _EPSILONS[DType.of(array.dtype)]
            noisy = array.astype(np.float64) * (1 + step * rng.uniform(-1, 1, array.shape))
            result[name] = noisy.astype(array.dtype)
    return result


def _is_inexact(array: Array) -> bool:
    return array.dtype.kind not in "iubOUSc" and DType.of(array.dtype).is_float


def _difference(
    name: str, expected: Value, actual: Value, tolerance: Tolerance | None
) -> Difference:
    texts = _type_text(expected), _type_text(actual)
    if texts[0] != texts[1]:
        # Shapes may depend on values (NonZero, NonMaxSuppression); element types and ranks may not.
        share = 1.0 if _kind(expected) == _kind(actual) else 0.0
        return Difference(name, False, np.inf, np.inf, share, f"{texts[1]} instead of {texts[0]}")
    if isinstance(expected, np.ndarray):
        return _array_difference(name, expected, actual, tolerance)
    if isinstance(expected, (list, tuple)):
        items = [_difference(name, a, b, tolerance) for a, b in zip(expected, actual, strict=True)]
    elif isinstance(expected, dict):
        items = [_difference(name, expected[key], actual[key], tolerance) for key in expected]
    else:
        return _array_difference(name, np.asarray(expected), np.asarray(actual), tolerance)
    merged = Difference(name, True)
    for item in items:
        merged = _worse(merged, item)
    return merged


def _array_difference(
    name: str, expected: Array, actual: Array, tolerance: Tolerance | None
) -> Difference:
    if expected.size == 0:
        return Difference(name, True)
    if expected.dtype.kind in "iubOUS":
        wrong = expected != actual
        share = float(np.mean(wrong))
        numeric = expected.dtype.kind in "iu"
        gap = np.abs(expected.astype(np.float64) - actual.astype(np.float64)) if numeric else wrong
        reason = f"{share:.2%} of the elements differ" if share else ""
        return Difference(name, share == 0, float(np.max(gap)), float(share > 0), share, reason)
    limit = tolerance or _TOLERANCES.get(_component(expected), _COARSE)
    return _float_difference(name, expected, actual, limit)


def _component(array: Array) -> DType:
    if array.dtype.kind == "c":
        return DType.FLOAT32 if array.dtype.itemsize == 8 else DType.FLOAT64
    return DType.of(array.dtype)


def _float_difference(
    name: str, expected: Array, actual: Array, tolerance: Tolerance
) -> Difference:
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(wide), actual.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(finite, np.abs(a - b), np.where(same, 0.0, np.inf))
    size = np.abs(np.where(np.isfinite(a), a, 0.0))
    scale = float(size.max())
    # Where all is zero there is no scale; what is left of a cancellation is not a fault.
    floor = tolerance.scaled * scale if scale else tolerance.scaled * 1e-3
    wrong = gap > tolerance.relative * size + floor
    share, max_abs = float(np.mean(wrong)), float(gap.max())
    max_rel = 0.0 if max_abs == 0 else max_abs / scale if scale else np.inf
    reason = ""
    if share:
        unlike = bool(np.isinf(max_abs))
        what = "NaN or infinity elsewhere" if unlike else f"greatest error {max_abs:.3g}"
        reason = f"{share:.2%} of the elements differ, {what}, greatest value {scale:.3g}"
    return Difference(name, share == 0, max_abs, max_rel, share, reason)


def _type_text(value: Value) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"sequence of {len(value)}"
    if isinstance(value, dict):
        return f"map of {sorted(map(str, value))}"
    return type(value).__name__


def _kind(value: Value) -> tuple[object, int]:
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else (type(value), 0)
