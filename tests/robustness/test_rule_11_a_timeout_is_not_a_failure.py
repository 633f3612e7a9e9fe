"""Rule 11: a write whose outcome is unknown is reported as exactly that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lastword.broker.embedded import EmbeddedBroker
from lastword.errors import IndeterminateError, NotUpToPositionError
from lastword.table.table import Table
from lastword.table.writing import writers
from lastword.testing import wait_until
from tests.support.local_tables.real_topic import RAW, RealTopic
from tests.support.local_tables.stores import GatedStore
from tests.support.local_tables.tables import Tables


@contextmanager
def silent(broker: EmbeddedBroker) -> Iterator[None]:
    """Connections stay open and nothing is answered, as when a broker hangs."""
    broker.pause()
    try:
        yield
    finally:
        broker.resume()


@pytest.fixture
def table(topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table whose writes wait for an answer two and a half seconds."""
    monkeypatch.setattr(writers, "WRITE_TIMEOUT_S", 2.5)
    table = tables.open(topic.name, **RAW)
    table.put(b"before", b"0")
    return table


def test_a_put_without_an_answer_is_indeterminate_and_the_table_stays_true_to_the_log(
    broker: EmbeddedBroker, topic: RealTopic, table: Table
) -> None:
    with silent(broker), pytest.raises(IndeterminateError, match="may or may not") as unknown:
        table.put(b"key", b"1")
    assert unknown.value.hint is not None
    # Writing the same again settles it, as the hint says.
    wait_until(lambda: settled(table), "the broker takes writes again")
    wait_until(lambda: table.position().offsets[0] >= topic.end(), "the table has caught up")
    assert dict(table.items()) == topic.fold() == {b"before": b"0", b"key": b"1"}


def settled(table: Table) -> bool:
    try:
        table.put(b"key", b"1")
    except IndeterminateError:
        return False
    return True


def test_every_record_of_a_batch_without_an_answer_is_indeterminate(
    broker: EmbeddedBroker, topic: RealTopic, table: Table
) -> None:
    with silent(broker):
        outcomes = table.put_many({b"a": b"1", b"b": b"2"})
    assert [outcome.status for outcome in outcomes] == ["indeterminate"] * 2
    assert all(isinstance(outcome.error, IndeterminateError) for outcome in outcomes)
    wait_until(lambda: settled(table), "the broker takes writes again")
    wait_until(lambda: table.position().offsets[0] >= topic.end(), "the table has caught up")
    assert dict(table.items()) == topic.fold()


def test_a_write_that_was_acknowledged_but_not_read_back_says_both(
    topic: RealTopic, tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "APPLY_TIMEOUT_S", 0.3)
    store = GatedStore()
    store.gate.set()
    table = tables.open(topic.name, store=store, **RAW)
    store.gate.clear()
    try:
        (outcome,) = table.put_many({b"key": b"1"})
        assert (outcome.status, outcome.version) == ("unread", (0, 0))
        with pytest.raises(NotUpToPositionError):
            table.put(b"key", b"2")
    finally:
        store.gate.set()
    assert topic.fold() == {b"key": b"2"}
    wait_until(lambda: table.get(b"key") == b"2", "it is applied in the end")
