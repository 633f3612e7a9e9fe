"""A fence record is in the log of a table, and never one of its rows."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from lastword.cli.main import lastword
from lastword.errors import InvalidRecordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.fenced import FenceRecord, encode_fence
from lastword.records import FENCE_KEY, Position
from lastword.topics.survey import survey_topic
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.local_tables.watching import take

PARTITIONS = range(3)
ROWS = {b"user-%d" % n: b"1" for n in range(30)}


def put_fences(connection: Connection, topic: str, plan: int) -> None:
    """As owners do at a take-over."""
    value = encode_fence(FenceRecord("instance-1", plan, producer_id=7, epoch=plan))
    for partition in PARTITIONS:
        RealTopic(connection, topic).produce((FENCE_KEY, value), partition=partition)


@pytest.fixture
def owned(connection: Connection, topic: str, tables: Tables) -> str:
    """A topic with a fence record before and after the rows of each partition."""
    put_fences(connection, topic, plan=1)
    tables.open(topic, store="memory", **RAW).put_many(ROWS)
    put_fences(connection, topic, plan=2)
    return topic


@pytest.mark.parametrize("options", [{}, {"versions": 3}], ids=["latest", "versions"])
def test_a_table_has_the_rows_of_users_only(
    owned: str, tables: Tables, store: str, options: dict[str, int]
) -> None:
    table = tables.open(owned, store=store, **RAW, **options)
    assert dict(table.items()) == ROWS
    assert (len(table), FENCE_KEY in table, table.get(FENCE_KEY)) == (len(ROWS), False, None)
    put_fences(tables.connection, owned, plan=3)
    table.put_many(dict.fromkeys(ROWS, b"2"))
    assert dict(table.items()) == dict.fromkeys(ROWS, b"2")
    assert table.metrics.counter("misplaced_records_total").value == 0


def test_a_watch_does_not_see_it(owned: str, tables: Tables) -> None:
    table = tables.open(owned, store="memory", **RAW)
    start = Position(dict.fromkeys(PARTITIONS, 0), table.position().topic_id)
    with table.watch(start) as watch:
        changes = take(watch, len(ROWS))
        put_fences(tables.connection, owned, plan=3)
        table.put(b"last", b"1")
        changes += take(watch, 1)
    assert {change.key for change in changes} == {*ROWS, b"last"}


def test_a_past_state_does_not_have_it(owned: str, tables: Tables) -> None:
    table = tables.open(owned, store="memory", **RAW)
    assert dict(table.as_of(table.position()).items()) == ROWS


def test_no_user_can_write_its_key(owned: str, tables: Tables) -> None:
    table = tables.open(owned, store="memory", **RAW)
    for refused in (lambda: table.put(FENCE_KEY, b"1"), lambda: table.delete(FENCE_KEY)):
        with pytest.raises(InvalidRecordError, match="reserved"):
            refused()


def test_a_survey_does_not_call_it_misplaced(
    owned: str, connection: Connection, admin: Admin
) -> None:
    found = survey_topic(admin, KafkaLog(connection), owned)
    assert (found.split, found.misplaced) == (0, 0)
    assert sum(contents.live_keys for contents in found.contents.values()) == len(ROWS)


def test_the_log_shows_what_it_says(owned: str, connection: Connection) -> None:
    environ = {"LASTWORD_BOOTSTRAP_SERVERS": connection.bootstrap_servers}
    shown = CliRunner().invoke(lastword, ["log", owned, "--partition", "1"], env=environ)
    assert shown.output.count("(fence)") == 2
    assert '"instance":"instance-1"' in shown.output
    lines = CliRunner().invoke(lastword, ["log", owned, "--partition", "1", "--json"], env=environ)
    fences = [
        record["fence"]
        for record in map(json.loads, lines.stdout.splitlines())
        if "fence" in record
    ]
    assert [(fence["plan"], fence["released"]) for fence in fences] == [(1, False), (2, False)]
