"""What the documentation says is true: links lead somewhere, code runs, flags exist."""

import re
import runpy
from pathlib import Path

import pytest

from tensaur.cli import main
from tensaur.cost.objective import METRICS, objective
from tensaur.cost.pricer import pricer_for
from tensaur.errors import UnsoundRule, UsageError
from tensaur.ir.types import DType, Fact, TensorType
from tensaur.ops import Relu
from tensaur.options import Options
from tensaur.rulefile import load_rules
from tensaur.userfile import names_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMANDS = (
    *("optimize", "compare", "inspect", "demo", "rules list", "rules show", "rules verify"),
    *("costs show", "costs measure", "costs export", "costs import", "costs clear"),
)


def blocks(path, language):
    text = path.read_text(encoding="utf-8")
    return [code for name, code in FENCE.findall(text) if name == language]


def test_there_are_pages():
    assert {"README.md", "CONTRIBUTING.md", "writing-rules.md"} <= {path.name for path in PAGES}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    links = LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
    targets = [link for link in links if not link.startswith(("http:", "https:"))]
    assert [link for link in targets if not (path.parent / link).exists()] == []


def test_the_rules_of_the_guide_are_sound(tmp_path):
    (code,) = [
        code for code in blocks(ROOT / "docs" / "writing-rules.md", "python") if "RULES" in code
    ]
    path = tmp_path / "mine.py"
    path.write_text(code, encoding="utf-8")
    assert [rule.name for rule in load_rules(path).rules] == ["mine-negate-twice", "mine-factor"]


def test_the_wrong_rule_of_the_guide_is_refuted(tmp_path):
    right, wrong = [
        code
        for code in blocks(ROOT / "docs" / "writing-rules.md", "python")
        if "mine-factor" in code
    ]
    path = tmp_path / "mine.py"
    path.write_text(f"{right}\nRULES = ({wrong.strip()},)\n", encoding="utf-8")
    with pytest.raises(UnsoundRule, match="mine-factor is refuted"):
        load_rules(path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_python_of_the_pages_compiles(path):
    for code in blocks(path, "python"):
        compile(code, path.name, "exec")


def test_the_page_on_the_engine_runs(capsys):
    code = "".join(blocks(ROOT / "docs" / "engine.md", "python"))
    variables = {}
    exec(compile(code, "engine.md", "exec"), variables)
    assert variables["egraph"].represents(variables["graph"], variables["root"])
    assert variables["best"].cost == variables["best"].bound
    assert "saturated" in capsys.readouterr().out


def test_the_tour_shows_the_graphs_of_the_example(capsys):
    graphs = [code for code in blocks(ROOT / "docs" / "tour.md", "") if code.startswith("input")]
    assert len(graphs) == 2
    runpy.run_path(str(ROOT / "examples" / "every_stage.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert [graph for graph in graphs if graph not in out] == []


@pytest.mark.parametrize("page", ["README.md", "docs/costs.md"])
def test_flags_of_the_pages_exist(page, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    known = ""
    for command in COMMANDS:
        assert main([*command.split(), "--help"]) == 0
        known += capsys.readouterr().out
    text = (ROOT / page).read_text(encoding="utf-8")
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--version", "--help"}
    assert flags, "the page shows the command line"
    assert {flag for flag in flags if flag not in known} == set()


def test_costs_of_the_page_on_costs(tmp_path):
    text = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
    for given in re.findall(r'--cost "([^"]+)"', text):
        assert Options(cost=given).objective.factors
    assert all(f"| `{metric}` |" in text for metric in METRICS)
    (code,) = blocks(ROOT / "docs" / "costs.md", "python")
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    own = names_of(tmp_path / "mine.py", UsageError)["elements"]
    x = Fact(TensorType(DType.FLOAT32, (3, 4)))
    assert pricer_for(objective(own)).price(Relu(), [x], x) == 12


def test_defaults_of_the_readme_are_those_of_the_options():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    defaults = Options()
    assert f"| {defaults.nodes}, {defaults.iterations}, {defaults.multi} |" in text
    assert f"measuring included | {defaults.seconds:g} |" in text
