"""Commands run in this process, with their exit code and output; the engine replaced by a fake."""

from dataclasses import dataclass

import pytest

from tensaur import pipeline
from tensaur.cli import main
from tests.small import small_result


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def error(self):
        """Return the one line of an error, and make sure that it is the only one."""
        lines = [line for line in self.err.splitlines() if not line.startswith("[")]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("tensaur: error: ")
        return lines[0].removeprefix("tensaur: error: ")


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run `tensaur ARGUMENTS`."""
    monkeypatch.setenv("TENSAUR_STORE", str(tmp_path / "costs.sqlite"))

    def call(*arguments):
        capsys.readouterr()
        code = main([str(item) for item in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


class Engine:
    """Stands for `pipeline.optimize`: remembers what it was asked."""

    def __init__(self):
        self.models = []
        self.options = []
        self.changes = {}
        self.raises = None

    def optimize(self, model, *, options, progress=None):
        self.models.append(model)
        self.options.append(options)
        if progress is not None:
            progress("working")
        if self.raises is not None:
            raise self.raises
        return small_result(**self.changes)


@pytest.fixture
def engine(monkeypatch):
    """Put a fake in the engine's place."""
    fake = Engine()
    monkeypatch.setattr(pipeline, "optimize", fake.optimize)
    return fake
