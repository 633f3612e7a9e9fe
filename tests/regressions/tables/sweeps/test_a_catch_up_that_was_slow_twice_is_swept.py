"""A store that may have missed a delete twice is swept.

A pipeline's store that had been away for too long was rebuilt. When the rebuild itself took longer
than the retention, that was not checked again: a deleted key came back.
"""

from __future__ import annotations

from collections.abc import Iterator

from lastword.records import Batch
from lastword.replicas.catch_up import catch_up
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic, batch_of
from tests.support.local_tables.written_log import WrittenLog

RETENTION_MS = 10_000


def test_a_key_deleted_during_a_slow_rebuild_is_gone() -> None:
    clock = FakeClock()
    topic = OfflineTopic(clock)
    topic_state = topic.state(2, delete_retention_ms=RETENTION_MS)
    both, one = batch_of([(b"deleted", b"1"), (b"kept", b"1")]), batch_of([(b"kept", b"1")], 1)
    # The key is deleted, and its tombstone cleaned away, while the log is read the second time.
    passes = iter([(both, RETENTION_MS), (both, RETENTION_MS), (one, 100)])

    def read() -> Iterator[Batch]:
        batch, takes_ms = next(passes)
        yield batch
        clock.advance(seconds=takes_ms / 1000)

    log = WrittenLog(read)
    catch_up(log, "topic", 0, topic.store, topic_state=topic_state, until=2, clock=clock)
    assert [key for key, _ in topic.store.scan()] == [b"kept"]
