"""A partitioned table over HTTP: every instance answers for every key, and says who did."""

from __future__ import annotations

from itertools import islice
from typing import Any

import httpx
import pytest

import lastword as lw
from lastword.cluster.peers import PeerSettings
from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.service.conftest import Serve, Serving
from tests.support.coroutines import run_coroutine
from tests.support.local_tables.stores import GatedStores
from tests.support.served.blocking_client import blocking
from tests.support.served.event_stream import watching
from tests.support.shared_tables.partitioned_tables import (
    cluster_of,
    held,
    plan_of,
    replicas_of,
    wait_until_settled,
)
from tests.support.shared_tables.peer_pair import SECRET

PARTITIONS = 3
TOKEN = "known-to-both-instances"  # noqa: S105
ROWS = {f"key-{number:02}": number for number in range(20)}


def options(topic: str, name: str) -> dict[str, Any]:
    return {
        "layout": "partitioned",
        "standbys": 0,
        "application_id": topic,
        "instance_id": name,
        "peer": PeerSettings(secret=SECRET),
        "writes": "owned",
    }


@pytest.fixture
def instances(serve: Serve, topic: str) -> list[Serving]:
    """Two services of one table without standbys: what one has, the other lacks."""
    started = [serve(table_options=options(topic, name), wait=False, token=TOKEN) for name in "ab"]
    for each in started:
        each.table.wait_ready()
    wait_until_settled([each.table for each in started], PARTITIONS, copies=1)
    return started


def test_every_instance_answers_for_every_key(instances: list[Serving]) -> None:
    plan = plan_of(instances[0].table)
    assert plan is not None
    a, b = (each.client() for each in instances)
    with a, b:
        for key, value in ROWS.items():
            assert a.put(f"/table/{key}", json=value).status_code == 200
        for client in (a, b):
            for key, value in ROWS.items():
                found = client.get(f"/table/{key}", params={"max_stale": "30s"})
                partition = int(found.headers["etag"].strip('"').partition(":")[0])
                assert found.json() == value
                assert (
                    found.headers["lastword-answered-by"]
                    == (plan.owners[instances[0].table.topic][partition])
                )
                assert 0 <= float(found.headers["lastword-staleness"]) < 30
            missing = client.get("/table/nobody")
            assert missing.status_code == 404
            assert missing.headers["lastword-answered-by"] in {"a", "b"}
            page = client.get("/tables/table/keys", params={"limit": 100})
            assert [item["key"] for item in page.json()["items"]] == sorted(ROWS)
            assert page.headers["lastword-answered-by"] == "a,b"
            count = client.get("/table/count")
            assert count.json()["count"] == len(ROWS)
            assert count.headers["lastword-answered-by"] == "a,b"
        _refuses_what_is_elsewhere(instances[0], a)
        _show_the_same_cluster(a, b)
        _reads_what_another_instance_wrote(a, b)
        _resumes_a_watch_at_another_instance(a, b)
        _names_the_owners_to_those_who_may_read(instances, a)
    _a_client_asks_the_owners(instances)
    run_coroutine(_an_asynchronous_client_asks_the_owners(instances))
    _a_client_hears_who_answered_and_how_stale_that_is(instances)
    _a_client_goes_on_without_an_owner(instances)


def _refuses_what_is_elsewhere(instance: Serving, client: httpx.Client) -> None:
    for key in ROWS:
        here = instance.table.raw.keyspace.partition_of(key.encode()) in held(instance.table)
        answer = client.get(f"/table/{key}", params={"route": "false"})
        assert answer.status_code == (200 if here else 503)
        if not here:
            assert answer.json()["name"] == "PartitionNotHereError"
            assert "is owned by b at 127.0.0.1:" in answer.json()["message"]


