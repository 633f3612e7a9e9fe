"""The monitor goes on looking whatever a look ends in."""

from __future__ import annotations

import queue

import pytest

from lastword.errors import ConfigError, ConnectionFailedError, LastwordError, TopicNotFoundError
from lastword.replicas.topic import monitor
from lastword.replicas.topic.monitor import TopicMonitor
from lastword.replicas.topic.topic_state import TopicState
from lastword.testing.fake_clock import FakeClock
from tests.support.local_tables.offline_topic import OfflineTopic

WAIT_S = 180.0


class UnhelpfulAdmin:
    """A cluster that answers every question with the same error."""

    def __init__(self, error: LastwordError) -> None:
        self._error = error

    def describe(self, _topic: str) -> None:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        ConnectionFailedError("nobody answers"),
        TopicNotFoundError("there is no such topic"),
        ConfigError("the right to describe it was taken away"),
    ],
)
def test_a_look_that_fails_proves_nothing_and_is_not_the_last(
    error: LastwordError, topic: OfflineTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "INTERVAL_S", 0.001)
    posted: queue.SimpleQueue[TopicState | None] = queue.SimpleQueue()
    looking = TopicMonitor(UnhelpfulAdmin(error), "topic", FakeClock(), posted.put)
    looking.start(topic.state())
    looks = [posted.get(timeout=WAIT_S) for _ in range(3)]
    looking.stop()
    assert looks == [None, None, None]
    assert looking.topic_gone is isinstance(error, TopicNotFoundError)
