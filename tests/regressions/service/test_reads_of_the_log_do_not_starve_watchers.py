"""Reads of one table's log and past blocked the watchers of all others: 22 s without a heartbeat.

Histories, past states, surveys and the replays of resuming watchers shared two threads, every
watcher needed one of them even if it had missed nothing, and a read went on when its client had
gone. Here one table's broker is paused while histories are read from it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.service import Limits, Mount, Service, ServiceConfig, TokenFile
from lastword.service.api.context import Context
from lastword.table.table import Table
from lastword.testing import wait_until
from lastword.topics.creation import create_topic
from tests.service.conftest import Serve, Serving
from tests.support.served.event_stream import watching

WATCH = "/tables/table/watch"
READS = 6


def calls(client: httpx.Client, pool: str) -> int:
    wanted = f'lastword_calls_under_way{{pool="{pool}"}} '
    (line,) = (each for each in client.get("/metrics").text.splitlines() if wanted in each)
    return int(line.rpartition(" ")[2])


@pytest.fixture
def two_tables(
    connection: Connection, topic: str, own_broker: EmbeddedBroker, topic_name: str, tmp_path: Path
) -> Iterator[Serving]:
    """``table`` on the session's broker, ``slow`` on one that is paused during the test."""
    elsewhere = Connection(bootstrap_servers=own_broker.bootstrap_servers)
    with Admin(elsewhere) as admin:
        create_topic(admin, topic_name, partitions=1)
    tokens_file = tmp_path / "tokens.json"
    token = TokenFile(tokens_file).create("test", {"*": "admin"})
    config = ServiceConfig(
        tokens_file=tokens_file,
        port=free_ports(1)[0],
        limits=Limits(history_s=300, heartbeat_s=0.5),
    )
    table = Table(topic, connection=connection, name="table", state_dir=tmp_path / "one")
    slow = Table(topic_name, connection=elsewhere, name="slow", state_dir=tmp_path / "other")
    with Service(config, [Mount(table), Mount(slow)]) as service:
        table.wait_ready()
        slow.wait_ready()
        slow.put("key", 1)
        own_broker.pause()
        try:
            yield Serving(service, table, token, config)
        finally:
            own_broker.resume()


def test_a_watch_continues_while_histories_of_another_table_are_read(two_tables: Serving) -> None:
    request = (
        "GET /tables/slow/log?key=key HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {two_tables.token}\r\n\r\n"
    )
    with two_tables.client(timeout=180.0) as client:
        before = client.get("/tables/table").json()["position"]
        two_tables.table.put("missed", 1)
        with ExitStack() as reading:
            for _ in range(READS):
                reader = reading.enter_context(socket.socket())
                reader.connect(("127.0.0.1", two_tables.config.port))
                reader.sendall(request.encode())
            wait_until(lambda: calls(client, "log") == READS, "the reads to be under way")
            with watching(client, WATCH, before) as events:
                assert next(events).data["key"] == "missed"
                two_tables.table.put("now", 1)
                assert next(events).data["key"] == "now"
        wait_until(lambda: calls(client, "log") == 0, "reads that nobody waits for to end")


def on_loop(serving: Serving, work: Any) -> Future[Any]:
    loop = serving.service._loop
    assert loop is not None
    return asyncio.run_coroutine_threadsafe(work, loop)


def context_of(serving: Serving) -> Context:
    assert serving.service._context is not None
    return serving.service._context


def test_a_watcher_without_missed_changes_replays_nothing_and_gets_heartbeats(serve: Serve) -> None:
    serving = serve(limits=Limits(heartbeat_s=0.1))
    context = context_of(serving)
    with serving.client(timeout=180.0) as client:
        before = client.get("/tables/table").json()["position"]
        serving.table.put("missed", 1)
        now = client.get("/tables/table").json()["position"]
        turns = [on_loop(serving, context.replays.acquire()) for _ in range(8)]
        assert all(turn.result(180) for turn in turns), "nobody else can replay"
        with watching(client, WATCH, now) as events, watching(client, WATCH, before) as waiting:
            serving.table.put("now", 1)
            assert next(events).data["key"] == "now"
            assert next(waiting._lines) == ": still here"
            for _ in turns:
                assert serving.service._loop is not None
                serving.service._loop.call_soon_threadsafe(context.replays.release)
            assert [event.data["key"] for event in waiting.take(2)] == ["missed", "now"]


def test_a_past_state_without_a_waiting_client_is_not_built(serve: Serve) -> None:
    serving = serve()
    position = serving.table.position()
    context, busy = context_of(serving), threading.Event()
    occupied = on_loop(serving, context.past_reads.run(busy.wait))
    try:
        with serving.client() as client:
            for _ in range(2):
                with pytest.raises(httpx.ReadTimeout), serving.client(timeout=0.5) as one:
                    one.get("/table", params={"as_of": str(position)})
            wait_until(lambda: calls(client, "past") == 1, "the reads to be given up")
            assert not context.past_states._making
            busy.set()
            assert occupied.result(180)
            assert client.get("/table", params={"as_of": str(position)}).status_code == 200
    finally:
        busy.set()
