"""Rows of a database as values: what is written is read back with the same types."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from lastword.codecs.row import RowCodec
from lastword.errors import DecodeError, EncodeError

CODEC = RowCodec()
DAY = date(2026, 1, 2)


@pytest.mark.parametrize(
    "value",
    [
        [DAY, None, "infinity"],
        ["-infinity", datetime(2026, 1, 2, 3, tzinfo=UTC)],
        [time(3, 4), "24:00:00"],
        [[DAY], ["infinity", None]],
        [Decimal("NaN"), None, Decimal("1.50")],
        [1.5, float("inf"), None],
        ["infinity"],
        [],
    ],
    ids=repr,
)
def test_a_list_is_read_back_with_the_types_of_its_elements(value: list[Any]) -> None:
    data = CODEC.encode({"id": 1, "list": value})
    assert repr(CODEC.decode(data)) == repr({"id": 1, "list": value})
    assert CODEC.parse(data) == data


@pytest.mark.parametrize(
    "value",
    [[Decimal(1), "x"], [b"x", "x"], [DAY, Decimal(1)], [["x"], [Decimal(1)]]],
    ids=repr,
)
def test_a_list_of_two_types_is_refused_before_it_is_written(value: list[Any]) -> None:
    with pytest.raises(EncodeError, match="no list of one type"):
        CODEC.encode({"list": value})


def test_a_date_that_is_none_is_refused_outside_of_a_list() -> None:
    with pytest.raises(DecodeError, match="not a row"):
        CODEC.decode(b'{"day":"infinity","$types":{"day":"date"}}')
