"""A table of a real PostgreSQL, captured by a real Debezium, mirrored on Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection as PostgresConnection
from pyspark.sql import SparkSession

from lastword.catalog.catalog import CATALOG_TOPIC
from lastword.cdc.postgres.capture import Capture
from lastword.connect_worker.runtime import ConnectRuntime
from lastword.connect_worker.secrets import keep_secret
from lastword.connect_worker.worker import EmbeddedWorker
from lastword.errors import TopicUnfitError
from lastword.home import HomeFolder
from lastword.jvm.ports import free_ports
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Groups
from lastword.pipelines import Pipeline
from lastword.testing.waiting import wait_until
from tests.support.captures.basket_transactions import TABLES, basket_transactions
from tests.support.captures.cdc_command import CdcCommand
from tests.support.captures.cdc_lab import WAIT_S, WORD
from tests.support.captures.mirror_lab import MirrorLab, equals, has_topic, rows_of, selected
from tests.support.captures.outbox_events import example, published
from tests.support.captures.postgres import Postgres, running_postgres
from tests.support.captures.sales_capture import (
    part_of_up,
    sales_are_removed,
    wait_for_sales,
    wait_for_version,
)

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def worker(
    home: Path, connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedWorker]:
    """Started and stopped by commands; what the tests have of it is where it is."""
    own_home = tmp_path_factory.mktemp("home")
    (own_home / HomeFolder.JARS).symlink_to(home / HomeFolder.JARS)  # they are fetched already
    (port,) = free_ports(1)
    runtime = ConnectRuntime.prepare(home, os.environ)
    connect = CdcCommand(own_home, connection.bootstrap_servers)
    (started,) = connect.json("start", "--port", str(port), command="connect")
    try:
        assert started["running"] is True
        yield EmbeddedWorker(own_home / HomeFolder.CONNECT, runtime, connection, port=port)
    finally:
        (stopped,) = connect.json("stop", command="connect")
    assert stopped["stopped"] == started["url"]
    assert connect.json("status", command="connect", exit_code=3)[0]["running"] is False


@pytest.fixture
def database(postgres: Postgres) -> Iterator[PostgresConnection[Any]]:
    with postgres.connect() as database:
        yield database


@pytest.fixture
def lab(
    postgres: Postgres,
    worker: EmbeddedWorker,
    connection: Connection,
    spark: SparkSession,
    tmp_path: Path,
) -> MirrorLab:
    return MirrorLab(postgres, worker, connection, spark, tmp_path)


def test_a_worker_is_found_in_its_group(worker: EmbeddedWorker, connection: Connection) -> None:
    with closing(Groups(connection)) as groups:  # its members are no consumers
        found = groups.members(worker.info.group)
    assert [member.client_id for member in found] == [worker.info.client_id]


def test_commands_show_the_worker_and_its_log_and_start_no_second_one(
    worker: EmbeddedWorker, connection: Connection
) -> None:
    connect = CdcCommand(Path(worker.info.directory).parent, connection.bootstrap_servers)
    (found,) = connect.json("status", command="connect")
    assert (found["running"], found["url"], found["connectors"]) == (True, worker.url, [])
    assert connect.json("start", command="connect")[0]["pid"] == found["pid"]
    other = connect("start", "--port", "1", command="connect")
    assert f"a worker runs at {worker.url} already" in other.output
    lines = connect.json("log", "-n", "2", command="connect")
    logged = worker.info.log_file.read_text()
    assert len(lines) == 2
    assert all(each["line"] in logged for each in lines)


TYPES = """
CREATE TABLE every_type (
  id int PRIMARY KEY, small smallint, big bigint, yes bool, txt text, num numeric,
  money numeric(12,2), r real, d double precision, ts timestamp, tstz timestamptz, day date,
  t time, j json, jb jsonb, ints int[], texts text[], nums numeric[], raw bytea, u uuid,
  note text DEFAULT 'default'
);
INSERT INTO every_type VALUES (
  1, 1, 9007199254740993, true, 'é', 12345678901234567890.123456789, 12.50, 1.5, 0.1,
  '2026-01-02 03:04:05.678901', '2026-01-02 03:04:05.678901+02', '2026-01-02', '03:04:05.000001',
  '{"a": 1.5, "b": [1, null]}', '{"a": 2}', '{1,NULL,3}', '{a,NULL}', '{1.5,NULL}', '\\x00ff',
  '6a2f41a3-c54c-fce8-32d2-0324e1c32e22', NULL
), (2, NULL, NULL, NULL, NULL, 'NaN', NULL, 'Infinity', '-Infinity', NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, repeat('x', 10));
"""


def test_a_table_is_mirrored_row_by_row_and_type_by_type(
    lab: MirrorLab, database: PostgresConnection[Any]
) -> None:
    database.execute(TYPES)
    database.execute("ALTER TABLE every_type ALTER note SET STORAGE EXTERNAL")
    name = "every_type"
    with lab.captured(name) as capture, lab.mirrored(capture) as table:
        equals(table, database, name)
        database.execute("UPDATE every_type SET note = repeat('n', 9000) WHERE id = 1")
        database.execute("UPDATE every_type SET big = 7 WHERE id = 1")
        database.execute("UPDATE every_type SET id = 10 WHERE id = 1")
        database.execute("INSERT INTO every_type SELECT i FROM generate_series(20, 25) i")
        database.execute("DELETE FROM every_type WHERE id = 21")
        equals(table, database, name)
        database.execute("ALTER TABLE every_type ADD COLUMN extra int DEFAULT 5")
        database.execute("ALTER TABLE every_type RENAME COLUMN small TO tiny")
        database.execute("UPDATE every_type SET tiny = 4")
        equals(table, database, name)
        database.execute("TRUNCATE every_type")
        database.execute("INSERT INTO every_type SELECT i FROM generate_series(30, 33) i")
        equals(table, database, name)
        _resynced_when_empty(lab, capture, table)
        _removed_and_captured_again(lab, capture, table)
        config = repr(lab.worker.client.config(capture.table.connector))
        log = lab.worker.info.log_file.read_text()
        assert WORD not in config
        assert WORD not in log


def _resynced_when_empty(
    lab: MirrorLab, capture: Capture, table: Callable[[], dict[str, Any]]
) -> None:
    """Rows that went while nobody looked disappear, although the new snapshot sends no event."""
    capture.pause()
    with lab.postgres.connect() as database, Admin(lab.connection) as admin:
        capture._stop_connector()
        database.execute("SELECT pg_drop_replication_slot(%s)", (capture.table.slot,))
        database.execute("DELETE FROM every_type")
        assert table().keys() == {"30", "31", "32", "33"}
        capture.resync(admin)
        wait_until(lambda: not table(), "the mirror is empty", timeout=WAIT_S)
        wait_until(lambda: capture.slot() is not None, "the slot", timeout=WAIT_S)
        database.execute("INSERT INTO every_type (id) VALUES (40)")
        equals(table, database, "every_type")


def _removed_and_captured_again(
    lab: MirrorLab, capture: Capture, table: Callable[[], dict[str, Any]]
) -> None:
    """The rows of before disappear, although a snapshot of an empty table sends no event."""
    capture.remove()
    with lab.postgres.connect() as database, Admin(lab.connection) as admin:
        database.execute("DELETE FROM every_type")
        assert table().keys() == {"40"}
        capture.start(admin)
        wait_until(lambda: not table(), "the mirror is empty", timeout=WAIT_S)
        wait_until(lambda: capture.slot() is not None, "the slot", timeout=WAIT_S)
        database.execute("INSERT INTO every_type (id) VALUES (50)")
        equals(table, database, "every_type")


def test_one_command_mirrors_a_table_and_others_look_after_it(
    lab: MirrorLab, database: PostgresConnection[Any], spark: SparkSession
) -> None:
    database.execute("CREATE TABLE sales (id int PRIMARY KEY, status text, total numeric, x text)")
    database.execute("INSERT INTO sales SELECT i, 'paid', i + 0.50 FROM generate_series(1, 9) i")
    database.execute("UPDATE sales SET status = 'draft' WHERE id = 9")
    url = lab.postgres.url.replace("postgres@", f"postgres:{WORD.replace(' ', '%20')}@")
    home = Path(lab.worker.info.directory).parent
    cdc = CdcCommand(home, lab.connection.bootstrap_servers)
    wanted = "postgres", url, "--table", "public.sales", "--as", "paid-sales"
    shape = "--where", "status <> 'draft'", "--columns", "id, status, total"
    findings = cdc.json(*wanted, "--where", "stat = 'x'", "--check", exit_code=1)
    assert [each["severity"] for each in findings] == ["error", "warning"]
    assert 'column "stat" does not exist' in findings[0]["what"]

    def changed() -> None:
        wait_for_sales(lab, database)
        database.execute("UPDATE sales SET status = 'draft' WHERE id = 2")
        database.execute("UPDATE sales SET status = 'sent', total = 7 WHERE id = 9")
        wait_for_sales(lab, database)
        wait_for_version(lab, 1)

    lines = cdc.until(changed, *wanted, *shape)
    copying = [each for each in lines if each.get("phase") == "snapshot"]
    assert {each["rows_expected"] for each in copying} == {9}
    assert lines[-1]["stopped"] is True
    assert lines[-1]["slot"] == "lastword_paid_sales"
    assert cdc(*wanted).exit_code == 2, "a table with a filter cannot become one without"
    _paused_and_resumed(cdc, "paid-sales")
    database.execute("ALTER TABLE sales RENAME COLUMN x TO remark")
    (status,) = cdc.json("status", "paid-sales")
    (renamed,) = status["schema_changes"]
    assert (status["schema_version"], renamed["changes"]) == (2, ["renamed x to remark"])
    cdc.json("pause", "paid-sales")
    database.execute("DELETE FROM sales WHERE id = 3")  # an event that the new snapshot replaces
    cdc.json("resync", "paid-sales")

    part_of_up(home, lab, database, url)
    sales_are_removed(cdc, lab, database)
    assert WORD not in cdc.printed
    assert WORD.split(maxsplit=1)[0] not in cdc.printed


def _paused_and_resumed(cdc: CdcCommand, name: str) -> None:
    (status,) = cdc.json("status", name)
    assert (status["connector"], status["phase"]) == ("RUNNING", "streaming")
    assert status["slot_bytes"] >= status["lag_bytes"] >= 0
    assert status["last_event"] > 0
    cdc.json("pause", name)

    def paused() -> bool:
        found = json.loads(cdc("status", "--json").stdout)
        return (found["connector"], found["lag_seconds"]) == ("PAUSED", None)

    wait_until(paused, "it pauses, and its lag is not known", timeout=WAIT_S)
    cdc.json("resume", name)
    wait_until(lambda: cdc("status", name).exit_code == 0, "it runs again", timeout=WAIT_S)


def test_the_connector_may_run_on_a_connect_cluster_of_the_user(
    lab: MirrorLab, database: PostgresConnection[Any], tmp_path: Path
) -> None:
    """All that is known of it is its URL; the password is with its config provider."""
    database.execute("CREATE TABLE parcels (id int PRIMARY KEY); INSERT INTO parcels VALUES (1)")
    cdc = CdcCommand(tmp_path / "home", lab.connection.bootstrap_servers)
    url = lab.postgres.url.replace("postgres@", f"postgres:{WORD.replace(' ', '%20')}@")
    wanted = "postgres", url, "--table", "parcels", "--connect", lab.worker.url
    assert "--password-reference" in cdc(*wanted).output
    assert lab.worker.client.config("cdc-parcels") is None
    secret = keep_secret(lab.worker.info.secrets, "parcels-of-the-user", WORD)

    def mirrored() -> bool:
        topics = has_topic(lab.connection, "parcels")
        return topics and rows_of(lab.connection, "parcels") == selected(database, "parcels")

    def changed() -> None:
        wait_until(mirrored, "the copy of the rows", timeout=WAIT_S)
        database.execute("INSERT INTO parcels SELECT max(id) + 1 FROM parcels")
        wait_until(mirrored, "the row that was added", timeout=WAIT_S)

    cdc.until(changed, *wanted, "--password-reference", secret)
    config = lab.worker.client.config("cdc-parcels") or {}
    assert config["database.password"] == secret
    _paused_and_resumed(cdc, "parcels")
    (removed,) = cdc.json("remove", "parcels", "--yes")
    assert cdc.json("status") == []
    for topic in removed["topics"]:  # as it says
        cdc.json("delete", topic, "--yes", command="topic")
    database.execute("DELETE FROM parcels WHERE id = 1")
    cdc.until(changed, *wanted, "--password-reference", secret)
    cdc.json("remove", "parcels", "--yes")
    assert lab.worker.client.config("cdc-parcels") is None
    publications = "SELECT 1 FROM pg_publication WHERE pubname = 'lastword_parcels'"
    assert database.execute(publications).fetchall() == []
    logged = lab.worker.info.log_file.read_text()
    assert WORD not in f"{cdc.printed}{logged}"
    assert WORD.replace(" ", "%20") not in f"{cdc.printed}{logged}"


def test_an_outbox_becomes_topics_of_events_in_the_order_of_each_aggregate(
    lab: MirrorLab, database: PostgresConnection[Any]
) -> None:
    outbox = example("outbox")
    database.execute(outbox.TABLES)
    outbox.place_order(database, 1, "alice")  # before the capture: its row is deleted already
    # As on a Connect cluster of the user: all that is known of it is its URL.
    secret = keep_secret(lab.worker.info.secrets, "shop", WORD)
    with lab.captured("outbox", secret) as capture, lab.running(outbox.app, capture) as check:
        config = lab.worker.client.config(capture.table.connector) or {}
        assert config["database.password"] == secret
        wait_until(lambda: capture.slot() is not None, "the slot", timeout=WAIT_S)
        for order in (2, 3):
            outbox.place_order(database, order, "bob")
            outbox.pay_order(database, order)
        with pytest.raises(RuntimeError), database.transaction():
            outbox.publish(database, ("order", "4"), "OrderPlaced", {})
            raise RuntimeError
        outbox.place_order(database, 5, "carol")

        def of_carol() -> bool:
            check()
            return "carol" in published(lab.connection, "customer")

        wait_until(of_carol, "the last event", timeout=WAIT_S)
    assert published(lab.connection, "order") == {
        "2": [("OrderPlaced", {"customer": "bob"}), ("OrderPaid", {})],
        "3": [("OrderPlaced", {"customer": "bob"}), ("OrderPaid", {})],
        "5": [("OrderPlaced", {"customer": "carol"})],
    }
    assert published(lab.connection, "customer")["bob"] == [
        ("OrderCounted", {"order": n}) for n in (2, 3)
    ]
    outbox.app.create_topics(lab.connection)  # what is there already is right
    lossy = Pipeline("lossy")
    lossy.stream(capture.table.topic).to_topic(CATALOG_TOPIC)
    with pytest.raises(TopicUnfitError, match="is compacted"):
        lossy.create_topics(lab.connection)


def test_a_reader_joins_two_tables_by_the_transaction_that_changed_them(
    lab: MirrorLab, database: PostgresConnection[Any]
) -> None:
    """Also with a filter, other columns and another key, whose records name it as well."""
    found, ids = basket_transactions(lab, database)
    first, _, both, _, last = ids
    assert {name: [change.key for change in found[first][name]] for name in TABLES[:2]} == {
        "baskets": ["1"],
        "basket-items": ["11", "12"],
    }
    assert [change.row and change.row["total"] for change in found[both]["baskets"]] == [1, 0]
    assert [change[:2] for change in found[both]["basket-items"]] == [("12", None)]
    before = [found[both][name][0].commit for name in TABLES[:2]]
    assert before[0] < before[1], "each connector knows the commits of its own table only"
    moved = [(change.key, change.row is None) for change in found[last]["baskets-by-customer"]]
    assert moved == [("bob", True), ("cyd", False)]
    assert rows_of(lab.connection, "filled-baskets") == {"2": {"customer": "cyd"}}
    assert rows_of(lab.connection, "baskets-by-customer").keys() == {"old", "ann", "cyd"}
    assert found.keys() == {"", *ids}
