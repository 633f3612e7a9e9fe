"""Asking for the offsets of a topic that a client did not know could end the process.

librdkafka 2.16 looks up unknown leaders on the caller's thread, and on its own thread as soon as it
learns of any topic; the second frees what the first still uses. Three requests at once for a
missing topic crashed within a thousand tries (``list_offsets``: segmentation fault), and sometimes
were never answered. A request for unknown leaders is now made only while no other one is waiting.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from lastword.errors import TopicNotFoundError
from lastword.kafka.admin import Admin
from lastword.kafka.admin.offsets import LogBounds
from lastword.kafka.connection import Connection
from lastword.topics.creation import create_topic

THREADS = 4
ASKING = """
import faulthandler, sys, threading
import lastword as lw
from lastword.errors import TopicNotFoundError

connection = lw.Connection(bootstrap_servers=sys.argv[1])
faulthandler.enable()

def ask(admin, topic):
    try:
        admin.bounds(topic, [0])
    except TopicNotFoundError:
        unknown.append(topic)

unknown = []
for round in range(150):
    with lw.Admin(connection) as admin:
        names = [f"{sys.argv[2]}-{round}-{n}" for n in range(2)]
        threads = [threading.Thread(target=ask, args=(admin, name)) for name in names]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
print(len(unknown))
"""


class WatchedRequests:
    """Notes each request of a client for leaders it does not know while others are unanswered.

    The first answer of partition ``failing`` is that its leader has changed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: int | None = None) -> None:
        self.made = 0
        self.failed = False
        self.too_early: list[str] = []
        self._known: set[tuple[int, str]] = set()
        self._waiting: dict[int, list[Future[Any]]] = defaultdict(list)
        self._clients: list[AdminClient] = []
        self._lock = threading.Lock()
        real = AdminClient.list_offsets

        def watched(client: AdminClient, asked: dict[Any, Any], **options: Any) -> Any:
            place = id(client), next(iter(asked)).topic
            with self._lock:
                self.made += 1
                waiting = [one for one in self._waiting[id(client)] if not one.done()]
                if place not in self._known and waiting:
                    self.too_early.append(place[1])
            futures = real(client, asked, **options)
            with self._lock:
                self._waiting[id(client)] += futures.values()
                self._clients.append(client)  # so that no other one gets its id
            for future in futures.values():
                future.add_done_callback(lambda done: self._note(place, done))
            return {at: self._answer(at.partition == failing, each) for at, each in futures.items()}

        monkeypatch.setattr(AdminClient, "list_offsets", watched)

    def _answer(self, is_failing: bool, real: Future[Any]) -> Future[Any]:
        if not is_failing or self.failed:
            return real
        self.failed = True
        changed: Future[Any] = Future()
        changed.set_exception(KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)))
        return changed

    def _note(self, place: tuple[int, str], done: Future[Any]) -> None:
        if done.exception() is None:
            self._known.add(place)


def test_unknown_leaders_are_looked_up_one_request_at_a_time(
    connection: Connection, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=2)
    requests = WatchedRequests(monkeypatch)

    def ask(n: int) -> dict[int, LogBounds] | None:
        try:
            return admin.bounds(topic_name if n % 2 else f"{topic_name}-missing-{n}", [0, 1])
        except TopicNotFoundError:
            return None

    with Admin(connection) as admin, ThreadPoolExecutor(THREADS) as threads:
        answers = list(threads.map(ask, range(20)))
    assert answers == [
        {p: LogBounds(0, 0, 0, 0) for p in (0, 1)} if n % 2 else None for n in range(20)
    ]
    assert requests.made >= 20
    assert requests.too_early == []


def test_a_client_without_one_of_the_leaders_still_asks_the_others(
    connection: Connection, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Admin(connection) as admin:
        create_topic(admin, topic_name, partitions=2)
    requests = WatchedRequests(monkeypatch, failing=1)
    with Admin(connection) as admin:
        assert admin.bounds(topic_name, [0, 1]) == dict.fromkeys((0, 1), LogBounds(0, 0, 0, 0))
    assert requests.failed
    assert requests.too_early == []


def test_a_process_that_asks_for_missing_topics_goes_on(
    connection: Connection, topic_name: str
) -> None:
    asking = subprocess.run(
        [sys.executable, "-c", ASKING, connection.bootstrap_servers, topic_name],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (asking.returncode, asking.stdout) == (0, "300\n"), asking.stderr
