"""A snapshot that was taken with the wrong key codec filled tables with a third of their rows.

The end of a windowed key does not decide its partition. A job run without ``--window`` considers
most records misplaced and drops them. Nothing in the snapshot, or in the checkpoint of a local
store, recorded that. Both now store which part of a key decides its partition.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from lastword.codecs import WindowedKey, windowed
from lastword.kafka.connection import Connection
from lastword.snapshots.catalog.location import Location
from lastword.table.table import Table
from tests.support.local_tables.real_topic import MakeTopic, RealTopic
from tests.support.local_tables.tables import Tables
from tests.support.on_spark.snapshots import take_without_spark

ROWS = 60
MINUTE_MS = 60_000
WINDOWS = {"key": windowed("string", MINUTE_MS), "value": "bytes"}
WHOLE_KEYS = {"key": "bytes", "value": "bytes"}


@pytest.fixture
def topic(make_topic: MakeTopic, tables: Tables) -> RealTopic:
    """Three partitions with the windows of many keys."""
    made = make_topic(3)
    with tables.make(made.name, **WINDOWS) as table:
        table.put_many({WindowedKey(f"k{n}", MINUTE_MS): b"%d" % n for n in range(ROWS)})
    return made


@pytest.fixture
def location(topic: RealTopic, tmp_path: Path) -> Location:
    return Location(str(tmp_path / "snapshots"), topic.name)


def starts(table: Table) -> set[int]:
    return {progress.start for progress in table.progress()}


# An older version wrote no number: what it was is known by the codec's name, or not at all.
@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({}, "taken with bytes keys"),
        ({"key_suffix_bytes": None}, "taken with bytes keys"),
        ({"key_suffix_bytes": None, "key_codec": "my own"}, "does not say which part"),
    ],
)
def test_a_table_starts_from_its_log_instead(
    *,
    connection: Connection,
    topic: RealTopic,
    location: Location,
    tables: Tables,
    metadata: dict[str, Any],
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    take_without_spark(connection, location, **metadata)
    caplog.set_level(logging.INFO)

    table = tables.open(topic.name, **WINDOWS, snapshots=location.root)

    assert len(table) == ROWS
    assert starts(table) == {0}
    assert reason in caplog.text


def test_a_past_state_is_not_built_on_it(
    connection: Connection, topic: RealTopic, location: Location, tables: Tables
) -> None:
    metadata = take_without_spark(connection, location)
    table = tables.open(topic.name, **WINDOWS, snapshots=location.root)

    assert len(table.as_of(metadata.captured_at_ms)) == ROWS


@pytest.mark.parametrize("metadata", [{}, {"key_suffix_bytes": None}])
def test_a_snapshot_with_the_same_keys_is_used_even_if_it_is_older(
    connection: Connection,
    topic: RealTopic,
    location: Location,
    tables: Tables,
    metadata: dict[str, Any],
) -> None:
    take_without_spark(connection, location, key=WINDOWS["key"], **metadata)

    table = tables.open(topic.name, **WINDOWS, snapshots=location.root)

    assert len(table) == ROWS
    assert 0 not in starts(table)


def test_a_store_that_was_written_with_other_keys_is_rebuilt(
    topic: RealTopic, tables: Tables
) -> None:
    with tables.make(topic.name, **WHOLE_KEYS, store="rocksdb") as mistaken:
        assert len(mistaken) < ROWS

    table = tables.open(topic.name, **WINDOWS, store="rocksdb")

    assert len(table) == ROWS
