"""What the service reports about its tables: status, history of a key, compaction, series."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.jvm.ports import free_ports
from lastword.kafka.connection import Connection
from lastword.service import Limits, Mount, Service, ServiceConfig, TokenFile
from lastword.table.table import Table
from lastword.testing import wait_until
from tests.service.conftest import TABLES, Serve
from tests.support.local_tables.real_topic import EAGER_COMPACTION, RealTopic
from tests.support.local_tables.tables import write_raw


def test_all_tables_are_listed(http: httpx.Client) -> None:
    tables = {table["name"]: table for table in http.get("/tables").json()["tables"]}
    assert tables.keys() == TABLES.keys()
    assert tables["users"] == {
        "access": "admin",
        "name": "users",
        "topic": "service-users",
        "mount": "/users",
        "state": "RUNNING",
        "ready": True,
        "windowed": False,
        "key": "string",
        "value": "json",
    }
    assert tables["visits"]["windowed"] is True


def test_a_status_has_partitions_positions_and_counts(serve: Serve) -> None:
    serving = serve()
    serving.table.put_many([(f"k{n}", n) for n in range(50)])
    serving.table.delete("k0")
    with serving.client() as client:
        status = client.get("/tables/table").json()
        assert status["keys"] == client.get("/table/count").json()["count"] == 49
    assert [each["partition"] for each in status["partitions"]] == [0, 1, 2]
    assert sum(each["position"] for each in status["partitions"]) == 51
    offsets, _, rest = status["position"].partition("@")
    assert rest, "a position names its topic"
    assert offsets == ",".join(
        f"{each['partition']}:{each['position']}" for each in status["partitions"]
    )
    assert (status["key"], status["value"], status["error"]) == ("string", "json", None)
    assert all(each["live"] and not each["stale"] for each in status["partitions"])


def test_the_history_of_a_key_is_what_the_log_still_holds(serve: Serve) -> None:
    serving = serve()
    versions = [serving.table.put("k", {"n": n}) for n in range(3)]
    versions.append(serving.table.delete("k"))
    versions.append(serving.table.put("k", None))
    serving.table.put_many([(f"other-{n}", n) for n in range(50)])
    with serving.client() as client:
        history = client.get("/tables/table/log", params={"key": "k"}).json()
        records = history["records"]
        assert [record["version"] for record in records] == [str(version) for version in versions]
        assert [record["value"] for record in records] == [{"n": 0}, {"n": 1}, {"n": 2}, None, None]
        assert [record["tombstone"] for record in records] == [False, False, False, True, False]
        assert history["complete"] is True
        newest = client.get("/tables/table/log", params={"key": "k", "limit": 2}).json()["records"]
        assert newest == records[-2:]
        nothing = client.get("/tables/table/log", params={"key": "absent"}).json()
        assert (nothing["records"], nothing["complete"]) == ([], True)
        assert client.get("/tables/table/log").status_code == 400


def test_a_history_that_takes_too_long_says_that_it_is_not_complete(
    serve: Serve, connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"k", b"%d" % n) for n in range(20_000)])
    with serve(limits=Limits(history_s=0.0)).client() as client:
        history = client.get("/tables/table/log", params={"key": "k"}).json()
    assert history["complete"] is False
    assert history["searched_to"] < 20_000


def test_a_history_shows_a_bad_record_as_bad(
    serve: Serve, connection: Connection, topic: str
) -> None:
    write_raw(connection, topic, [(b"k", b"{"), (b"k", b"2")])
    with serve().client() as client:
        bad, good = client.get("/tables/table/log", params={"key": "k"}).json()["records"]
    assert (bad["value"], bad["raw_value"]) == (None, "ew==")
    assert "json" in bad["error"]
    assert good["value"] == 2


@pytest.fixture
def compacted(connection: Connection, topic_name: str) -> RealTopic:
    """A topic of one partition whose records are compacted as soon as can be."""
    return RealTopic(connection, topic_name).create(1, EAGER_COMPACTION)


def test_compaction_is_reported_by_partition(
    broker: EmbeddedBroker, connection: Connection, compacted: RealTopic, tmp_path: Path
) -> None:
    tokens_file = tmp_path / "tokens.json"
    token = TokenFile(tokens_file).create("test", {"*": "admin"})
    table = Table(compacted.name, connection=connection, name="table")
    config = ServiceConfig(tokens_file=tokens_file, port=free_ports(1)[0])
    with Service(config, [Mount(table)], local_brokers=lambda _: broker.info.nodes) as service:
        table.wait_ready()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(
            base_url=service.url, headers=headers, timeout=180, trust_env=False
        ) as client:
            for n in range(30):
                table.put("same", n)
            table.delete("same")
            surveyed = client.post("/tables/table/survey").json()
            (partition,) = surveyed["partitions"]
            contents = partition["contents"]
            assert contents["live_keys"] == 0
            assert contents["tombstones"] == 1
            assert contents["records"] == contents["duplicates"] + 1
            assert partition["size_bytes"] > 0
            assert partition["cleaner"]["segments"] >= 1
            assert partition["reasons"][0]["cause"]
            assert surveyed["settings"]["cleanup.policy"] == "compact"

            def cleaned() -> bool:
                compacted.produce((b"filler", b"1"))
                (now,) = client.get("/tables/table/compaction").json()["partitions"]
                return now["cleaner"]["last_run"] is not None

            wait_until(cleaned, "the cleaner's run to be told", timeout=180, every=0.5)


def test_figures_are_remembered_over_time(http: httpx.Client) -> None:
    for _ in range(20):
        http.get("/users/nobody")

    def remembered() -> dict[str, list[float | None]]:
        series = http.get("/tables/users/series").json()
        assert all(len(column) == len(series["times"]) for column in series["series"].values())
        return dict(series["series"]) if len(series["times"]) >= 2 else {}

    columns = wait_until(remembered, "two points in time")
    assert {"reads_per_second", "write_p99_ms", "lag_seconds", "keys", "log_bytes"} <= set(columns)
    last = http.get("/tables/users/series").json()["times"][-1]
    later = http.get("/tables/users/series", params={"since": last}).json()
    assert all(time > last for time in later["times"])
