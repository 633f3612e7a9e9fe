"""One partition that lagged made a whole batch look unread, and the version of a put was lost.

Both came from one error for all records of a call. Each record has its own now, which says at
which version it was written, and only the records that the table has not reached have one.
"""

from __future__ import annotations

import pytest

from lastword.errors import NotUpToPositionError
from lastword.kafka.connection import Connection
from lastword.records import Position, Version, Write
from lastword.table.table import Table
from lastword.table.writing import writers
from lastword.writer.direct import DirectWriter
from lastword.writer.outcome import Unread
from lastword.writer.read_your_writes import ReadYourWrites
from tests.support.local_tables.real_topic import RAW, MakeTopic, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables, read_raw

LAGGING = 1


def test_records_of_partitions_that_were_read_are_ok(
    connection: Connection, make_topic: MakeTopic
) -> None:
    topic = make_topic(3)

    def wait_for(position: Position, _timeout_s: float) -> None:
        reached = dict(position.offsets) | {LAGGING: 0}
        raise NotUpToPositionError("partition 1 lags", reached=reached)

    direct = DirectWriter(connection, topic.name, batch_bytes=1_000_000, timeout_s=180.0)
    path = ReadYourWrites(direct, topic.name, wait_for, timeout_s=180.0)
    outcomes = path.write([Write(b"key-%d" % n, b"x") for n in range(20)])
    path.close()

    versions = [outcome.version for outcome in outcomes if outcome.version]
    unread = [outcome for outcome in outcomes if isinstance(outcome, Unread)]
    assert {version.partition for version in versions} == {0, 1, 2}
    assert [each.version for each in unread] == [v for v in versions if v.partition == LAGGING]
    assert [each.error.version for each in unread] == [each.version for each in unread]


def test_the_error_of_a_put_has_the_version_of_what_it_wrote(
    connection: Connection, topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "APPLY_TIMEOUT_S", 0.3)
    store = GatedStore()
    store.gate.set()
    table: Table = tables.open(topic.name, store=store, **RAW)
    store.gate.clear()
    try:
        with pytest.raises(NotUpToPositionError, match="written as 0:0") as unread:
            table.put(b"key", b"1")
    finally:
        store.gate.set()

    (record,) = read_raw(connection, topic.name)
    assert unread.value.version == Version(record.partition, record.offset)
    assert not unread.value.retriable  # the same call would write once more
    after = Position.after(unread.value.version)
    answer = table.query.get(b"key", at_least=after)
    assert answer.value is not None and answer.value.value == b"1"
