"""``lastword up`` on a machine without a broker: starts, serves, and leaves nothing behind."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lastword.broker.info import find_running
from lastword.catalog.catalog import read_catalog
from lastword.jvm import ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.testing.waiting import wait_until
from tests.support.network.listening import beyond_loopback
from tests.support.prepared_home import make_prepared_home
from tests.support.served.up_process import TIMEOUT_S, Up


@pytest.fixture
def home(prepared: Path, tmp_path: Path) -> Path:
    return make_prepared_home(tmp_path / "home", prepared)


@pytest.fixture
def up(home: Path) -> Iterator[Up]:
    (home / "lastword.toml").write_text('[pipeline]\nmode = "real-time"\n')
    running = Up(home, "--port", str(ports.free_ports(1)[0]))
    yield running
    running.close()


UPDATES = "demo-updates-per-user-changelog"


def test_up_serves_the_demo_counts_updates_on_spark_and_keeps_data(up: Up, home: Path) -> None:
    assert up.next_object() == {"table": "user-profiles", "ready": True, "keys": 0}
    assert up.next_object() == {"table": UPDATES, "ready": True, "keys": 0}
    assert len(up.next_object()["token"]) > 20, "made at the first start, shown once"
    assert up.next_object() == {"url": up.service}
    up.run("put", "user-profiles", "user-1", '{"name": "Alice"}')
    assert "user-profiles" in up.run("tables")
    change = up.next_with("key")
    assert (change["table"], change["value"], change["deleted"]) == (
        "user-profiles",
        {"name": "Alice"},
        False,
    )
    assert httpx.get(f"{up.service}/users/user-1", timeout=180).json() == {"name": "Alice"}
    assert "<html" in httpx.get(up.service, timeout=180).text
    runs = {"pipeline": "demo", "state": "RUNNING", "mode": "real-time"}
    assert up.next_with("state") == runs
    assert "(real-time) at 127.0.0.1" in up.run("pipeline", "status", "demo")
    # One after the other: what is compacted before Spark reads it is not counted.
    assert up.next_batch() == {"sources": ["user-profiles"], "records": 1, "updates": 1}
    up.run("put", "user-profiles", "user-1", '{"name": "Alice Smith"}')
    assert up.next_batch()["updates"] == 1
    up.run("delete", "user-profiles", "user-1")
    assert up.next_batch()["updates"] == 0
    assert up.run("get", UPDATES, "user-1") == "2\n", "a delete is no update"
    assert httpx.get(f"{up.service}/updates/user-1", timeout=180).json() == 2
    assert "lastword_pipeline_records_total" in httpx.get(f"{up.service}/metrics", timeout=180).text
    assert beyond_loopback(up.processes()) == []
    up.run("topic", "create", "pages", "--partitions", "5")
    up.run("put", "user-profiles", "user-2", "2")
    assert up.next_batch()["updates"] == 1
    status, problems = up.stop(signal.SIGINT)
    assert (status, problems) == (0, "")
    assert find_running(home) is None, "the broker must end with the command"
    wait_until(up.is_gone, what="Spark and the broker to end with the command")

    _own_tables_and_a_registry(home)


def _own_tables_and_a_registry(home: Path) -> None:
    (home / "visits_app.py").write_text(OWN_PIPELINE)
    (home / "lastword.toml").write_text(OWN_SETTINGS)
    (home / "reading.json").write_text(READING)
    broker, registry = ports.free_ports(2)
    again = Up(home, "--port", str(broker), "--registry", LASTWORD_REGISTRY_PORT=str(registry))
    try:
        again.environ["LASTWORD_REGISTRY_URL"] = again.next_object()["registry"]
        assert again.next_object() == {"table": "user-profiles", "ready": True, "keys": 1}
        assert again.next_object() == {"table": "updates", "ready": True, "keys": 2}
        assert again.next_object() == {"table": "visits", "ready": True, "keys": 0}
        assert again.next_object() == {"table": "readings", "ready": True, "keys": 0}
        assert again.next_object() == {"url": again.service}, "the token is not shown again"
        connection = Connection(bootstrap_servers=f"127.0.0.1:{broker}")
        with Admin(connection) as admin:
            assert read_catalog(admin, KafkaLog(connection))["user-profiles"].owned_by == "lastword"
        described = json.loads(again.run("topic", "describe", "visits-counts-changelog", "--json"))
        assert described["partitions"] == 5, "made by the pipeline: as many as its source has"
        again.run("schema", "register", "readings-value", str(home / "reading.json"))
        again.run("put", "readings", "kitchen", '{"celsius": 21}')
        assert again.next_with("key")["value"] == {"celsius": 21}
        reading = httpx.get(f"{again.service}/tables/readings/keys/kitchen", timeout=180)
        assert reading.json() == {"celsius": 21}
        assert beyond_loopback(again.processes()) == []
        assert again.stop(signal.SIGTERM) == (0, ""), "also while Spark is starting"
        assert find_running(home) is None
        wait_until(again.is_gone, what="Spark and the registry to end")
    finally:
        again.close()


OWN_PIPELINE = """
from lastword.pipelines import Pipeline

app = Pipeline("visits")
app.stream("pages").group_by_key().count("counts")
"""

READING = '{"type": "object", "properties": {"celsius": {"type": "integer"}}}'

OWN_SETTINGS = f"""
[tables.user-profiles]
writes = "owned"

[tables.updates]
topic = "{UPDATES}"

[tables.visits]
topic = "visits-counts-changelog"
value = "int64"

[tables.readings]
value = "json-schema"

[pipelines]
visits = "visits_app:app"
"""


def test_a_taken_port_is_said_with_what_to_do(home: Path) -> None:
    (port,) = ports.free_ports(1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        running = Up(home, "--port", str(port))
        try:
            status = running.process.wait(TIMEOUT_S)
            problem = json.loads(running.problems())
        finally:
            running.close()
    assert status == 1
    assert problem["error"] == "PortTakenError"
    assert str(port) in problem["message"]
    assert "--port" in problem["hint"]
