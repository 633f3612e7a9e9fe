"""Watching by server-sent events: everything once, in order, resumable, never silently cut."""

from __future__ import annotations

import gc
import json
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from lastword.kafka.connection import Connection
from lastword.records import Position
from lastword.service import Limits
from lastword.service.api.keys import to_base64url
from lastword.service.watch.pump import Pump
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving
from tests.support.local_tables.real_topic import RealTopic
from tests.support.local_tables.tables import write_raw
from tests.support.served.event_stream import Event, watching

WATCH = "/tables/table/watch"


@pytest.fixture
def serving(serve: Serve) -> Serving:
    return serve()


@pytest.fixture
def client(serving: Serving) -> Iterator[httpx.Client]:
    with serving.client() as opened:
        yield opened


def brief(event: Event) -> tuple[str, str, object]:
    return event.name, event.data["key"], event.data.get("value")


def watchers_of(client: httpx.Client) -> int:
    return int(client.get("/instances").json()["instances"][0]["watchers"])


def topic_id(serving: Serving) -> str:
    return serving.table.position().topic_id


def test_puts_and_deletes_are_seen_as_they_happen(serving: Serving, client: httpx.Client) -> None:
    with watching(client, WATCH) as events:
        assert events.start.name == "start"
        version = serving.table.put("a", {"n": 1})
        serving.table.delete("a")
        first, second = events.take(2)
    assert brief(first) == ("put", "a", {"n": 1})
    assert first.data["version"] == str(version)
    assert brief(second) == ("delete", "a", None)


def test_a_watch_resumes_exactly_where_it_was(serving: Serving, client: httpx.Client) -> None:
    with watching(client, WATCH) as events:
        serving.table.put_many([(f"k{n}", n) for n in range(30)])
        before = [brief(event) for event in events.take(11)]
        left_at = events.id
    serving.table.put_many([(f"k{n}", n) for n in range(30, 60)])
    with watching(client, WATCH, left_at) as events:
        after = [brief(event) for event in events.take(49)]
        serving.table.put("last", True)
        assert brief(next(events)) == ("put", "last", True)
    assert sorted(before + after) == sorted(("put", f"k{n}", n) for n in range(60))


def test_reading_pages_and_then_watching_misses_nothing(
    serving: Serving, client: httpx.Client
) -> None:
    serving.table.put("in the page", 1)
    position = client.get("/table").json()["position"]
    serving.table.put("after the page", 2)
    with watching(client, f"{WATCH}?since={position}") as events:
        assert brief(next(events)) == ("put", "after the page", 2)


def test_a_watch_from_the_beginning_sees_what_is_in_the_log(
    serving: Serving, client: httpx.Client
) -> None:
    serving.table.put("k", 1)
    serving.table.put("k", 2)
    serving.table.delete("k")
    with watching(client, WATCH, f"0:0,1:0,2:0@{topic_id(serving)}") as events:
        assert [brief(event) for event in events.take(3)] == [
            ("put", "k", 1),
            ("put", "k", 2),
            ("delete", "k", None),
        ]


def test_resuming_elsewhere_waits_until_the_position_is_reached(serve: Serve) -> None:
    one, other = serve(), serve()
    with one.client() as client, watching(client, WATCH) as events:
        one.table.put_many([(f"k{n}", n) for n in range(100)])
        events.take(50)
        left_at = events.id
    with other.client() as client, watching(client, WATCH, left_at) as events:
        assert len(events.take(50)) == 50
        one.table.put("last", 1)
        assert next(events).data["key"] == "last"


def test_a_position_that_is_not_reached_in_time_is_refused(serve: Serve) -> None:
    serving = serve(limits=Limits(at_least_s=0.2))
    with serving.client() as client:
        answer = client.get(f"{WATCH}?since=0:1000@{topic_id(serving)}")
    assert (answer.status_code, answer.json()["name"]) == (503, "NotUpToPositionError")


@pytest.mark.parametrize(("since", "name"), [("7:1", "UnknownPartition"), ("x", "BadPosition")])
def test_an_invalid_position_is_refused(client: httpx.Client, since: str, name: str) -> None:
    answer = client.get(WATCH, headers={"Last-Event-ID": since})
    assert (answer.status_code, answer.json()["name"]) == (400, name)


