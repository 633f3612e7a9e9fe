"""Moments as people write them, and what they can be answered from."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from lastword.errors import ConfigError
from lastword.records import Position
from lastword.snapshots.moments import Evidence, as_milliseconds, complete_since_ms, parse_moment
from lastword.snapshots.snapshot import Snapshot
from tests.unit.snapshots.test_planning import NOTE


def evidence(*times_and_offsets: tuple[int, int]) -> Evidence:
    """One partition that ends at 9, with snapshots, the newest first."""
    snapshots = [
        Snapshot(msgspec.structs.replace(NOTE, captured_at_ms=at, offsets={0: offset}), 0, at)
        for at, offset in times_and_offsets
    ]
    return Evidence(1000, {0: 9}, {0: 7}, 600, snapshots)


def test_a_moment_is_a_number_a_time_or_a_position() -> None:
    assert parse_moment("1700000000000") == 1_700_000_000_000
    assert parse_moment("0:3,1:4") == Position({0: 3, 1: 4})
    assert parse_moment("1970-01-01T00:00:01Z") == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert as_milliseconds(datetime(1970, 1, 1, 0, 0, 1)) == 1000
    with pytest.raises(ConfigError):
        parse_moment("yesterday")


def test_a_log_is_trusted_from_where_the_cleaner_cannot_have_been() -> None:
    assert complete_since_ms(1000, 0) is None
    assert complete_since_ms(1000, 500) == 550
    assert evidence().log_has(Position({0: 7})) and not evidence().log_has(Position({0: 6}))


def test_snapshots_answer_for_their_own_time_and_for_times_without_a_write() -> None:
    found = evidence((500, 5), (300, 3), (200, 3))
    times = {at: found.position_of_snapshots(at) for at in (199, 200, 250, 300, 301, 500, 501)}
    three, five = Position({0: 3}), Position({0: 5})
    assert times == {199: None, 200: three, 250: three, 300: three, 301: None, 500: five, 501: None}
    assert evidence((500, 9)).position_of_snapshots(999) == Position({0: 9})
    assert "1970-01-01T00:00:00.200" in str(found.gone("it"))
