"""TASO's protobuf files are read as written, and damaged ones are refused in a line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensaur.errors import RuleError, UsageError
from tensaur.taso.wire import (
    MappedOutput,
    OperatorRecord,
    Place,
    RuleRecord,
    parse_rules,
    read_rules,
)
from tests.taso.files import (
    ASSOCIATE,
    LOSE_FACTOR,
    SHARE_FACTOR,
    collection,
    message,
    number,
    operator,
    varint,
)


def test_a_file_is_read_as_written():
    (record,) = parse_rules(collection(SHARE_FACTOR))
    given = {9: 0}
    assert record == RuleRecord(
        source=(
            OperatorRecord(18, (Place(-1, 0), Place(-2, 0)), given),
            OperatorRecord(18, (Place(-1, 0), Place(-3, 0)), given),
        ),
        target=(
            OperatorRecord(12, (Place(-2, 0), Place(-3, 0)), {1: 2, 10: 2, 11: 1}),
            OperatorRecord(18, (Place(-1, 0), Place(0, 0)), given),
            OperatorRecord(13, (Place(1, 0),), {2: 2, 11: 1}),
        ),
        outputs=(
            MappedOutput(Place(0, 0), Place(2, 0)),
            MappedOutput(Place(1, 0), Place(2, 1)),
        ),
    )


def test_rules_keep_their_order():
    records = parse_rules(collection(ASSOCIATE, LOSE_FACTOR))
    assert [len(record.source) for record in records] == [2, 2]
    assert [record.source[0].type for record in records] == [18, 3]


def test_unknown_fields_are_skipped():
    unknown = (
        number(9, 300)
        + message(8, b"text")
        + varint(7 << 3 | 1) + b"12345678"
        + varint(6 << 3 | 5) + b"1234"
    )  # fmt: skip
    assert parse_rules(collection(ASSOCIATE + unknown) + unknown) == parse_rules(
        collection(ASSOCIATE)
    )


def test_the_last_of_a_repeated_number_counts():
    text = operator(18, -1, -2)
    assert parse_rules(collection(message(1, number(1, 3) + text)))[0].source[0].type == 18


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"\x0a", "a number at byte 1 is cut off"),
        (b"\x0a\x05ab", "reaches beyond the end"),
        (b"\x80" * 11, "longer than ten bytes"),
        (b"\x0b", "unknown wire type 3"),
        (b"\x00", "number 0"),
        (number(1, 5), "field 1 is no message"),
        (collection(number(1, 5)), "rule at byte 2: field 1 is no message"),
        (collection(message(1, b"")), "operator at byte 4: field 1 is missing"),
        (collection(message(1, message(1, b""))), "field 1 is no number"),
        (collection(message(1, number(1, 1 << 31))), "no int32"),
        (collection(message(1, number(1, 18) + message(2, number(1, -1)))), "field 2 is missing"),
        (
            collection(message(1, operator(18) + 2 * message(3, number(1, 9) + number(2, 0)))),
            "twice",
        ),
    ],
)
def test_damage_is_named_with_its_place(data, fault):
    with pytest.raises(RuleError, match=fault):
        parse_rules(data)


def test_every_truncation_is_refused_or_ends_between_rules():
    whole = collection(ASSOCIATE, SHARE_FACTOR)
    ends = {0, len(collection(ASSOCIATE)), len(whole)}
    for length in range(len(whole) + 1):
        if length in ends:
            assert len(parse_rules(whole[:length])) == sorted(ends).index(length)
        else:
            with pytest.raises(RuleError):
                parse_rules(whole[:length])


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_random_bytes_are_read_or_refused(data):
    try:
        parse_rules(data)
    except RuleError as error:
        assert "\n" not in str(error)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_flipped_byte_is_read_or_refused(data):
    whole = bytearray(collection(SHARE_FACTOR))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    try:
        parse_rules(bytes(whole))
    except RuleError as error:
        assert "\n" not in str(error)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "rules.pb"
    with pytest.raises(UsageError, match=r"rules\.pb: no such file"):
        read_rules(path)
    path.write_bytes(b"")
    with pytest.raises(RuleError, match=r"rules\.pb: holds no rules"):
        read_rules(path)
    path.write_bytes(b"not protobuf")
    with pytest.raises(RuleError, match=r"rules\.pb: not a file of TASO's rules: collection"):
        read_rules(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("tensaur.taso.wire.MOST_BYTES", 10)
    path = tmp_path / "rules.pb"
    path.write_bytes(collection(ASSOCIATE))
    with pytest.raises(RuleError, match="too large"):
        read_rules(path)
