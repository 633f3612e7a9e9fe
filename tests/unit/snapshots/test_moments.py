"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lastword.errors import ConfigError
from lastword.records import Position
from lastword.snapshots.travel.moments import as_milliseconds, parse_moment


def test_a_moment_is_a_number_a_time_or_a_position() -> None:
    assert parse_moment("1700000000000") == 1_700_000_000_000
    assert parse_moment("0:3,1:4") == Position({0: 3, 1: 4})
    assert parse_moment("1970-01-01T00:00:01Z") == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert as_milliseconds(datetime(1970, 1, 1, 0, 0, 1)) == 1000
    with pytest.raises(ConfigError):
        parse_moment("yesterday")
