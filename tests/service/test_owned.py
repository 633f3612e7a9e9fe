"""Conditional writes, named operations and safe reads over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest

from lastword.kafka.connection import Connection
from lastword.service.http.limits import Limits
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving
from tests.support.local_tables.real_topic import RealTopic

Clients = Callable[[], httpx.Client]


@pytest.fixture
def owned(serve: Serve, topic: str) -> Serving:
    """A service whose table has owners for every write."""
    return serve(table_options={"writes": "owned", "application_id": topic})


@pytest.fixture
def http(owned: Serving) -> Iterator[httpx.Client]:
    with owned.client() as client:
        yield client


def test_a_new_key_is_written_once(http: httpx.Client) -> None:
    first = http.put("/table/a", json=1, headers={"If-None-Match": "*"})
    assert first.status_code == 200
    second = http.put("/table/a", json=2, headers={"If-None-Match": "*"})
    assert (second.status_code, second.json()["name"]) == (412, "ConflictError")
    assert second.headers["etag"] == first.headers["etag"], "the version to decide again on"
    assert http.get("/table/a").json() == 1


def test_a_write_replaces_the_version_that_it_names_and_no_other(http: httpx.Client) -> None:
    seen = http.put("/table/a", json=1).headers["etag"]
    assert http.put("/table/a", json=2, headers={"If-Match": seen}).status_code == 200
    late = http.put("/table/a", json=3, headers={"If-Match": seen})
    assert late.status_code == 412
    assert late.headers["etag"] == http.get("/table/a").headers["etag"]
    assert http.delete("/table/a", headers={"If-Match": seen}).status_code == 412
    assert http.get("/table/a").json() == 2
    assert http.delete("/table/a", headers={"If-Match": late.headers["etag"]}).status_code == 200
    gone = http.put("/table/a", json=4, headers={"If-Match": late.headers["etag"]})
    assert gone.status_code == 412
    assert "etag" not in gone.headers, "the key is absent"


def test_a_read_waits_until_it_reflects_what_was_written_here(serve: Serve, topic: str) -> None:
    options = {"writes": "owned", "application_id": topic}
    serving = serve(table_options=options, limits=Limits(at_least_s=0.2))
    with serving.client() as http:
        http.put("/table/a", json=1)
        wait_until(lambda: http.get("/table/a").status_code == 200, "the first write")
        with serving.table._lifecycle.parts.replicas.one_moment():  # the copy here is held back
            assert http.put("/table/a", json=2).status_code == 200
            for path in ("/table/a", "/table", "/table/count"):
                late = http.get(path)
                assert (late.status_code, late.json()["name"]) == (503, "NotUpToPositionError")
            stale = http.get("/table/a", params={"stale": "true"})
            assert (stale.json(), stale.headers["lastword-stale"]) == (1, "true")
        wait_until(lambda: http.get("/table/a").status_code == 200, "the second write")
        assert http.get("/table/a").json() == 2
        assert http.get("/table/count").json()["count"] == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"If-Match": "*"},
        {"If-Match": '"1:2", "1:3"'},
        {"If-Match": 'W/"1:2"'},
        {"If-Match": '"abc"'},
        {"If-None-Match": '"1:2"'},
        {"If-Match": '"1:2"', "If-None-Match": "*"},
        {"If-Unmodified-Since": "Sun, 15 Nov 2026 10:00:00 GMT"},
    ],
)
def test_a_condition_that_cannot_be_checked_is_refused(
    http: httpx.Client, headers: dict[str, str]
) -> None:
    answer = http.put("/table/a", json=1, headers=headers)
    assert (answer.status_code, answer.json()["name"]) == (400, "BadCondition")
    assert http.get("/table/a").status_code == 404


def test_a_batch_has_a_condition_for_each_record(http: httpx.Client) -> None:
    seen = http.put("/table/a", json=1).json()["version"]
    records = [
        {"op": "put", "key": "a", "value": 2, "if_version": seen},
        {"op": "put", "key": "a", "value": 3, "if_version": seen},
        {"op": "put", "key": "b", "value": 4, "if_version": "absent"},
        {"op": "delete", "key": "c", "if_version": "0:123456"},
    ]
    answer = http.post("/table", json={"records": records}).json()
    statuses = [outcome["status"] for outcome in answer["outcomes"]]
    assert statuses == ["ok", "conflict", "ok", "conflict"]
    assert http.get("/table/a").json() == 2


def test_operations_answer_with_the_value_they_made(http: httpx.Client) -> None:
    first = http.post("/table/n/increment")
    assert first.status_code == 200, first.text
    assert first.json()["value"] == 1
    five = http.post("/table/n/increment", json=4)
    assert five.json()["value"] == 5
    assert five.headers["etag"] == http.get("/table/n").headers["etag"]
    merged = http.post("/table/m/merge", json={"a": 1, "b": None})
    assert merged.json()["value"] == {"a": 1}
    assert http.post("/table/l/append", json="x").json()["value"] == ["x"]
    assert http.post("/table/n/put-if-greater", json=3).json()["value"] == 5
    assert http.post("/table/n/put-if-greater", json=7).json()["value"] == 7


def test_an_operation_that_does_not_fit_changes_nothing(http: httpx.Client) -> None:
    http.put("/table/a", json="text")
    answer = http.post("/table/a/increment", json=1)
    assert (answer.status_code, answer.json()["name"]) == (400, "InvalidRecordError")
    assert http.post("/table/a/merge", content=b"{").json()["name"] == "BadArgument"
    assert http.get("/table/a").json() == "text"


def test_no_increment_of_many_clients_is_lost(owned: Serving) -> None:
    with ExitStack() as open_clients, ThreadPoolExecutor(8) as pool:
        clients = [open_clients.enter_context(owned.client()) for _ in range(8)]

        def work(client: httpx.Client) -> list[int]:
            return [client.post("/table/hits/increment").status_code for _ in range(25)]

        statuses = [status for each in pool.map(work, clients) for status in each]
    assert statuses == [200] * 200
    assert owned.table["hits"] == 200


def test_a_linearizable_read_is_answered_by_the_owner(http: httpx.Client) -> None:
    written = http.put("/table/a", json=1)
    read = http.get("/table/a", params={"consistency": "linearizable"})
    assert (read.json(), read.headers["etag"]) == (1, written.headers["etag"])
    absent = http.get("/table/b", params={"consistency": "linearizable"})
    assert absent.status_code == 404
    unknown = http.get("/table/a", params={"consistency": "strong"})
    assert unknown.status_code == 400


def test_a_time_to_live_is_kept_with_a_condition(http: httpx.Client) -> None:
    headers = {"If-None-Match": "*", "Lastword-TTL": "1h"}
    assert http.put("/table/a", json=1, headers=headers).status_code == 200
    assert "lastword-ttl" in http.get("/table/a").headers


def test_the_membership_and_the_records_that_no_owner_wrote_are_shown(
    http: httpx.Client, owned: Serving, connection: Connection, topic: str
) -> None:
    http.put("/table/a", json=1)
    assert http.get("/tables/table").json()["foreign"] == 0
    RealTopic(connection, topic).produce((b"b", b"2"))
    wait_until(lambda: http.get("/tables/table").json()["foreign"] == 1, "the record is counted")
    text = http.get("/metrics").text
    assert f'lastword_cluster_members{{application="{topic}"}} 1' in text
    assert f'lastword_cluster_leads{{application="{topic}"}} 1' in text


def test_a_table_without_owners_refuses_conditions(serve: Serve) -> None:
    with serve().client() as client:
        client.put("/table/a", json=1)
        answers = [
            client.put("/table/a", json=2, headers={"If-None-Match": "*"}),
            client.post("/table/a/increment"),
            client.get("/table/a", params={"consistency": "linearizable"}),
        ]
        assert [(each.status_code, each.json()["name"]) for each in answers] == [
            (400, "NoOwners")
        ] * 3
        assert client.get("/table/a").json() == 1


def test_a_table_that_demands_conditions_takes_no_write_without(serve: Serve, topic: str) -> None:
    serving = serve(
        table_options={"writes": "conditional", "application_id": topic},
        mount_options={"conditions_required": True},
    )
    with serving.client() as client:
        refused = client.put("/table/a", json=1)
        assert (refused.status_code, refused.json()["name"]) == (428, "ConditionRequired")
        assert client.delete("/table/a").status_code == 428
        batch = client.post("/table", json={"records": [{"op": "put", "key": "a", "value": 1}]})
        assert batch.json()["outcomes"][0]["error"]["name"] == "ConditionRequired"
        assert client.put("/table/a", json=1, headers={"If-None-Match": "*"}).status_code == 200


def test_a_key_that_ends_like_an_operation_is_a_key(http: httpx.Client) -> None:
    assert http.put("/table/a/increment", json=41).status_code == 200
    assert http.get("/table/a/increment").json() == 41
    assert http.post("/table/a/increment/increment").json()["value"] == 42
    assert http.get("/table/a").status_code == 404
