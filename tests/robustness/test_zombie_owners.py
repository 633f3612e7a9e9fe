"""Nothing that a paused owner sends after it wakes up follows its successor's fence record."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.fenced import FenceNote
from lastword.records import FENCE_KEY, Write
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic
from tests.support.shared_tables.fenced_writer import WAYS, FencedWriter, fenced_log

pytestmark = pytest.mark.broker

ZOMBIES = int(os.environ.get("LASTWORD_TEST_ZOMBIES", "3"))


@pytest.fixture
def connection(broker: EmbeddedBroker) -> Connection:
    return Connection(bootstrap_servers=broker.bootstrap_servers)


@pytest.fixture
def killed() -> Iterator[ExitStack]:
    """Closed at the end of the test in any case."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("way", WAYS)
def test_a_zombie_writes_nothing_after_its_successors_fence_record(
    connection: Connection, topic_name: str, way: str, killed: ExitStack
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=1)
    chance = random.Random(14)
    acknowledged: list[tuple[str, int]] = []
    for _ in range(ZOMBIES):
        zombie = FencedWriter(connection, topic_name, way)
        killed.callback(zombie.kill)
        zombie.wait_for(chance.randrange(1, 60))
        zombie.freeze()
        successor = fenced_log(connection, topic_name, way)
        fence = successor.take_over(FenceNote("successor", 2))
        zombie.wake()
        (offset,) = successor.append([Write(b"key", b"successor")])
        zombie.wait_for_its_end()
        successor.close()
        # Paused between a first and a second try, it cannot know; else it is certain.
        assert zombie.ending in ("FencedError", "IndeterminateError")
        assert all(at < fence.offset for _, at in zombie.acknowledged)
        acknowledged += [*zombie.acknowledged, ("successor", offset)]
    log = {record.offset: record for record in read_log(connection, topic_name)}
    assert all(log[at].value == value.encode() for value, at in acknowledged)
    holder = -1
    for offset, record in log.items():
        if record.key == FENCE_KEY:
            holder = offset
        elif record.value != b"successor":
            assert int((record.value or b"").partition(b"-")[0]) == holder
