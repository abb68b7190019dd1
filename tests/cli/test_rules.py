"""`tensaur rules`: verify, show, import-taso; and --trust where rules are used."""

from __future__ import annotations

import re
import sys

import pytest

from tensaur.rulefile import load_rules, read_rules
from tensaur.rules import ALL_RULES
from tests.small import small_file
from tests.taso.files import (
    ASSOCIATE,
    FUSE_RELU,
    LOSE_FACTOR,
    SUM_ORDER,
    SUM_ORDER_AGAIN,
    collection,
    operator,
    rule,
)

HEAD = """
from tensaur.ir.rule import ROUNDING, Rule
from tensaur.ir.term import Var, derived
from tensaur.ops import add, matmul, neg, sub
from tensaur.rules.conditions import ranks_at_least

x, y, z = Var("x"), Var("y"), Var("z")

@derived
def never(fact) -> bool:
    \"\"\"Never.\"\"\"
    return False

@derived
def fails(fact) -> bool:
    \"\"\"Fail.\"\"\"
    raise RuntimeError("boom")

"""
TWICE = 'Rule("mine-twice", neg(neg(x)), x)'
BOTH = (
    'Rule("mine-associate", matmul(matmul(x, y), z), matmul(x, matmul(y, z)),'
    " when=(ranks_at_least(2, x, y, z),), exactness=ROUNDING, both_ways=True)"
)
SWAP = 'Rule("mine-swap", sub(x, y), sub(y, x), exactness=ROUNDING)'
NEVER = 'Rule("mine-never", sub(x, y), sub(y, x), when=(never(x),))'
FAILS = 'Rule("mine-fails", neg(neg(x)), x, when=(fails(x),))'


@pytest.fixture(autouse=True)
def few_attempts(monkeypatch):
    monkeypatch.setattr("tensaur.synth.trial.MOST_ATTEMPTS", 400)


def write(folder, *rules):
    path = folder / "mine.py"
    path.write_text(f"{HEAD}RULES = ({', '.join(rules)},)\n", encoding="utf-8")
    return path


def fits(text):
    return all(len(line) <= 80 for line in text.splitlines())


# verify


def test_what_was_tried_is_said_for_every_direction(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, TWICE, BOTH))
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "mine-twice: verified"
    assert re.match(r"  =>  \d+ instances", lines[1])
    assert "mine-associate: verified" in lines
    backward = next(line for line in lines if re.match(r"  <=  \d+ instances", line))
    assert "ranks 2" in backward
    assert "f64" in backward
    assert "prime field" in done.out
    assert lines[-1] == "2 rules: 2 verified"
    assert fits(done.out)


def test_a_refuted_rule_is_shown_with_a_counterexample(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, TWICE, SWAP))
    assert done.code == 1
    for part in ("mine-swap: refuted", "Sub(x, y)", "Sub(y, x)", "found out = ", "made  out = "):
        assert part in done.out
    assert done.out.splitlines()[-1] == "2 rules: 1 verified, 1 refuted"
    assert fits(done.out)


def test_a_rule_that_never_applies_is_not_verified(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, NEVER))
    assert done.code == 1
    assert "mine-never: not verified: no instance was found" in done.out
    assert "1 not tried on anything" in done.out


def test_a_condition_that_fails_is_named(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, FAILS))
    assert done.code == 1
    assert "rule mine-fails cannot be verified: RuntimeError: boom" in done.error


def test_a_file_without_rules_is_refused(run, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("RULES = ()\n", encoding="utf-8")
    done = run("rules", "verify", path)
    assert done.code == 1
    assert "mine.py: holds no rules" in done.error


def test_the_library_is_verified_by_prefix(run):
    done = run(
        "rules", "verify", "--library", "--only", "elementwise-negate-twice", "--trials", "5"
    )
    assert done.code == 0
    (instances,) = re.findall(r"=>  (\d+) instances", done.out)
    assert 5 <= int(instances) < 60


def test_quiet_is_the_exit_code_alone(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, SWAP), "--quiet")
    assert (done.code, done.out, done.err) == (1, "", "")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "a file of rules or --library"),
        (["mine.py", "--library"], "not both"),
        (["none.py"], "none.py: no such file"),
        (["--library", "--only", "nonsense"], "nonsense"),
        (["--library", "--trials", "0"], "--trials"),
        (["--library", "--seed", "-1"], "--seed"),
        (["--library", "--prove", "--seconds", "0"], "--seconds"),
        (["--library", "--prove", "--method", "guess"], "--method"),
    ],
)
def test_wrong_usage_of_verify(run, arguments, fault):
    done = run("rules", "verify", *arguments)
    assert done.code == 2
    assert fault in done.error


# verify --prove


