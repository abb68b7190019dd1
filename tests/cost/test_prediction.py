"""A model's latency is the sum over its kernels, each corrected by what is known of kernels like it."""

import pytest

from tensaur.cost.feedback import Feedback
from tensaur.cost.learning import learn, parts
from tensaur.cost.prediction import predicted
from tensaur.runtime.protocol import Kernel
from tests.cost.test_learning import KERNELS, affine
from tests.cost.test_measured import FakeStopwatch, model

OVERHEAD = 1e-6


def test_latency_is_the_sum_over_kernels_and_the_overhead():
    pricer = model(FakeStopwatch())
    alone = [pricer.isolated(part.graph).amount * 1e-9 for part in parts(affine(), KERNELS)]
    assert len(alone) == 3
    assert predicted(pricer, affine(), KERNELS) == pytest.approx(sum(alone) + OVERHEAD)


def test_what_no_kernel_computes_costs_nothing():
    pricer = model(FakeStopwatch())
    assert predicted(pricer, affine(), KERNELS[3:]) == OVERHEAD


def test_a_change_of_layout_costs_something():
    pricer, name = model(FakeStopwatch()), "positive"
    plain = predicted(pricer, affine(), KERNELS)
    carrying = Kernel("Layout", (), carries=name)
    assert predicted(pricer, affine(), [*KERNELS, carrying]) > plain
    unknown = Kernel("Layout", (), carries="unknown")
    assert predicted(pricer, affine(), [*KERNELS, unknown]) == plain


def test_feedback_from_the_model_itself_predicts_its_time():
    pricer, feedback = model(FakeStopwatch()), Feedback(strength=0.01)
    learn(feedback, pricer, affine(), KERNELS)
    total = sum(kernel.seconds for kernel in KERNELS)
    assert predicted(pricer, affine(), KERNELS, feedback) == pytest.approx(
        total + OVERHEAD, rel=0.1
    )
