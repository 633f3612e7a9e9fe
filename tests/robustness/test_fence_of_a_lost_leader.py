"""A fence outlives the leader that saw it."""

from __future__ import annotations

import threading

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import FencedError, IndeterminateError, LastwordError
from lastword.kafka.write.fenced import FenceNote
from lastword.kafka.write.fenced.fenced_log import FencedLog
from lastword.records import FENCE_KEY, Write
from lastword.testing import wait_until
from lastword.testing.read_log import read_log
from lastword.topics.creation import create_topic
from tests.support.network.harmed_cluster import HarmedCluster
from tests.support.shared_tables.fenced_writer import fenced_log

pytestmark = pytest.mark.broker

PATIENT_S = 120.0


class Appending:
    """Appends in a separate thread until it is stopped, and takes over after errors."""

    def __init__(self, log: FencedLog) -> None:
        self.acknowledged: list[tuple[int, bytes]] = []
        self.unknown: list[bytes] = []
        self._log = log
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENT_S)
        self._log.close()

    def _run(self) -> None:
        n = 0
        while not self._stop.is_set():
            n += 1
            value = b"%d" % n
            try:
                if self._log.fence is None:
                    self._log.take_over(FenceNote("one", n))
                (offset,) = self._log.append([Write(b"key", value)])
            except IndeterminateError:
                self.unknown.append(value)
            except LastwordError:
                continue
            else:
                self.acknowledged.append((offset, value))


def test_appends_continue_and_the_fence_holds_when_the_leader_is_killed(
    cluster: EmbeddedBroker, topic_name: str
) -> None:
    harmed = HarmedCluster(cluster)
    create_topic(harmed.admin, topic_name, partitions=1, replication=3)
    zombie = fenced_log(harmed.connection, topic_name, "plain")
    zombie.take_over(FenceNote("zombie", 0))
    appending = Appending(fenced_log(harmed.connection, topic_name, "plain"))
    try:
        wait_until(lambda: len(appending.acknowledged) >= 20, "appends before the kill")
        leader = harmed.leader(topic_name)
        with harmed.harmed(leader, "killed", [topic_name]):
            harmed.wait_until_led_by_another(topic_name, 0, leader)
            before = len(appending.acknowledged)
            wait_until(
                lambda: len(appending.acknowledged) >= before + 20,
                "appends under the next leader",
                timeout=PATIENT_S,
            )
            with pytest.raises(FencedError):
                zombie.append([Write(b"key", b"zombie")])
    finally:
        appending.stop()
    zombie.close()
    log = read_log(harmed.connection, topic_name)
    assert b"zombie" not in {record.value for record in log}
    there = {record.offset: record.value for record in log if record.key != FENCE_KEY}
    assert {offset: there.get(offset) for offset, _ in appending.acknowledged} == dict(
        appending.acknowledged
    )
    # All in order, each once, and nothing but what was acknowledged or has no known outcome.
    numbers = [int(value or b"") for value in there.values()]
    assert numbers == sorted(set(numbers))
    known = {value for _, value in appending.acknowledged} | set(appending.unknown)
    assert set(there.values()) <= known