def test_a_rule_is_proved_after_it_is_verified(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, TWICE, BOTH), "--prove", "--trials", "5")
    assert done.code == 0
    lines = done.out.splitlines()
    first = lines.index("mine-twice: axiom")
    assert re.fullmatch(
        r"  saturation: (\d+) of \1 cases proved, \1 for all sizes", lines[first + 1]
    )
    assert lines[first + 2] == "    from negate-twice"
    assert "mine-associate: axiom" in lines[first:]
    assert "    from matmul-associates" in lines
    assert any(line.startswith("  rank of z: 2, 3") for line in lines)
    assert any(line.startswith("  shapes of x and y: ") for line in lines)
    assert lines[-2:] == ["2 rules: 2 verified", "2 rules: 2 axiom"]
    assert fits(done.out)


def test_what_is_refuted_is_not_proved(run, tmp_path):
    done = run("rules", "verify", write(tmp_path, SWAP), "--prove")
    assert done.code == 1
    assert done.out.count("mine-swap: ") == 1
    assert done.out.splitlines()[-1] == "1 rule: 0 verified, 1 refuted"


def test_that_a_rule_is_not_proved_is_no_error(run, tmp_path):
    path = write(tmp_path, TWICE)
    done = run("rules", "verify", path, "--prove", "--trials", "5", "--seconds", "1e-9")
    assert done.code == 0
    assert "mine-twice: unknown: the time is over" in done.out.splitlines()
    assert done.out.splitlines()[-1] == "1 rule: 1 unknown"


def test_a_rule_is_proved_by_both_methods(run, tmp_path):
    path = write(tmp_path, TWICE)
    done = run("rules", "verify", path, "--prove", "--method", "both", "--trials", "5")
    assert done.code == 0
    for method in ("saturation", "z3"):
        assert re.search(
            rf"^  {method}: (\d+) of \1 cases proved, \1 for all sizes$", done.out, re.M
        )


