"""Rule 10: the second process on a state directory gets an error that names the first."""

from __future__ import annotations

import os

import pytest

from lastword.errors import StoreLockedError
from lastword.records import Position
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.table_process import TableProcesses
from tests.support.local_tables.tables import Tables


def test_a_second_process_is_refused_with_the_holder_of_the_directory(
    topic: RealTopic, processes: TableProcesses, tables: Tables
) -> None:
    holder = processes.start(topic.name, store="rocksdb")
    holder.wait_for("ready")
    with pytest.raises(StoreLockedError, match=rf"in use by process {holder.pid} on ") as refused:
        tables.open(topic.name, store="rocksdb", **RAW)
    assert refused.value.retriable
    assert refused.value.hint is not None
    assert "--state-dir" in refused.value.hint
    topic.produce((b"key", b"1"))
    holder.kill()
    # Killed, it has let go of the directory, and the same call succeeds.
    with tables.make(topic.name, store="rocksdb", **RAW) as table:
        assert table[b"key"] == b"1"


def test_a_second_table_of_the_same_process_is_refused_too(
    topic: RealTopic, tables: Tables
) -> None:
    first = tables.open(topic.name, store="rocksdb", **RAW)
    with pytest.raises(StoreLockedError, match=f"in use by process {os.getpid()} "):
        tables.open(topic.name, store="rocksdb", **RAW)
    first.put(b"key", b"1")
    assert first[b"key"] == b"1"


def test_tables_with_names_of_their_own_share_a_state_directory_and_a_topic(
    topic: RealTopic, tables: Tables
) -> None:
    first = tables.open(topic.name, name="first", store="rocksdb", **RAW)
    second = tables.open(topic.name, name="second", store="rocksdb", **RAW)
    version = first.put(b"key", b"1")
    answer = second.query.get(b"key", at_least=Position.after(version)).value
    assert answer is not None
    assert answer.value == b"1"
