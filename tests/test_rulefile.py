import pytest

from tensaur.errors import RuleError, UnsoundRule, UsageError
from tensaur.rulefile import load_rules, read_rules

HEAD = """
from tensaur.ir.rule import Rule
from tensaur.ir.term import Var
from tensaur.ops import add, mul, neg, sub

x, y = Var("x"), Var("y")
"""
SOUND = HEAD + 'RULES = (Rule("mine-negate-twice", neg(neg(x)), x),)\n'
UNSOUND = HEAD + 'RULES = (Rule("mine-swap", sub(x, y), sub(y, x)),)\n'


UNDECIDED = (
    HEAD
    + """
from tensaur.ir.term import derived

@derived
def never(x) -> bool:
    \"\"\"Never.\"\"\"
    return False

RULES = (
    Rule("mine-negate-twice", neg(neg(x)), x),
    Rule("mine-swap", sub(x, y), sub(y, x), when=(never(x),)),
)
"""
)


def write(folder, text):
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_sound_rules_are_loaded(tmp_path):
    said = []
    found = load_rules(write(tmp_path, SOUND), say=said.append)
    assert [rule.name for rule in found.rules] == ["mine-negate-twice"]
    assert found.trusted == frozenset()
    assert said == ["verifying mine-negate-twice"]


def test_verified_rules_are_not_verified_again(tmp_path):
    verdicts = tmp_path / "verdicts"
    path = write(tmp_path, SOUND)
    for expected in (["verifying mine-negate-twice"], []):
        said = []
        assert len(load_rules(path, say=said.append, verdicts=verdicts).rules) == 1
        assert said == expected
    write(
        tmp_path,
        SOUND.replace("neg(neg(x))", "add(x, neg(neg(y)))").replace(", x),", ", add(x, y)),"),
    )
    said = []
    load_rules(path, say=said.append, verdicts=verdicts)
    assert said == ["verifying mine-negate-twice"]


@pytest.mark.parametrize("imported", ["from neighbour import z", "import neighbour"])
def test_rules_that_rest_on_other_files_are_verified_each_time(tmp_path, monkeypatch, imported):
    (tmp_path / "neighbour.py").write_text("z = 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path, f"{imported}\n{SOUND}")
    said = []
    for _ in range(2):
        load_rules(path, say=said.append, verdicts=tmp_path / "verdicts")
    assert said == ["verifying mine-negate-twice"] * 2


def test_what_is_refuted_or_trusted_is_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 200)
    verdicts = tmp_path / "verdicts"
    for _ in range(2):
        with pytest.raises(UnsoundRule):
            load_rules(write(tmp_path, UNSOUND), verdicts=verdicts)
        assert load_rules(write(tmp_path, UNDECIDED), trust=True, verdicts=verdicts).trusted
    assert not verdicts.exists()


def test_all_rules_goes_before_rules(tmp_path):
    text = SOUND + "ALL_RULES = list(RULES)\nRULES = None\n"
    assert len(load_rules(write(tmp_path, text)).rules) == 1


@pytest.mark.parametrize("trust", [False, True])
def test_a_refuted_rule_is_refused_with_an_example(tmp_path, trust):
    with pytest.raises(UnsoundRule, match=r"mine\.py: rule mine-swap is refuted: .*Sub"):
        load_rules(write(tmp_path, UNSOUND), trust=trust)


def test_a_rule_that_nothing_decides_asks_for_trust(tmp_path, monkeypatch):
    monkeypatch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 200)
    path = write(tmp_path, UNDECIDED)
    with pytest.raises(RuleError, match=r"mine-swap cannot be verified: no instance .*--trust"):
        load_rules(path)
    found = load_rules(path, trust=True)
    assert [rule.name for rule in found.rules] == ["mine-negate-twice", "mine-swap"]
    assert found.trusted == {"mine-swap"}


def test_rules_are_read_without_being_verified(tmp_path):
    assert [rule.name for rule in read_rules(write(tmp_path, UNSOUND))] == ["mine-swap"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = (", "line 1: SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("import missing_module", "ModuleNotFoundError"),
        ("x = 1", "defines neither ALL_RULES nor RULES"),
        ("RULES = 3", "RULES is not a tuple of rules"),
        ("RULES = (1,)", "RULES is not a tuple of rules"),
        (HEAD + 'RULES = (Rule("mine-free", neg(x), y),)', "y is not bound"),
        (HEAD + "RULES = (add(x),)", "1 inputs given"),
        (SOUND + "RULES = RULES * 2", "'mine-negate-twice' is taken"),
        (HEAD + "RULES = (Rule(5, neg(neg(x)), x),)", "name 5 is not a word"),
        (HEAD + 'RULES = (Rule("", neg(neg(x)), x),)', "name '' is not a word"),
        (HEAD + 'RULES = (Rule("mine\\nnegate", neg(neg(x)), x),)', "is not a word"),
        (HEAD + 'RULES = (Rule("mine-none", neg(neg(x)), None),)', "mine-none cannot be verified"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(tmp_path, text, fault):
    with pytest.raises(RuleError, match=fault) as caught:
        load_rules(write(tmp_path, text))
    assert "mine.py: " in str(caught.value)


def test_library_names_are_taken(tmp_path):
    with pytest.raises(RuleError, match="is taken"):
        load_rules(write(tmp_path, SOUND), taken=["mine-negate-twice"])


def test_a_missing_file_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        load_rules(tmp_path / "none.py")


@pytest.mark.parametrize(
    "text", ["import sys\nsys.exit(0)\n", "raise SystemExit\n", "raise GeneratorExit\n"]
)
def test_a_file_that_ends_the_program_is_refused(tmp_path, text):
    with pytest.raises(RuleError, match=r"mine\.py: (SystemExit|GeneratorExit)"):
        load_rules(write(tmp_path, text))


@pytest.mark.parametrize("raised", ['RuntimeError("boom")', 'SystemExit("boom")'])
def test_a_condition_that_fails_is_the_rule_s_fault(tmp_path, raised):
    text = (
        HEAD
        + f"""
from tensaur.ir.term import derived

@derived
def fails(x) -> bool:
    raise {raised}

RULES = (Rule("mine-negate-twice", neg(neg(x)), x, when=(fails(x),)),)
"""
    )
    with pytest.raises(RuleError, match=r"mine-negate-twice cannot be verified: \w+: boom"):
        load_rules(write(tmp_path, text))
