"""What feedback learns: factors by path, shrunk where little was seen, noise where nothing was."""

import math

import numpy as np
import pytest

from tensaur.cost.feedback import Feedback

LONG = 1e-3


def test_nothing_seen_changes_nothing():
    assert Feedback().factor(("Conv", "conv 3x3", "after Relu")) == 1.0


def test_one_observation_counts_by_half():
    feedback = Feedback(strength=1.0)
    feedback.observe((), LONG, 4 * LONG)
    assert feedback.factor(()) == pytest.approx(2.0)
    assert feedback.factor(("Conv",)) == pytest.approx(2.0), "the general case holds for all"


def test_many_observations_count_in_full():
    feedback = Feedback()
    for _ in range(100):
        feedback.observe(("Conv",), LONG, 0.5 * LONG)
    assert feedback.factor(("Conv",)) == pytest.approx(0.5, rel=0.01)


def test_contexts_differ_and_share_what_is_common():
    feedback = Feedback()
    for _ in range(50):
        feedback.observe(("Conv", "a", "after Conv"), LONG, 0.5 * LONG)
        feedback.observe(("Conv", "a", "after Relu"), LONG, 2.0 * LONG)
    assert feedback.factor(("Conv", "a", "after Conv")) == pytest.approx(0.5, rel=0.05)
    assert feedback.factor(("Conv", "a", "after Relu")) == pytest.approx(2.0, rel=0.05)
    assert feedback.factor(("Conv", "a", "after Mul")) == pytest.approx(1.0, rel=0.05)


def test_the_particular_begins_from_the_kind():
    feedback = Feedback()
    for number in range(50):
        feedback.observe(("Conv", number), LONG, 0.7 * LONG)
    assert feedback.factor(("Conv", "new")) == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize(("alone", "seen"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0)])
def test_what_has_no_ratio_is_left_out(alone, seen):
    feedback = Feedback()
    feedback.observe((), alone, seen)
    assert feedback.factor(()) == 1.0


def test_short_times_count_for_less():
    short, long = Feedback(), Feedback()
    short.observe((), 1e-6, 2e-6)
    long.observe((), 1e-3, 2e-3)
    assert 1.0 < short.factor(()) < long.factor(())


def test_prediction_of_unseen_sums_gets_better():
    rng = np.random.default_rng(0)
    kinds = {f"k{i}": math.exp(rng.normal(0, 0.3)) for i in range(8)}
    operators = [(f"k{i % 8}", f"k{i % 8} {i}", math.exp(rng.normal(0, 0.1))) for i in range(40)]
    alone = dict(zip((item[1] for item in operators), rng.uniform(1e-5, 1e-3, 40), strict=True))

    def seen(operator):
        kind, name, own = operator
        return alone[name] * kinds[kind] * own * math.exp(rng.normal(0, 0.02))

    feedback = Feedback()
    for operator in operators[:24] * 3:
        feedback.observe(operator[:2], alone[operator[1]], seen(operator))
    truth = sum(map(seen, operators))
    plain = sum(alone.values())
    better = sum(alone[item[1]] * feedback.factor(item[:2]) for item in operators)
    assert abs(better / truth - 1) < 0.5 * abs(plain / truth - 1)
