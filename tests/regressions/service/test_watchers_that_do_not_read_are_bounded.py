"""Six watchers that did not read kept 441 MB and their connections, counted as gone.

Changes were gathered into chunks of many megabytes, each connection had its own copies of them,
and a watcher that was cut off no longer counted while its connection was still open.
"""

from __future__ import annotations

import gc
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from lastword.service import Limits
from lastword.service.watch.change_events import CHUNK_BYTES, Chunk
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving
from tests.support.served.event_stream import Events, watching

WATCH = "/tables/table/watch"
DEAF = 6
# Nobody is cut off for reading nothing, so that what waits for them can be seen.
LIMITS = Limits(watchers=DEAF + 1, watchers_backlog_bytes=1 << 20, arrival_s=60)


@contextmanager
def deaf_watchers(serving: Serving) -> Iterator[None]:
    request = f"GET {WATCH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with ExitStack() as opened:
        for _ in range(DEAF):
            one = opened.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect(("127.0.0.1", serving.config.port))
            one.sendall(request)
        yield


def watchers_of(client: httpx.Client) -> int:
    return int(client.get("/instances").json()["instances"][0]["watchers"])


def backlog_bytes(client: httpx.Client) -> int:
    (line,) = (
        line
        for line in client.get("/metrics").text.splitlines()
        if line.startswith("lastword_watch_backlog_bytes ")
    )
    return int(line.rpartition(" ")[2])


@pytest.mark.parametrize("size", [1_000, 300_000], ids=["small changes", "large changes"])
def test_the_backlog_of_all_watchers_together_is_bounded(serve: Serve, size: int) -> None:
    serving = serve(limits=LIMITS)
    rounds, value = 40, "x" * size
    most = 0
    with serving.client() as client, deaf_watchers(serving):
        wait_until(lambda: watchers_of(client) == DEAF, "the watchers to be there")
        with watching(client, WATCH) as events:
            for number in range(rounds):
                puts = max(1, 600_000 // size)
                serving.table.put_many([("key", [number, value])] * puts)
                most = max(most, backlog_bytes(client), chunk_bytes())
                assert {event.data["value"][0] for event in events.take(puts)} == {number}
        assert most <= LIMITS.watchers_backlog_bytes + (DEAF + 20) * max(CHUNK_BYTES, size + 500)
        wait_until(lambda: backlog_bytes(client) == 0, "the deaf ones to be cut off")


def chunk_bytes() -> int:
    """The chunks that are alive; those of one change may be larger than others."""
    alive = [len(each.data) for each in gc.get_objects() if type(each) is Chunk]
    return sum(alive)


def test_they_count_until_their_connections_are_closed(serve: Serve) -> None:
    serving = serve(limits=LIMITS)
    with serving.client() as client:
        with deaf_watchers(serving), watching(client, WATCH) as events:
            wait_until(lambda: watchers_of(client) == DEAF + 1, "the watchers to be there")
            write_until_cut_off(serving, client, events)
            assert watchers_of(client) == DEAF + 1
            assert client.get("/tables/table").json()["watchers"] == DEAF + 1
            assert client.get(WATCH).json()["name"] == "TooManyWatchers"
        wait_until(lambda: watchers_of(client) == 0, "their connections to be closed")
        assert client.get("/tables/table").json()["watchers"] == 0
        with watching(client, WATCH) as events:
            assert events.start.name == "start"
    assert serving.table.metrics.counter("watchers_lost_total").value == DEAF


def write_until_cut_off(serving: Serving, client: httpx.Client, events: Events) -> None:
    """As fast as ``events`` reads: only those who read nothing fall behind."""
    most = 0
    for _ in range(1000):
        serving.table.put("key", "x" * 100_000)
        assert next(events).name == "put"
        waiting = backlog_bytes(client)
        if most > LIMITS.watchers_backlog_bytes / 2 and waiting == 0:
            return
        most = max(most, waiting)
    raise AssertionError(f"nobody was cut off; {most} bytes waited at most")