def _show_the_same_cluster(a: httpx.Client, b: httpx.Client) -> None:
    for name, client in (("a", a), ("b", b)):
        (cluster,) = client.get("/cluster").json()["clusters"]
        assert cluster["instance"] == name
        assert [each["instance"] for each in cluster["members"]] == ["a", "b"]
        assert {each["instance"]: each["this"] for each in cluster["members"]}[name] is True
        assert sum(each["owns"] for each in cluster["members"]) == PARTITIONS
        (table,) = cluster["tables"]
        assert (table["table"], table["standbys"]) == ("table", 0)
        owners = [copy["role"] for each in table["partitions"] for copy in each["copies"]]
        assert owners == ["owner"] * PARTITIONS


def _reads_what_another_instance_wrote(a: httpx.Client, b: httpx.Client) -> None:
    for key in ROWS:
        version = a.put(f"/table/{key}", json="new").json()["version"]
        assert b.get(f"/table/{key}", params={"at_least": version}).json() == "new"


def _resumes_a_watch_at_another_instance(a: httpx.Client, b: httpx.Client) -> None:
    path = "/tables/table/watch"
    with watching(a, path) as events:
        for key in ROWS:
            b.put(f"/table/{key}", json="watched")
        first = list(islice(events, 5))
    with watching(b, path, last_event_id=first[-1].id) as events:
        rest = list(islice(events, len(ROWS) - 5))
    seen = [event.data["key"] for event in (*first, *rest)]
    assert sorted(seen) == sorted(ROWS)


def _names_the_owners_to_those_who_may_read(instances: list[Serving], a: httpx.Client) -> None:
    wait_until(lambda: None not in _owners(a)["services"], "both services to be announced")
    known = a.get("/instances").json()["instances"]
    assert [(each["id"], each["url"], each["this"], each["tables"]) for each in known] == [
        ("a", instances[0].url, True, ["table"]),
        ("b", instances[1].url, False, ["table"]),
    ]
    assert (known[0]["watchers"] is None, known[1]["watchers"] is None) == (False, True)
    said = _owners(a)
    plan = plan_of(instances[0].table)
    assert plan is not None
    urls = {"a": instances[0].url, "b": instances[1].url}
    assert said["services"] == [urls[name] for name in plan.owners[instances[0].table.topic]]
    assert a.get("/table/nobody").headers["lastword-plan"] == str(said["plan"])
    with instances[0].client(token="of-a-stranger-to-all") as stranger:  # noqa: S106
        refused = stranger.get("/tables/table/owners")
    assert refused.status_code == 401
    assert "lastword-plan" not in refused.headers


def _owners(client: httpx.Client) -> Any:
    return client.get("/tables/table/owners").json()


def _answered(instance: Serving, operation: str) -> int:
    context = instance.service._context
    assert context is not None
    counted = context.metrics.counter("http_requests_total", operation=operation, status="200")
    return int(counted.value)


def _a_client_asks_the_owners(instances: list[Serving]) -> None:
    a, b = instances
    with lw.connect(f"{a.url}/table", token=TOKEN) as client:
        assert client["key-00"] == "watched", "its answer names the plan"
        before = [_answered(each, "get_key") for each in (a, b)]
        put_before = [_answered(each, "put_key") for each in (a, b)]
        for key in ROWS:
            client.put(key, "routed")
            assert client[key] == "routed"
            assert client.get_many([key]) == {key: "routed"}, "read elsewhere"
        assert dict(client.items()) == dict.fromkeys(ROWS, "routed")
        here = [a.table.raw.keyspace.partition_of(key.encode()) in held(a.table) for key in ROWS]
        owned = [here.count(True), here.count(False)]
        assert 0 < owned[0] < len(ROWS)
        counted = [_answered(each, "get_key") for each in (a, b)]
        assert [now - then for now, then in zip(counted, before, strict=True)] == owned
        counted = [_answered(each, "put_key") for each in (a, b)]
        assert [now - then for now, then in zip(counted, put_before, strict=True)] == owned


async def _an_asynchronous_client_asks_the_owners(instances: list[Serving]) -> None:
    before = _answered(instances[1], "get_key")
    async with lw.connect_async(f"{instances[0].url}/table", token=TOKEN) as client:
        for key in ROWS:
            await client.put(key, "once more")
            assert await client.get(key) == "once more"
    assert _answered(instances[1], "get_key") > before


