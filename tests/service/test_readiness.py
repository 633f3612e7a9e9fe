"""What the service answers while its tables are still on their way."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from lastword.topics.creation import create_topic
from tests.service.conftest import Serve
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import write_raw


@pytest.fixture
def topic(admin: Admin, topic_name: str) -> str:
    """One partition, as the store that can be held up needs it."""
    create_topic(admin, topic_name, partitions=1)
    return topic_name


Gated = tuple[GatedStore, httpx.Client]


@pytest.fixture
def gated(serve: Serve, connection: Connection, topic: str) -> Iterator[Gated]:
    """A service whose table is held up in the middle of its restore."""
    write_raw(connection, topic, [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    store = GatedStore()
    serving = serve(table_options={"store": store}, wait=False)
    try:
        assert store.waiting.wait(180)
        with serving.client() as client:
            yield store, client
    finally:
        store.gate.set()


def test_ready_is_503_with_the_progress_until_the_end_is_reached(
    gated: Gated,
) -> None:
    store, client = gated
    answer = client.get("/ready")
    assert answer.status_code == 503
    table = answer.json()["tables"][0]
    assert (table["name"], table["state"], table["ready"]) == ("table", "RESTORING", False)
    assert table["restore"]["total"] == 3
    assert client.get("/health").status_code == 200
    store.gate.set()
    wait_until(lambda: client.get("/ready").status_code == 200, "the table to be ready")
    assert client.get("/ready").json() == {
        "ready": True,
        "tables": [
            {
                "name": "table",
                "state": "RUNNING",
                "ready": True,
                "restore": {"done": 3, "total": 3, "eta_seconds": 0.0},
            }
        ],
    }


@pytest.mark.parametrize("path", ["/table/a", "/table", "/table/count", "/tables/table/watch"])
def test_reads_are_refused_until_then(gated: Gated, path: str) -> None:
    _, client = gated
    answer = client.get(path)
    assert (answer.status_code, answer.json()["name"]) == (503, "NotReadyError")
    assert answer.json()["retriable"] is True
    assert "retry-after" in answer.headers


def test_writes_are_refused_until_then(gated: Gated) -> None:
    _, client = gated
    for answer in (client.put("/table/a", json=1), client.delete("/table/a")):
        assert (answer.status_code, answer.json()["name"]) == (503, "NotReadyError")


def test_a_stale_answer_is_marked_if_it_is_allowed(gated: Gated) -> None:
    store, client = gated
    assert client.get("/table/a?stale=true").status_code == 404  # it is not read yet
    counted = client.get("/table/count?stale=true").json()
    assert (counted["count"], counted["stale"]) == (0, True)
    assert counted["position"].startswith("0:0@")
    store.gate.set()
    wait_until(lambda: client.get("/ready").status_code == 200, "the table to be ready")
    answer = client.get("/table/a?stale=true")
    assert (answer.json(), "lastword-stale" in answer.headers) == (1, False)


def test_the_status_shows_the_progress_of_a_restore(gated: Gated) -> None:
    _, client = gated
    status = client.get("/tables/table").json()
    assert (status["state"], status["ready"], status["stale"]) == ("RESTORING", False, True)
    assert status["error"]["name"] == "NotReadyError"
    partition = status["partitions"][0]
    assert (partition["log_end"], partition["restore"]["end"], partition["live"]) == (3, 3, False)


def test_a_table_that_is_rebuilt_is_not_ready_meanwhile(
    serve: Serve, admin: Admin, connection: Connection, topic: str
) -> None:
    serving = serve()
    serving.table.put("old", 1)
    with serving.client() as client:
        admin.delete(topic)
        wait_until(lambda: topic not in admin.topics(), "the topic to be gone")
        create_topic(admin, topic, partitions=1)
        write_raw(connection, topic, [(b"new", b"2")])
        wait_until(lambda: client.get("/table/new").status_code == 200, "the new topic's rows")
        assert client.get("/table/old").status_code == 404
