"""A state listener that wrote stopped its table for half a minute.

It was called on the tailing thread, and waited there for a record that only this thread could
apply. It has a separate thread now.
"""

from __future__ import annotations

import pytest

from lastword.table.table_state import TableState
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.tables import Tables


def test_a_write_of_a_listener_is_readable_when_it_returns(
    tables: Tables, topic: RealTopic
) -> None:
    read: list[bytes] = []

    def on_state(_old: TableState, new: TableState) -> None:
        if new is TableState.RUNNING:
            table.put(b"a", b"1")
            read.append(table[b"a"])

    table = tables.make(topic.name, on_state=on_state, **RAW)
    table.start()

    wait_until(lambda: read, "the listener has written")
    assert read == [b"1"]


def test_a_listener_may_close_the_table(tables: Tables, topic: RealTopic) -> None:
    heard: list[TableState] = []

    def on_state(_old: TableState, new: TableState) -> None:
        heard.append(new)
        if new is TableState.RUNNING:
            table.close()

    table = tables.make(topic.name, on_state=on_state, **RAW)
    table.start()

    wait_until(lambda: TableState.STOPPED in heard, "the listener has heard that it is closed")
    assert table.state is TableState.STOPPED


def test_a_listener_that_fails_still_gets_the_next_change(
    tables: Tables, topic: RealTopic, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[TableState] = []

    def on_state(_old: TableState, new: TableState) -> None:
        heard.append(new)
        raise RuntimeError("no")

    with tables.make(topic.name, on_state=on_state, **RAW) as table:
        table.put(b"a", b"1")

    assert heard[-1] is TableState.STOPPED
    assert "the state listener failed" in caplog.text
