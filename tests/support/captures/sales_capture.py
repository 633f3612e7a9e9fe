"""The capture of a table of sales, as other processes see it."""

from __future__ import annotations

import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from psycopg import Connection as PostgresConnection
from psycopg.rows import dict_row

from lastword.catalog.catalog import read_catalog
from lastword.kafka.admin import Admin
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.testing.waiting import wait_until
from tests.support.captures.cdc_command import CdcCommand
from tests.support.captures.cdc_lab import WAIT_S, WORD
from tests.support.captures.mirror_lab import MirrorLab, has_topic, rows_of
from tests.support.served.up_process import Up

UP = """
[tables.paid-sales]
mount = "/sales"
[cdc.paid-sales]
url = "{url}"
table = "public.sales"
where = "status <> 'draft'"
columns = "id, status, total"
"""


def part_of_up(home: Path, lab: MirrorLab, database: PostgresConnection[Any], url: str) -> None:
    """``lastword up`` goes on with the capture, serves its table and shows how it is doing."""
    settings = home / "lastword.toml"
    settings.write_text(UP.format(url=url))
    running = 'lastword_cdc_running{capture="paid-sales",source="public.sales"} 1'
    with closing(Up(home, LASTWORD_BOOTSTRAP_SERVERS=lab.connection.bootstrap_servers)) as up:
        assert up.next_with("capture")["capture"] == "paid-sales"
        wait_for_sales(lab, database)
        wait_for_version(lab, 2)
        with httpx.Client(base_url=up.service, timeout=WAIT_S) as client:
            wait_until(lambda: running in client.get("/metrics").text, "it runs", timeout=WAIT_S)
            wait_until(lambda: client.get("/sales/3").status_code == 404, "3", timeout=WAIT_S)
            assert client.get("/sales/9").json()["status"] == "sent"
            (capture,) = client.get("/captures").json()["captures"]
            assert (capture["connector"], capture["schema_version"]) == ("RUNNING", 2)
            assert WORD not in client.get("/captures").text
        status, problems = up.stop(signal.SIGINT)
    assert (status, WORD in problems) == (0, False), problems
    settings.unlink()


def wait_for_sales(lab: MirrorLab, database: PostgresConnection[Any]) -> None:
    """The table has what the filter and the columns leave of the rows."""
    cursor = database.cursor(row_factory=dict_row)
    cursor.execute("SELECT id, status, total FROM sales WHERE status <> 'draft'")
    rows = {str(row["id"]): row for row in cursor}
    wait_until(
        lambda: (
            has_topic(lab.connection, "paid-sales")
            and rows_of(lab.connection, "paid-sales") == rows
        ),
        f"the table has {sorted(rows)}",
        timeout=WAIT_S,
    )


def wait_for_version(lab: MirrorLab, version: int) -> None:
    """The catalog has this version of the columns."""

    def recorded() -> bool:
        with Admin(lab.connection) as admin:
            schema = read_catalog(admin, KafkaLog(lab.connection))["paid-sales"].row_schema
        return schema is not None and schema.version == version

    wait_until(recorded, f"version {version} of the columns is recorded", timeout=WAIT_S)


def sales_are_removed(cdc: CdcCommand, lab: MirrorLab, database: PostgresConnection[Any]) -> None:
    """The command leaves nothing in the database and in Connect, and names what stays."""
    assert cdc("remove", "paid-sales").exit_code == 2, "there is no terminal to ask on"
    (answer,) = cdc.json("remove", "paid-sales", "--yes")
    assert answer["topics"] == [
        "cdc-paid-sales.public.sales",
        "paid-sales",
        "cdc-paid-sales-paid-sales-rows-changelog",
        "cdc-paid-sales-paid-sales-rows-marks-changelog",
        "cdc-paid-sales-quarantine",
        "cdc-paid-sales-control",
        "__debezium-heartbeat.cdc-paid-sales",
    ]
    assert (answer["group"], answer["subject"]) == ("cdc-paid-sales", None)
    assert Path(answer["state"]).is_dir()
    slots = "SELECT 1 FROM pg_replication_slots WHERE slot_name = 'lastword_paid_sales'"
    assert database.execute(slots).fetchall() == []
    publications = "SELECT 1 FROM pg_publication WHERE pubname = 'lastword_paid_sales'"
    assert database.execute(publications).fetchall() == []
    assert "cdc-paid-sales" not in lab.worker.client.connectors()
    assert cdc.json("status") == []
