"""Past versions and windows of a key, wherever its partition is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lastword.clock import SYSTEM_CLOCK
from lastword.codecs.windowed import WindowedKey, windowed
from lastword.errors import MomentGoneError, PartitionNotHereError
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RealTopic
from tests.support.shared_tables.partitioned_tables import (
    PartitionedTables,
    held,
    wait_until_settled,
)

pytestmark = pytest.mark.broker

PARTITIONS = 2
KEYS = [f"key-{number}" for number in range(8)]


@pytest.fixture
def shared(connection: Connection, topic_name: str, tmp_path: Path) -> Iterator[PartitionedTables]:
    """A topic of two partitions; two instances without standbys have one each."""
    RealTopic(connection, topic_name).create(partitions=PARTITIONS)
    with PartitionedTables(connection, tmp_path, topic_name) as tables:
        yield tables


def open_both(shared: PartitionedTables, **options: object) -> None:
    for name in "ab":
        shared.begin(name, standbys=0, **options)
    for table in shared.instances.values():
        table.wait_ready()
    wait_until_settled(shared.instances.values(), PARTITIONS, copies=1)


def test_every_instance_answers_for_the_past_of_every_key(shared: PartitionedTables) -> None:
    open_both(shared, versions=3)
    a, b = shared.instances.values()
    written = {key: (a.put(key, 1), b.put(key, 2)) for key in KEYS}
    between_ms = SYSTEM_CLOCK.now_ms()
    wait_until(lambda: SYSTEM_CLOCK.now_ms() > between_ms, "the next millisecond")
    for key in KEYS:
        a.delete(key)
    for table in (a, b):
        for key, versions in written.items():
            assert [table.get(key, at=version) for version in versions] == [1, 2]
            assert table.get(key, at=between_ms) == 2
            assert table.get(key, "absent", at=SYSTEM_CLOCK.now_ms()) == "absent"
            assert [change.value for change in table.versions(key)] == [1, 2, None]
    elsewhere = next(k for k in KEYS if a.raw.keyspace.partition_of(k.encode()) not in held(a))
    with pytest.raises(PartitionNotHereError, match="is owned by b"):
        a.query.within(route=False).versions(elsewhere)
    a.put(elsewhere, 4)  # one more than three: the oldest goes
    first, second = written[elsewhere]
    with pytest.raises(MomentGoneError, match=f"{first.partition}:{second.offset + 1}"):
        a.get(elsewhere, at=first)


def test_every_instance_finds_the_windows_of_every_key(shared: PartitionedTables) -> None:
    open_both(shared, key=windowed("string", 60_000))
    a, b = shared.instances.values()
    for key in KEYS:
        a.put_many({WindowedKey(key, 60_000 * n): n for n in range(4)})
    for table in (a, b):
        for key in KEYS:
            with table.query.windows(key, 60_000, 180_000) as windows:
                assert [entry.value for entry in windows] == [1, 2]
                assert windows.answered_by in (("a",), ("b",))
    assert held(a) | held(b) == set(range(PARTITIONS))