def too_stale_reads(instances: list[Serving]) -> int:
    counters = (each.table.metrics.counter("too_stale_reads_total") for each in instances)
    return sum(int(counter.value) for counter in counters)


def _a_client_hears_who_answered_and_how_stale_that_is(instances: list[Serving]) -> None:
    a = instances[0]
    plan = plan_of(a.table)
    assert plan is not None
    url = f"{a.url}/table"
    with (
        lw.connect(url, token=TOKEN) as threads,
        blocking(lw.connect_async(url, token=TOKEN)) as coroutines,
    ):
        for client in (threads, coroutines):
            limited = client.query.within(max_stale="30s", max_lag=1_000)
            for key in ("key-00", "key-01", "key-02", "nobody"):
                answer = limited.get(key)
                partition = a.table.raw.keyspace.partition_of(key.encode())
                assert answer.answered_by == (plan.owners[a.table.topic][partition],)
                assert 0 < answer.staleness_s < 35
                assert (answer.value is None) == (key == "nobody")
            for answer in (limited.get_many(ROWS), limited.count()):
                assert answer.answered_by == ("a", "b")
                assert answer.position.offsets.keys() == set(range(PARTITIONS))
            assert not limited.contains("nobody").value
            with pytest.raises(lw.errors.ConfigError):
                client.query.within(max_lag=-1)
        with threads.query.scan() as scan:
            assert [entry.key for entry in scan] == sorted(ROWS)
            assert scan.answered_by == ("a", "b")
            assert scan.staleness_s is not None
    refused = too_stale_reads(instances)
    with (
        lw.connect(url, token=TOKEN, timeout="3s") as hasty,
        pytest.raises(lw.errors.ConnectionFailedError),  # the service tries for 10 s
    ):
        hasty.query.within(max_stale=0).get("key-00")
    assert too_stale_reads(instances) > refused


def _a_client_goes_on_without_an_owner(instances: list[Serving]) -> None:
    a, b = instances
    with lw.connect(f"{a.url}/table", token=TOKEN) as client:
        assert [client[key] for key in ROWS] == ["once more"] * len(ROWS)
        b.service.stop()
        assert [client[key] for key in ROWS] == ["once more"] * len(ROWS)
        client.put_many(dict.fromkeys(ROWS, "alone"))
        assert client.get_many(ROWS) == dict.fromkeys(ROWS, "alone")
        wait_until(lambda: _only_names(a), "only the address that is left")


def _only_names(instance: Serving) -> bool:
    with instance.client() as client:
        return set(_owners(client)["services"]) == {instance.url}


def test_an_instance_that_builds_another_copy_stays_ready(serve: Serve, topic: str) -> None:
    stores = GatedStores()
    started = [
        serve(table_options=options(topic, name) | {"store": stores}, wait=False, token=TOKEN)
        for name in "ab"
    ]
    a, b = (each.table for each in started)
    with started[1].client() as client:
        try:
            for each in (a, b):
                each.wait_ready()
            a.put_many(ROWS)
            cluster_of(a).drain("b")
            wait_until(lambda: not replicas_of(b).held, "b keeps nothing", timeout=180)
            stores.gate.clear()
            cluster_of(a).drain("b", on=False)
            assert stores.waiting.wait(180)
            wait_until(lambda: b.state is TableState.REBALANCING, "b builds a copy")
            assert client.get("/ready").status_code == 200
            assert client.get("/tables/table").json()["error"] is None
            assert client.get("/table/key-07").json() == ROWS["key-07"]
            assert b.state is TableState.REBALANCING
        finally:
            stores.gate.set()


def test_a_table_that_is_not_shared_refuses_to_be_routed(serve: Serve) -> None:
    with serve().client() as client:
        answer = client.get("/table/a", params={"route": "false"})
    assert (answer.status_code, answer.json()["name"]) == (400, "ConfigError")
