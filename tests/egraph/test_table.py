"""The array hash tables against Python's own sets and dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tensaur.egraph.table import KeySet, KeyTable

# Few keys, many of which want the same place: all multiples of 64 do in the smallest table.
keys = st.one_of(st.integers(0, 30), st.integers(0, 30).map(lambda i: 64 * i))
batches = st.lists(st.lists(keys, max_size=40), max_size=12)


def array(values):
    return np.array(values, np.int64)


@given(batches)
def test_a_set_is_a_set(steps):
    ours, known = KeySet(), set()
    for step in steps:
        assert ours.contains(array(step)).tolist() == [key in known for key in step]
        ours.add(array(step))
        known.update(step)
        assert len(ours) == len(known)
    everything = array([*range(31), *range(0, 64 * 31, 64)])
    assert ours.contains(everything).tolist() == [key in known for key in everything.tolist()]


@given(batches)
def test_a_table_is_a_dictionary(steps):
    ours, known = KeyTable(), {}
    for step in steps:
        values = array(range(len(known), len(known) + len(step)))
        expected = [known.setdefault(k, v) for k, v in zip(step, values.tolist(), strict=True)]
        assert ours.setdefault(array(step), values).tolist() == expected
        assert [ours.get_one(key) for key in step] == expected
    assert dict(zip(*(item.tolist() for item in ours.items()), strict=True)) == known
    assert ours.get(array([31, 65])).tolist() == [-1, -1]
    assert ours.get_one(31) is None
    for key in [*known, 31]:
        ours.set_one(key, 7)
        assert ours.get_one(key) == 7
    assert len(ours) == len(known | {31: 7})


def test_a_table_grows():
    drawn = np.random.default_rng(0).integers(0, 1 << 60, 50_000)
    ours = KeyTable()
    for begin in range(0, len(drawn), 7_000):
        ours.put(drawn[begin : begin + 7_000], np.arange(begin, min(begin + 7_000, len(drawn))))
    assert np.array_equal(ours.get(drawn), np.arange(len(drawn)))
    assert not ours.contains(drawn ^ 1).any()
