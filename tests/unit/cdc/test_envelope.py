"""Debezium's envelope, read from what the real connector wrote."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, isnan
from uuid import UUID

import pytest

from lastword.cdc.change import UNAVAILABLE, Operation, Snapshot, SourcePosition
from lastword.cdc.envelope import ChangeCodec
from lastword.errors import DecodeError, EncodeError
from tests.support.captures.recorded_changes import recorded

ORDERS = recorded("orders")
TYPES = recorded("every_type")


def test_every_type_comes_as_a_python_user_expects_it() -> None:
    row = ChangeCodec().decode(TYPES[0].value).after
    assert row == {
        "id": 1,
        "small": 1,
        "big": 9007199254740993,
        "yes": True,
        "txt": "é",
        "vc": "abc",
        "ch": "ab   ",
        "num": Decimal("12345678901234567890.123456789"),
        "money_": Decimal("12.50"),
        "r": 1.5,
        "d": 0.1,
        "ts": datetime(2026, 1, 2, 3, 4, 5, 678901),
        "tstz": datetime(2026, 1, 2, 1, 4, 5, 678901, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "t": time(3, 4, 5, 1),
        "ttz": time(1, 4, 5, tzinfo=UTC),
        "iv": "P0Y1M2DT3H4M5S",
        "j": {"a": 1.1, "b": [1, None]},
        "jb": {"a": 1.1},
        "ints": [1, None, 3],
        "texts": ["a", None],
        "nums": [Decimal("1.5"), None],
        "tss": [datetime(2026, 1, 2, 3, 4, 5)],
        "raw": b"\x00\xff",
        "u": UUID("6a2f41a3-c54c-fce8-32d2-0324e1c32e22"),
        "ip": "10.0.0.1/8",
        "m": Decimal("12.50"),
        "e": None,
        "rng": "[1,5)",
        "bits": "101",
    }
    assert [type(row[name]) for name in ("num", "money_", "m", "yes")] == [Decimal] * 3 + [bool]


def test_the_same_row_has_the_same_types_in_a_snapshot_and_in_the_stream() -> None:
    read, updated = (ChangeCodec().decode(TYPES[at].value).after for at in (0, 7))
    assert read is not None
    assert updated == {**read, "txt": "z"}


@pytest.mark.parametrize("offset", [1, 8])
def test_infinity_and_nan_differ_from_far_dates(offset: int) -> None:
    row = ChangeCodec().decode(TYPES[offset].value).after
    assert row is not None
    assert row["num"].is_nan()
    assert (row["r"], row["d"]) == (inf, -inf)
    assert (row["ts"], row["tstz"], row["day"]) == ("infinity", "-infinity", "infinity")


@pytest.mark.parametrize("offset", [4, 10])
def test_negative_infinity_is_recognized(offset: int) -> None:
    row = ChangeCodec().decode(TYPES[offset].value).after
    assert row is not None
    assert (row["num"], row["r"]) == (Decimal("-Infinity"), -inf)
    assert isnan(row["d"])
    assert (row["ts"], row["tstz"], row["day"]) == ("-infinity", "infinity", "-infinity")
    assert row["tss"] == ["infinity", None]


def test_years_that_python_does_not_have_stay_text() -> None:
    row = ChangeCodec().decode(TYPES[2].value).after
    assert row is not None
    assert row["ts"] == "-0043-03-15T00:00:00"
    assert row["tstz"] == "+10000-01-01T00:00:00.000000Z"
    assert row["day"] == "+294000-01-01"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("P6Y0M0DT5H27M7.524739999S", "P6Y0M0DT5H27M7.52474S"),
        ("P0Y0M0DT0H0M-59.999998999S", "P0Y0M0DT0H0M-59.999999S"),
        ("P0Y0M0DT0H0M1.999999999S", "P0Y0M0DT0H0M2S"),
        ("P0Y0M0DT0H0M0.5S", "P0Y0M0DT0H0M0.5S"),
    ],
)
def test_intervals_have_the_microseconds_of_the_database(sent: str, stored: str) -> None:
    value = TYPES[0].value.replace(b"P0Y1M2DT3H4M5S", sent.encode())
    assert ChangeCodec().decode(value).after["iv"] == stored


def test_large_values_that_were_not_sent_are_unavailable_for_every_type() -> None:
    row = ChangeCodec().decode(TYPES[11].value).after
    assert row is not None
    unavailable = {name for name, value in row.items() if value is UNAVAILABLE}
    assert unavailable == {"num", "jb", "ints", "texts", "raw"}


def test_a_change_says_what_where_and_in_which_transaction() -> None:
    change = ChangeCodec().decode(ORDERS[10].value)
    assert change.operation is Operation.CREATE
    assert change.after == {"id": 21, "status": "a", "note": "b"}
    assert change.position == SourcePosition(22355608, 22355736)
    assert (change.transaction, change.table) == ("781", "public.orders")
    assert change.snapshot is Snapshot.NO


def test_rows_of_a_snapshot_have_no_transaction_and_the_last_one_says_so() -> None:
    changes = [ChangeCodec().decode(ORDERS[at].value) for at in (0, 1, 3)]
    assert [each.snapshot for each in changes] == [Snapshot.ROW, Snapshot.ROW, Snapshot.LAST]
    assert {each.transaction for each in changes} == {None}
    assert {each.operation for each in changes} == {Operation.READ}


def test_a_record_with_another_schema_is_read_by_its_own() -> None:
    codec = ChangeCodec()
    before, after = codec.decode(ORDERS[14].value).after, codec.decode(ORDERS[15].value).after
    assert before == {"id": 31, "status": "c", "note": "d"}
    assert after == {"id": 30, "status": "q", "note": "b", "qty": 7}
    assert codec.decode(ORDERS[14].value).after == before


def test_an_envelope_without_a_schema_has_the_types_of_json() -> None:
    change = ChangeCodec().decode(json.dumps(TYPES[0].payload).encode())
    assert change.after is not None
    assert change.after["num"] == "12345678901234567890.123456789"


@pytest.mark.parametrize("data", [b"", b"null", b"{}", b'{"schema":{"fields":[]},"payload":{}}'])
def test_a_record_that_is_not_an_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="not a change event"):
        ChangeCodec().decode(data)


def test_only_connectors_write_change_events() -> None:
    with pytest.raises(EncodeError):
        ChangeCodec().encode({})
