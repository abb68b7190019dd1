"""A process of its own: its answer comes back, its end and its environment stay its own affair."""

import os
import time

import pytest

from benchmarks.apart import apart
from tensaur.errors import RuntimeFailure
from tests.benchmarks import child


def test_the_answer_comes_back_from_another_process() -> None:
    assert apart(divmod, 7, 2) == (3, 1)
    assert apart(os.getpid) != os.getpid()


@pytest.mark.parametrize(
    ("function", "fault"),
    [(child.dies, "crashed: SIGKILL"), (child.leaves, "exit code 3"), (child.fails, "no good")],
)
def test_what_goes_wrong_is_told(function, fault: str) -> None:
    with pytest.raises(RuntimeFailure, match=f"^{fault}$"):
        apart(function)


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(RuntimeFailure, match=r"^stopped after 1 s$"):
        apart(time.sleep, 60, seconds=1.0)


def test_the_environment_is_the_process_s_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSAUR_TEST_OLD", "old")
    given = {"TENSAUR_TEST_OLD": "changed", "TENSAUR_TEST_NEW": "new"}
    assert apart(os.getenv, "TENSAUR_TEST_OLD", environment=given) == "changed"
    assert apart(os.getenv, "TENSAUR_TEST_NEW", environment=given) == "new"
    assert os.environ["TENSAUR_TEST_OLD"] == "old"
    assert "TENSAUR_TEST_NEW" not in os.environ
