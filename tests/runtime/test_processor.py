"""The processor's name."""

import pytest

from tensaur.runtime.processor import name_from_cpuinfo, processor_name

BRAND = "model name\t: Some CPU\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("BogoMIPS\t: 50.0\n", ""),
        (BRAND, "Some CPU"),
        (f"cpu family\t: 26\nmodel\t\t: 2\n{BRAND}", "Some CPU (cpu family 26, model 2)"),
        (f"{BRAND}model\t\t: 2\n\n{BRAND}model\t\t: 3\n", "Some CPU (model 2)"),
    ],
)
def test_names(text, name):
    assert name_from_cpuinfo(text) == name


def test_every_processor_has_a_name():
    assert processor_name()
