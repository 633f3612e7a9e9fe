"""Events of connectors with other settings than ours: the same Python values."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from lastword.cdc.change import UNAVAILABLE, Row
from lastword.cdc.column_types import converter
from lastword.cdc.envelope import ChangeCodec
from lastword.cdc.placeholders import PLACEHOLDER
from lastword.errors import DecodeError
from tests.support.captures.recorded_changes import recorded


def row_of(connector: str, offset: int) -> Row:
    row = ChangeCodec().decode(recorded("defaults", connector)[offset].value).after
    assert row is not None
    return row


def converted(value: Any, kind: str, name: str, **parameters: str) -> Any:
    convert = converter({"type": kind, "name": name, "parameters": parameters})
    assert convert is not None
    return convert(value)


@pytest.mark.parametrize("offset", [0, 6], ids=["snapshot", "stream"])
def test_debeziums_default_settings_give_the_types_of_our_own(offset: int) -> None:
    row = row_of("defaults", offset)
    del row["p"]
    assert row == {
        "id": 1,
        "num": Decimal("12345678901234567890.123456789"),
        "price": Decimal("12.50"),
        "wide": Decimal("-0.0000000001"),
        "cost": Decimal("12.50"),
        "ts": datetime(2026, 1, 2, 3, 4, 5, 678901),
        "ts3": datetime(2026, 1, 2, 3, 4, 5, 678000),
        "tstz": datetime(2026, 1, 2, 1, 4, 5, 678901, tzinfo=UTC),
        "day": date(2026, 1, 2),
        "t": time(3, 4, 5, 1),
        "t3": time(3, 4, 5, 6000),
        "ttz": time(1, 4, 5, tzinfo=UTC),
        "iv": "P0Y0M32DT13H34M5.5S",
        "raw": b"\x00\xff",
        "nums": [Decimal("1.50"), None],
        "days": [date(2026, 1, 2)],
        "tss": [datetime(2026, 1, 2, 3, 4, 5)],
        "jb": {"a": 1.1},
        "txt": "z",
        "texts": ["a"],
        "ints": [1],
        "bigs": [1],
        "us": [UUID("6a2f41a3-c54c-fce8-32d2-0324e1c32e22")],
        "bits": "101",
        "free": [Decimal("1.5"), Decimal("2.25")],
    }
    assert str(row["price"]) == "12.50", "the decimals of the column"


@pytest.mark.parametrize(
    ("connector", "expected"),
    [
        ("connect", (datetime(2026, 1, 2, 3, 4, 5, 678000), time(3, 4, 5))),
        ("nanos", (datetime(2026, 1, 2, 3, 4, 5, 678901), time(3, 4, 5, 1))),
        ("doubles", (datetime(2026, 1, 2, 3, 4, 5, 678901), time(3, 4, 5, 1))),
    ],
)
def test_other_precisions_differ_in_their_digits_only(
    connector: str, expected: tuple[datetime, time]
) -> None:
    row = row_of(connector, 0)
    assert (row["ts"], row["t"], row["day"]) == (*expected, date(2026, 1, 2))


@pytest.mark.parametrize(
    ("connector", "offset"), [("defaults", 1), ("defaults", 7), ("connect", 1), ("nanos", 1)]
)
def test_infinity_is_recognized_by_its_number(connector: str, offset: int) -> None:
    row = row_of(connector, offset)
    assert [row[name] for name in ("ts", "tstz", "day")] == ["infinity"] * 3
    assert (row["tss"], row["t"]) == (["infinity", None], "24:00:00")


@pytest.mark.parametrize(
    ("connector", "offset"), [("defaults", 2), ("defaults", 8), ("connect", 2), ("nanos", 2)]
)
def test_negative_infinity_is_recognized_by_its_number(connector: str, offset: int) -> None:
    row = row_of(connector, offset)
    assert [row[name] for name in ("ts", "ts3", "tstz", "day")] == ["-infinity"] * 4
    assert row["days"] == ["infinity", "-infinity"]


def test_years_that_python_does_not_have_are_the_same_text_as_ours() -> None:
    row = row_of("defaults", 3)
    assert row["ts"] == "-0043-03-15T01:02:03.000004"
    assert row["ts3"] == "+294000-01-01T00:00:00.5"
    assert (row["day"], row["iv"]) == ("+294000-01-01", "P0Y0M-1DT0H0M-0.000001S")
    assert row["num"] == Decimal("-1e30")


def test_times_before_1970_are_not_rounded_towards_it() -> None:
    row = row_of("defaults", 4)
    assert row["ts"] == datetime(1969, 12, 31, 23, 59, 59, 999999)
    assert (row["day"], row["t"]) == (date(1969, 12, 31), time(23, 59, 59, 999999))


@pytest.mark.parametrize("connector", ["defaults", "nanos", "plain"])
def test_values_that_were_not_sent_are_unavailable_with_a_schema_and_without(
    connector: str,
) -> None:
    row = row_of(connector, 11)
    unavailable = {name for name, value in row.items() if value is UNAVAILABLE}
    assert unavailable == {"raw", "days", "jb", "txt", "texts", "ints", "bigs", "us"}


@pytest.mark.parametrize(
    ("kind", "sent"),
    [
        ("map", {PLACEHOLDER: PLACEHOLDER}),
        ("string", f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'),
        ("string", PLACEHOLDER.encode().hex()),
    ],
)
def test_the_placeholders_of_other_types_are_recognized(kind: str, sent: Any) -> None:
    assert converted(sent, kind, "") is UNAVAILABLE
    envelope = {"op": "u", "source": {}, "after": {"id": 1, "value": sent}}
    change = ChangeCodec().decode(json.dumps(envelope).encode())
    assert change.after == {"id": 1, "value": UNAVAILABLE}


def test_doubles_stay_floats_although_the_source_has_decimals() -> None:
    assert [type(row_of("doubles", at)["num"]) for at in (0, 1)] == [float, float]
    assert row_of("doubles", 0)["nums"] == [1.5, None]


def test_a_decimal_written_as_a_json_number_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(DecodeError, match=r"12\.5 is a JSON number") as raised:
        converted(12.5, "bytes", "org.apache.kafka.connect.data.Decimal", scale="2")
    assert "decimal.format=BASE64" in str(raised.value.hint)


def test_no_digit_of_a_large_decimal_is_lost() -> None:
    number = 7**20_000 + 1
    data = b64encode(number.to_bytes(number.bit_length() // 8 + 1, signed=True)).decode()
    found = converted(data, "bytes", "org.apache.kafka.connect.data.Decimal", scale="9")
    assert found.as_tuple().exponent == -9
    assert found.as_tuple().digits == Decimal(number).as_tuple().digits


@pytest.mark.parametrize(
    ("value", "kind", "name", "expected"),
    [
        (2026, "int32", "io.debezium.time.Year", 2026),
        (-3_020_399_000_000, "int64", "io.debezium.time.MicroTime", "-838:59:59"),
        (1_500_000_000, "int64", "io.debezium.time.NanoTime", time(0, 0, 1, 500000)),
        (90_061_000_000_001, "int64", "io.debezium.time.NanoDuration", "P0Y0M1DT1H1M1S"),
        (
            1_500,
            "int64",
            "org.apache.kafka.connect.data.Timestamp",
            datetime(1970, 1, 1, 0, 0, 1, 500000),
        ),
        (1_999, "int64", "io.debezium.time.NanoTimestamp", datetime(1970, 1, 1, 0, 0, 0, 1)),
    ],
)
def test_types_of_other_databases_are_read(
    value: int, kind: str, name: str, expected: object
) -> None:
    convert = converter({"type": kind, "name": name})
    assert (value if convert is None else convert(value)) == expected


@pytest.mark.parametrize(
    ("length", "digits"), [(3, "101"), (5, "00101"), (2_147_483_647, "101"), (10**15, "101")]
)
def test_bits_of_unknown_length_are_not_padded(length: int, digits: str) -> None:
    value = b64encode(b"\x05").decode()
    assert converted(value, "bytes", "io.debezium.data.Bits", length=str(length)) == digits