def test_proof_by_z3_needs_z3(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    done = run("rules", "verify", write(tmp_path, TWICE), "--prove", "--method", "z3")
    assert (done.code, done.out) == (2, "")
    assert "pip install tensaur[prove]" in done.error
    assert run("rules", "verify", tmp_path / "mine.py", "--quiet", "--method", "z3").code == 0


# show


def test_a_rule_is_shown_in_full(run):
    done = run("rules", "show", "matmul-associate")
    assert done.code == 0
    for part in (
        "MatMul(MatMul(x, y), z)",
        "both ways",
        "ranks-at-least(2, x, y, z)",
        "Whether all tensors have at least `rank` axes.",
        "rounding: equal over the reals",
        "verified",
        " instances",
        "before",
        "after",
        "= MatMul(",
        "output out",
    ):
        assert part in done.out
    assert fits(done.out)


def test_computed_attributes_are_explained(run):
    done = run("rules", "show", "layout-transpose-twice")
    assert "compose($q, $p)" in done.out
    assert "The permutation that `inner` and then `outer` make together." in done.out
    assert "every element type" in done.out


def test_a_group_rule_is_shown_for_two_members(run):
    group = next(item for item in ALL_RULES if item.group is not None)
    done = run("rules", "show", group.name)
    assert done.code == 0
    assert "(2) " in done.out
    assert "(3) " in done.out


def test_own_rules_are_shown_too(run, tmp_path):
    path = write(tmp_path, SWAP)
    done = run("rules", "show", "mine-swap", "--rules", path)
    assert done.code == 1
    assert "refuted" in done.out


@pytest.mark.parametrize(
    ("name", "hint"),
    [("matmul-asociate", "matmul-associate"), ("transpose-twi", "layout-transpose-twice")],
)
def test_an_unknown_name_gets_the_closest_ones(run, name, hint):
    done = run("rules", "show", name)
    assert done.code == 2
    assert f"no rule is called '{name}'" in done.error
    assert hint in done.error


def test_a_name_like_no_other_gets_a_hint(run):
    assert "`tensaur rules list`" in run("rules", "show", "0" * 20).error


# --trust


def test_undecided_rules_are_used_if_they_are_trusted(run, engine, tmp_path):
    path = write(tmp_path, TWICE, NEVER)
    refused = run("optimize", small_file(tmp_path), "--rules", path)
    assert refused.code == 1
    assert "mine-never cannot be verified" in refused.error
    assert "--trust" in refused.error
    assert run("optimize", small_file(tmp_path), "--rules", path, "--trust").code == 0
    assert [item.name for item in engine.options[0].rules] == ["mine-twice", "mine-never"]
    assert engine.options[0].trusted == {"mine-never"}


def test_refuted_rules_are_refused_whether_trusted_or_not(run, engine, tmp_path):
    done = run("optimize", small_file(tmp_path), "--rules", write(tmp_path, SWAP), "--trust")
    assert done.code == 1
    assert "mine-swap is refuted" in done.error
    assert engine.models == []


def test_trust_needs_rules(run, engine, tmp_path):
    done = run("optimize", small_file(tmp_path), "--trust")
    assert done.code == 2
    assert "--trust" in done.error


def test_the_report_says_what_was_trusted(run, engine, tmp_path):
    engine.changes = {"trusted": ("mine-never",)}
    done = run("optimize", small_file(tmp_path))
    assert "mine-never (used unverified)" in done.out


# import-taso


UNKNOWN = rule([operator(5, -1, -2)], [operator(5, -2, -1)], ((0, 0), (0, 0)))


@pytest.fixture
def taso(tmp_path):
    path = tmp_path / "rules.pb"
    path.write_bytes(
        collection(ASSOCIATE, FUSE_RELU, LOSE_FACTOR, SUM_ORDER, SUM_ORDER_AGAIN, UNKNOWN)
    )
    return path


def test_rules_of_taso_become_a_file_of_rules(run, taso, tmp_path):
    target = tmp_path / "taso.py"
    done = run("rules", "import-taso", taso, "-o", target)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "0  proved   (a@b)@c => a@(b@c)"
    assert lines[1] == "              for all sizes, by matmul-associates"
    assert "1  same     relu(conv(x, w)) => relu(conv(x, w))" in lines
    assert "2  refuted  conv(x, w) * a => conv(x, w)" in lines
    assert "4  as 3     a + (b + c) => b + (c + a)" in lines
    assert "operator type 5 is none of those known here" in done.out
    counted = "6 rules: 3 proved, 0 tested only, 1 that say nothing here, 1 refuted, 1 unknown"
    assert counted in done.out.replace("\n", " ")
    assert "taso-2 is wrong here: " in done.out
    assert fits(done.out.replace(str(target), "taso.py"))
    assert [item.name for item in load_rules(target).rules] == ["taso-0", "taso-3"]
    assert run("rules", "verify", target).code == 0
    assert run("rules", "show", "taso-3", "--rules", target).code == 0


@pytest.fixture
def imported(run, tmp_path):
    def imported(name, *rules):
        """Import rules without proofs, and return the file that is written."""
        path, target = tmp_path / "some.pb", tmp_path / name
        path.write_bytes(collection(*rules))
        done = run("rules", "import-taso", path, "-o", target, "--no-prove", "--quiet")
        assert (done.code, done.out) == (0, "")
        return target

    return imported


def test_importing_again_gives_the_same_text(imported):
    rules = (FUSE_RELU, LOSE_FACTOR, SUM_ORDER)
    first, second = (imported(name, *rules) for name in ("first.py", "second.py"))
    assert first.read_bytes() == second.read_bytes()


def test_imported_rules_are_used(run, engine, imported, tmp_path):
    target = imported("taso.py", ASSOCIATE, LOSE_FACTOR)
    assert run("optimize", small_file(tmp_path), "--rules", target).code == 0
    assert [item.name for item in engine.options[0].rules] == ["taso-0"]


def test_refuted_rules_are_kept_apart(run, imported):
    target = imported("taso.py", FUSE_RELU, LOSE_FACTOR)
    kept = target.with_name("kept.py")
    kept.write_text(target.read_text(encoding="utf-8") + "\nRULES = REFUTED\n", encoding="utf-8")
    assert [item.name for item in read_rules(kept)] == ["taso-1"]
    assert run("rules", "verify", kept).code == 1


@pytest.mark.parametrize(
    ("content", "code", "fault"),
    [
        (None, 2, "no such file"),
        (b"", 1, "holds no rules"),
        (collection(ASSOCIATE)[:-3], 1, "not a file of TASO's rules"),
        (b"\x0a\x05ab", 1, "reaches beyond the end"),
        (b"\x80" * 100, 1, "longer than ten bytes"),
    ],
)
def test_files_that_are_refused(run, tmp_path, content, code, fault):
    path = tmp_path / "rules.pb"
    if content is not None:
        path.write_bytes(content)
    done = run("rules", "import-taso", path, "-o", tmp_path / "taso.py")
    assert done.code == code
    assert fault in done.error
    assert "\n" not in done.error
    assert not (tmp_path / "taso.py").exists()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_proofs_need_time(run, taso, tmp_path, seconds):
    done = run("rules", "import-taso", taso, "-o", tmp_path / "taso.py", "--seconds", seconds)
    assert done.code == 2
    assert "--seconds" in done.error
    assert not (tmp_path / "taso.py").exists()


def test_the_output_is_not_the_input(run, taso):
    done = run("rules", "import-taso", taso, "-o", taso)
    assert done.code == 2
    assert "is an input" in done.error
