"""What all tests share: a quiet runtime, hypothesis without deadlines, and golden files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# For the tests that load ONNX Runtime themselves.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

settings.register_profile("tensaur", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("tensaur")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the golden files instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name, or rewrite the file (`make golden`)."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        text = text.rstrip("\n") + "\n"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.is_file(), f"{path.name} is missing: run make golden and read the diff"
        assert text == path.read_text(encoding="utf-8")

    return compare