def test_every_watcher_sees_every_change(serving: Serving, client: httpx.Client) -> None:
    changes, watchers = 500, 8
    seen: list[list[int]] = [[] for _ in range(watchers)]
    started = threading.Barrier(watchers + 1)

    def watch(mine: list[int]) -> None:
        with watching(client, WATCH) as events:
            started.wait(180)
            mine += [event.data["value"] for event in events.take(changes)]

    threads = [threading.Thread(target=watch, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    started.wait(180)
    assert client.get("/tables/table").json()["watchers"] == watchers
    for first in range(0, changes, 50):
        serving.table.put_many([("key", n) for n in range(first, first + 50)])
    for thread in threads:
        thread.join(180)
    assert seen == [list(range(changes))] * watchers
    wait_until(lambda: client.get("/tables/table").json()["watchers"] == 0, "all to have left")


def test_values_that_could_break_an_event_do_not(
    serving: Serving, client: httpx.Client, connection: Connection, topic: str
) -> None:
    records = [
        (b"pretty", b'{\n  "a": 1,\r\n  "b": "x\\n"\n}'),
        (b"forged", b'1\n\nevent: delete\ndata: {"key":"x"}\n\n'),
        (b"\xff\n", b"2"),
    ]
    with watching(client, WATCH) as events:
        write_raw(connection, topic, records)
        found = {event.data.get("key") or event.data["raw_key"]: event for event in events.take(3)}
    assert found["pretty"].data["value"] == {"a": 1, "b": "x\n"}
    assert "json" in found["forged"].data["error"]
    assert found["forged"].data["value"] is None
    assert found[to_base64url(b"\xff\n")].data["value"] == 2


def test_an_idle_watch_gets_heartbeats(serve: Serve) -> None:
    serving = serve(limits=Limits(heartbeat_s=0.05))
    with serving.client() as client, watching(client, WATCH) as events:
        lines = iter(events._lines)
        beat, comment, end = (next(lines) for _ in range(3))
    assert (comment, end) == (": still here", "")
    # It carries the id to resume with, which grows no older while nothing happens.
    assert Position.parse(beat.removeprefix("id: ")) == serving.table.position()


def test_a_slow_watcher_is_cut_off_with_an_error_and_can_resume(serve: Serve) -> None:
    serving = serve(limits=Limits(watchers_backlog_bytes=200_000))
    value, changes = "x" * 50_000, 300
    with serving.client() as client:
        with watching(client, WATCH) as events:  # and does not read while these are written
            for first in range(0, changes, 20):
                serving.table.put_many([(f"k{n}", value) for n in range(first, first + 20)])
            seen = list(events)
            left_at = events.id
        assert seen[-1].name == "lost"
        assert seen[-1].data["name"] == "WatchLostError"
        assert "Last-Event-ID" in seen[-1].data["hint"]
        got = [event.data["key"] for event in seen[:-1]]
        assert len(got) < changes
        with watching(client, WATCH, left_at) as events:
            got += [event.data["key"] for event in events.take(changes - len(got))]
        assert sorted(got) == sorted(f"k{n}" for n in range(changes))
        assert serving.table.metrics.counter("watchers_lost_total").value == 1


def test_a_watcher_that_takes_nothing_at_all_is_cut_off(serve: Serve) -> None:
    serving = serve(limits=Limits(arrival_s=0.5))
    with socket.socket() as dead:
        dead.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        dead.connect(("127.0.0.1", serving.config.port))
        dead.sendall(f"GET {WATCH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        with serving.client() as client:
            wait_until(lambda: watchers_of(client), "the watcher to be there")
            for _ in range(40):
                serving.table.put("k", "x" * 500_000)
            wait_until(lambda: watchers_of(client) == 0, "the watcher to be cut off")
    assert serving.table.metrics.counter("watchers_lost_total").value == 1


def test_watchers_beyond_the_limit_are_refused_as_retriable(serve: Serve) -> None:
    serving = serve(limits=Limits(watchers=2))
    with serving.client() as client:
        with watching(client, WATCH) as one, watching(client, WATCH) as other:
            assert one.start.name == other.start.name == "start"
            answer = client.get(WATCH)
            assert (answer.status_code, answer.json()["name"]) == (503, "TooManyWatchers")
            assert "retry-after" in answer.headers
        wait_until(lambda: watchers_of(client) == 0, "both to have left")
        with watching(client, WATCH) as events:
            assert events.start.name == "start"


def test_watchers_that_left_take_no_memory(serving: Serving, client: httpx.Client) -> None:
    def pumps() -> int:
        gc.collect()
        return sum(type(each) is Pump for each in gc.get_objects())

    of_other_services = pumps()
    for number in range(6):
        with watching(client, WATCH) as events:
            serving.table.put("a", number)
            assert brief(next(events)) == ("put", "a", number)
        wait_until(lambda: watchers_of(client) == 0, "the watcher to have left")
    # The last one's thread may still be ending, and the one before it with it.
    wait_until(lambda: pumps() <= of_other_services + 2, "former watches to be gone")


def test_a_watch_ends_with_a_reason_when_the_service_stops(serve: Serve) -> None:
    serving = serve()
    with serving.client() as client, watching(client, WATCH) as events:
        stopping = threading.Thread(target=serving.service.stop)
        stopping.start()
        (last,) = list(events)
        stopping.join(180)
    assert (last.name, last.data["name"]) == ("lost", "ServiceStopping")


def test_a_position_that_the_log_no_longer_has_is_gone(
    serving: Serving, client: httpx.Client, connection: Connection, topic: str
) -> None:
    serving.table.put_many([(f"k{n}", n) for n in range(30)])
    log = RealTopic(connection, topic)
    log.alter({"cleanup.policy": "compact,delete"})
    log.delete_records_before(1)

    def refused() -> httpx.Response | None:
        answer = client.get(WATCH, headers={"Last-Event-ID": f"0:0@{topic_id(serving)}"})
        if answer.status_code == 410:
            return answer
        # The new start of the log is noticed within a second; until then it is found too late.
        assert "event: lost" in answer.text
        return None

    answer = wait_until(refused, "the new start of the log to be noticed")
    assert answer is not None
    assert answer.json()["name"] == "WatchLostError"


def test_events_are_one_json_document_per_line(serving: Serving, client: httpx.Client) -> None:
    with client.stream("GET", WATCH) as answer:
        lines = answer.iter_lines()
        while next(lines):
            pass
        serving.table.put("key", "value")
        event = [next(lines) for _ in range(3)]
    assert event[0].startswith("id: ")
    assert event[1] == "event: put"
    assert json.loads(event[2].removeprefix("data: "))["value"] == "value"
