"""The past of keys through gaps, sweeps and time, one case at a time."""

from __future__ import annotations

import pytest

from lastword.errors import ConfigError
from lastword.keyspace import Keyspace
from lastword.replicas.apply.record_filter import RecordFilter
from lastword.replicas.partition_follower import PartitionFollower
from lastword.replicas.versions.past_coverage import NotCovered, version_at
from lastword.replicas.versions.version_recorder import KeptVersions
from lastword.replicas.versions.versions import (
    VERSIONS_MAX,
    VersionCut,
    VersionLimit,
    decode_past,
    keep_of,
)
from lastword.rows import decode_row
from lastword.stores.versioned import VersionedStore
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import KeepingStore, OfflineTopic, Pair, batch_of

DAY_S = 86_400.0


class Versioned:
    """A live follower of an offline topic that keeps versions."""

    def __init__(self, clock: FakeClock, keep: VersionLimit, pairs: list[Pair]) -> None:
        self.clock = clock
        self.store = VersionedStore(KeepingStore())
        self.topic = OfflineTopic(clock, store=self.store)  # type: ignore[arg-type]
        recorder = KeptVersions(self.store, RecordFilter(Keyspace(1)), keep, clock)
        self.past_builder = recorder.past_builder
        self.follower = PartitionFollower(0, self.store, RecordFilter(Keyspace(1)), clock, recorder)
        self.follower.begin(self.topic.state(len(pairs)))
        self.follower.accept(batch_of(pairs), gather=False)
        self.follower.go_live()

    def write(self, first: int, *pairs: Pair) -> None:
        self.follower.accept(batch_of(pairs, first), gather=False)

    def at(self, key: bytes, below: int) -> bytes | NotCovered | None:
        row, past = self.store.versions([key])[0]
        coverage = self.past_builder.coverage
        found = version_at(VersionCut(below=below), coverage, row, decode_past(past))
        if found is None or isinstance(found, NotCovered):
            return found
        return None if found.row is None else decode_row(found.row).value


def test_a_look_from_before_a_gap_was_read_proves_nothing(clock: FakeClock) -> None:
    table = Versioned(clock, VersionLimit(5), [(b"a", b"1")])
    old_state = table.topic.state(3)
    clock.advance(seconds=1)
    table.write(2, (b"a", b"3"))  # offset 1 is missing
    table.follower.on_topic_state(old_state)
    assert isinstance(table.at(b"a", 3), NotCovered)
    clock.advance(seconds=1)
    table.follower.on_topic_state(table.topic.state(3))
    assert isinstance(table.at(b"a", 2), NotCovered)
    assert table.at(b"a", 3) == b"3"


def test_a_row_dropped_by_a_sweep_has_no_known_time_of_deletion(clock: FakeClock) -> None:
    table = Versioned(clock, VersionLimit(5), [(b"a", b"1"), (b"b", b"1")])
    assert table.at(b"a", 1) == b"1"
    assert table.follower.drop([(b"a", 0)]) == [b"a"]
    assert isinstance(table.at(b"a", 2), NotCovered)
    clock.advance(seconds=1)
    table.follower.on_topic_state(table.topic.state(2))
    assert (table.at(b"a", 2), table.at(b"b", 2)) == (None, b"1")


def test_an_expired_value_was_readable_until_its_expiry(clock: FakeClock) -> None:
    table = Versioned(clock, VersionLimit(5), [(b"a", b"1"), (b"b", b"1")])
    table.follower.on_topic_state(table.topic.state(2, starts={0: 1}))
    assert table.follower.drop([(b"a", 0)]) == [b"a"]
    assert (table.at(b"a", 1), table.at(b"a", 2)) == (b"1", None)


def test_the_past_of_a_deleted_key_goes_after_a_day(clock: FakeClock) -> None:
    table = Versioned(
        clock, VersionLimit(3), [(b"a", b"1"), (b"a", None), (b"b", b"1"), (b"b", b"2")]
    )
    assert (table.at(b"a", 1), table.store.pasts) == (b"1", 2)
    clock.advance(seconds=DAY_S)
    table.follower.refresh_checkpoint()
    assert table.store.pasts == 1
    assert isinstance(table.at(b"a", 1), NotCovered)
    assert (table.at(b"a", 2), table.at(b"b", 3), table.store.count()) == (None, b"1", 1)


def test_with_a_period_nothing_older_is_stored(clock: FakeClock) -> None:
    table = Versioned(clock, keep_of("1h"), [(b"a", b"1"), (b"a", b"2"), (b"b", b"1")])
    clock.advance(seconds=3601)
    table.follower.refresh_checkpoint()
    assert (table.store.pasts, table.at(b"a", 2)) == (0, b"2")
    assert isinstance(table.at(b"a", 1), NotCovered)


@pytest.mark.parametrize("spec", [0, -1, VERSIONS_MAX + 1, "a week", "-3d"])
def test_text_that_is_neither_a_number_nor_a_time_is_refused(spec: int | str) -> None:
    with pytest.raises(ConfigError):
        keep_of(spec)
