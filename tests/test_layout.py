"""The shape of the project itself: sizes, docstrings, what importing costs, nothing private in it."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tensaur"
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = (
    "highspy",
    "onnx_ir",
    "onnxruntime",
    "rich",
    "scipy.optimize",
    "sqlite3",
    "tensaur.cli",
    "typer",
)
TEXT = {".cfg", ".ci", ".md", ".py", ".pyi", ".toml", ".txt", ".yaml", ".yml", ".json", ".dot", ""}
# Written in pieces, so that this file passes its own test.
MACHINE_PATHS = re.compile(
    "|".join(["/" + "work/", "/" + "root/", "/" + r"home/\w", "/" + r"Users/\w", "C:" + r"\\\w"])
)


def test_there_are_modules():
    assert len(MODULES) > 20


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_is_short_and_says_what_it_holds(path):
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    assert ast.get_docstring(ast.parse(source)), "a module begins with a docstring"


def test_importing_tensaur_loads_nothing_heavy():
    code = f"import sys, tensaur; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_file_names_a_machine_path():
    tracked = _tracked()
    assert tracked
    guilty = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in tracked
        if path.suffix in TEXT and path.is_file()
        if (found := MACHINE_PATHS.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not guilty


def _tracked():
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive without git
        folders = ("src", "tests", "docs", "examples", "benchmarks")
        return [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [ROOT / name for name in listing.split("\0") if name]


def test_published_name_is_one_everywhere():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'name = "tensaur"' in project
    assert 'tensaur = "tensaur.cli:main"' in project
    assert "tensaur.__version__" in project
