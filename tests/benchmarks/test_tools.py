"""Whatever an optimiser does, the benchmark goes on and says what happened."""

from pathlib import Path

import pytest

from benchmarks import tools
from benchmarks.models.entry import Entry
from benchmarks.tools import TENSAUR, Job, Tool, run_tool


@pytest.fixture
def job(tmp_path: Path) -> Job:
    entry = Entry("some", "group", lambda path: path, {}, {"batch": 2, "width": 320})
    return Job(entry, tmp_path / "in.onnx", tmp_path / "out.onnx", tmp_path / "in.npz", 0.1)


def _fake(how: str) -> Tool:
    return Tool("fake", "tests.benchmarks.fake_tool", lambda job: [how, str(job.output)])


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("writes", ""),
        ("crashes", "crashed: SIGSEGV"),
        ("fails", "exit code 1: no good"),
        ("nothing", "wrote no model"),
    ],
)
def test_outcome(job: Job, how: str, fault: str) -> None:
    outcome = run_tool(_fake(how), job)
    assert outcome.fault == fault
    assert outcome.output == (job.output if how == "writes" else None)


def test_a_hanging_tool_is_stopped(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_GRACE_SECONDS", 0.5)
    outcome = run_tool(_fake("hangs"), job)
    assert outcome.output is None
    assert outcome.fault.startswith("stopped after")


def test_a_missing_tool_is_named(job: Job) -> None:
    outcome = run_tool(Tool("absent", "no_such_module", lambda job: []), job)
    assert outcome.fault == "not installed"


def test_tensaur_is_given_sizes_and_inputs(job: Job) -> None:
    given = TENSAUR.arguments(job)
    assert "--dim=batch=2" in given
    assert "--dim=width=320" in given
    assert f"--inputs={job.inputs}" in given
