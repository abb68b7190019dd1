"""The cache size that the system tells is read, and garbage is not."""

import pytest

from tensaur.runtime.processor import cache_from_text, cache_nbytes


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [("32768K\n", 32 << 20), ("1M", 1 << 20), ("512", 512), ("", 0), ("K", 0), ("many", 0)],
)
def test_sizes_with_units(text, nbytes):
    assert cache_from_text(text) == nbytes


def test_some_cache_is_always_assumed():
    assert cache_nbytes() > 0
