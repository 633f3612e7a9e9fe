"""One record stopped every table of its topic.

The client raises SystemError for headers with a name that is not UTF-8. The tailing thread died
of it, at every open, and so did everything else that reads a log. The record is kept now, without
its headers, and counted.
"""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from lastword.cli.main import lastword as command_line
from lastword.kafka.connection import Connection
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables, read_raw
from tests.support.shared_tables.wire import RawName, RawRecord, produce_raw

HEADERS = (("trace", b"42"),)
RECORDS = [
    RawRecord(b"before", b"1", HEADERS),
    RawRecord(b"odd", b"2", [("trace", b"43"), (RawName(b"\xff\xfe"), b"x")]),
    RawRecord(b"after", b"3", HEADERS),
]
ROWS = {b"before": b"1", b"odd": b"2", b"after": b"3"}


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_a_table_restores_it_and_counts_it(
    tables: Tables, connection: Connection, topic: RealTopic, store: str
) -> None:
    produce_raw(connection, topic.name, RECORDS)

    table = tables.open(topic.name, store=store, **RAW)

    assert dict(table.items()) == ROWS
    entries = [table.entry(record.key) for record in RECORDS]
    assert [entry.headers for entry in entries if entry] == [HEADERS, (), HEADERS]
    assert table.metrics.counter("unreadable_headers_total").value == 1


def test_a_running_table_and_its_watchers_take_it(
    tables: Tables, connection: Connection, topic: RealTopic
) -> None:
    table = tables.open(topic.name, **RAW)
    with table.watch() as watch:
        produce_raw(connection, topic.name, RECORDS)

        wait_until(lambda: len(table) == len(RECORDS), "the records are applied")

        changes = [watch.take(10) for _ in RECORDS]
    assert [change.key for change in changes if change] == list(ROWS)


def test_the_log_shows_it(connection: Connection, topic: RealTopic) -> None:
    produce_raw(connection, topic.name, RECORDS)

    assert [record.key for record in read_raw(connection, topic.name)] == list(ROWS)

    servers = ("--bootstrap-servers", connection.bootstrap_servers)
    shown = CliRunner().invoke(command_line, ["log", topic.name, *servers])
    assert shown.exit_code == 0
    assert "0:1 has headers that are not shown" in shown.output
