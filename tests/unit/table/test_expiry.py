"""A row whose time to live is over, in every read of a table that does not own its partition."""

from __future__ import annotations

from lastword.expiry import expires_header
from lastword.records import EXPIRES_HEADER, Position, Write
from lastword.replicas.versions.versions import VersionLimit
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_table import OfflineTable

HOUR_MS = 3_600_000
HOUR_S = 3_600.0


def keys(table: OfflineTable) -> list[bytes]:
    return [entry.key for entry in table.raw.scan()]


def test_a_value_is_there_until_its_time_to_live_is_over(
    table: OfflineTable, clock: FakeClock
) -> None:
    table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    expires_at_ms = clock.now_ms() + HOUR_MS
    clock.advance(seconds=HOUR_S - 0.001)
    found = table.raw.get(b"a").value
    assert found is not None
    assert (found.value, found.expires_at_ms) == (b"1", expires_at_ms)
    assert table.raw.row(b"a")[1] is not None
    assert [entry.value for entry in table.raw.get_many([b"a"]).value] == [b"1"]
    assert keys(table) == [b"a"]


def test_every_read_hides_a_row_from_its_expiry_on(table: OfflineTable, clock: FakeClock) -> None:
    table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    lasting = table.raw.put(b"b", b"2")
    clock.advance(seconds=HOUR_S)
    assert table.raw.get(b"a").value is None
    assert table.raw.row(b"a")[1] is None
    assert [entry.version for entry in table.raw.get_many([b"a", b"b"]).value] == [lasting]
    assert [key for found in table.raw.rows([b"a", b"b"]) for key in found.keys] == [b"b"]
    assert keys(table) == [b"b"]
    assert [entry.key for entry in table.raw.scan(reverse=True)] == [b"b"]


def test_the_answer_about_a_hidden_row_reflects_the_position_of_that_row(
    table: OfflineTable, clock: FakeClock
) -> None:
    version = table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    clock.advance(seconds=HOUR_S)
    assert table.raw.get(b"a").position.at_least(Position.after(version))


def test_the_count_is_that_of_the_stores_until_the_tombstone_comes(
    table: OfflineTable, clock: FakeClock
) -> None:
    table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    table.raw.put(b"b", b"2")
    clock.advance(seconds=HOUR_S)
    assert table.raw.count().value == 2
    table.raw.put(b"a", None)
    assert table.raw.count().value == 1


def test_a_scan_is_as_of_its_start_even_if_rows_expire_meanwhile(
    table: OfflineTable, clock: FakeClock
) -> None:
    table.raw.put(b"a", b"1")
    table.raw.put(b"b", b"2", ttl_ms=HOUR_MS)
    with table.raw.scan() as scan:
        assert next(scan).key == b"a"
        clock.advance(seconds=HOUR_S)
        assert next(scan).key == b"b"


def test_a_put_without_a_time_to_live_makes_a_key_last(
    table: OfflineTable, clock: FakeClock
) -> None:
    table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    table.raw.put(b"a", b"2")
    clock.advance(seconds=2 * HOUR_S)
    found = table.raw.get(b"a").value
    assert found is not None
    assert (found.value, found.expires_at_ms) == (b"2", None)


def test_a_value_written_after_the_expiry_is_there(table: OfflineTable, clock: FakeClock) -> None:
    table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    clock.advance(seconds=HOUR_S)
    table.raw.put(b"a", b"2", ttl_ms=HOUR_MS)
    assert keys(table) == [b"a"]


def test_a_record_of_1970_lives_as_long_as_any_other(table: OfflineTable, clock: FakeClock) -> None:
    """Timestamps of this log are its offsets: the expiry does not count from there."""
    table.raw.put(b"a", b"1", timestamp_ms=1, ttl_ms=HOUR_MS)
    found = table.raw.get(b"a").value
    assert found is not None
    assert found.timestamp_ms < 10
    assert found.expires_at_ms == clock.now_ms() + HOUR_MS


def test_a_header_that_makes_no_sense_is_counted_and_hides_nothing(table: OfflineTable) -> None:
    for n, value in enumerate((b"-1", b"0", b"soon", b"9" * 30, None)):
        table.append(b"key-%d" % n, b"1", ((EXPIRES_HEADER, value),))
    table.append(b"good", b"1", (expires_header(table.clock.now_ms() + 1),))
    assert len(keys(table)) == 6
    assert table.metrics.counter("bad_expiries_total").value == 5


def test_the_ttl_of_a_table_applies_to_values_without_one(clock: FakeClock) -> None:
    table = OfflineTable(clock, ttl_ms=HOUR_MS)
    table.raw.put(b"default", b"1")
    table.raw.put(b"longer", b"1", ttl_ms=2 * HOUR_MS)
    table.raw.put_many(
        [Write(b"one of many", b"1"), Write(b"longer too", b"1", ttl_ms=2 * HOUR_MS)]
    )
    clock.advance(seconds=HOUR_S)
    assert keys(table) == [b"longer", b"longer too"]


def test_a_past_read_asks_what_was_due_at_that_time(clock: FakeClock) -> None:
    table = OfflineTable(clock, keep=VersionLimit(5))
    past = table.raw.past
    assert past is not None
    version = table.raw.put(b"a", b"1", ttl_ms=HOUR_MS)
    written_ms = clock.now_ms()
    clock.advance(seconds=2 * HOUR_S)
    assert table.raw.get(b"a").value is None
    assert past.get(b"a", written_ms + HOUR_MS - 1) is not None
    assert past.get(b"a", written_ms + HOUR_MS) is None
    assert past.get(b"a", version) is not None  # offsets have no time
    assert [record.value for record in past.records(b"a")] == [b"1"]
