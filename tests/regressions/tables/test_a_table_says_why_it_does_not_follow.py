"""A corrupt batch and a deleted topic are said, in the log and in the status.

A corrupt batch stopped a table with its cause at debug level only. A deleted topic was served
for ever as if nothing had happened.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import NotReadyError
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables


def test_a_corrupt_batch_is_named_by_the_log_and_by_the_error(
    own_broker: EmbeddedBroker, topic_name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    connection = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    topic = RealTopic(connection, topic_name).create()
    for n in range(3):
        topic.produce((b"key-%d" % n, b"value-%d" % n))
    own_broker.stop()
    (segment,) = own_broker.nodes[0].info.data_dir.glob(f"{topic.name}-0/*.log")
    data = segment.read_bytes()
    segment.write_bytes(data.replace(b"value-1", b"eulav-1"))
    own_broker.start()
    with (
        Tables(connection, tmp_path) as tables,
        caplog.at_level(logging.ERROR, "lastword.replicas"),
    ):
        table = tables.make(topic.name, **RAW)
        table.start()
        troubles = table._lifecycle.parts.replicas.troubles
        wait_until(lambda: troubles.of(0), "the corrupt batch is met")
        with pytest.raises(NotReadyError, match="the batch at offset 1 is corrupt"):
            table.wait_ready(stall_timeout_s=2)
        said = [line for line in caplog.messages if "the batch at offset 1 is corrupt" in line]
        assert len(said) == 1  # although it was met twice a second
        assert f"{topic.name}, partition 0" in said[0]


def test_a_deleted_topic_is_said_and_its_rows_are_stale_until_it_is_there_again(
    topic: RealTopic, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    topic.produce((b"a", b"1"))
    table = tables.open(topic.name, **RAW)
    assert not table.query.get(b"a").stale
    with caplog.at_level(logging.ERROR, "lastword.replicas"):
        topic.delete()
        wait_until(lambda: table.query.get(b"a").stale, "the rows are marked")
    assert table[b"a"] == b"1"
    assert f"{topic.name} was deleted" in caplog.text
    troubles = table._lifecycle.parts.replicas.troubles
    assert troubles.of(0) == "the topic was deleted"
    topic.create()
    topic.produce((b"b", b"2"))
    wait_until(lambda: troubles.of(0) is None, "the new topic is seen")
    table.wait_ready()
    wait_until(lambda: dict(table.items()) == {b"b": b"2"}, "the rows of the new topic")
    assert not table.query.get(b"b").stale
