"""How a capture is doing, with a real topic of changes and a connector that a test decides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from lastword.cdc.postgres.capture import Capture, SlotState
from lastword.cdc.postgres.capture_status import CaptureInspector, CaptureStatus
from lastword.cdc.postgres.names import SourceTable
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import RecordProducer
from lastword.records import Write
from lastword.testing.fake_clock import FakeClock
from tests.support.captures.recorded_changes import recorded

CONNECTED = SlotState(active=True, lag_bytes=4096, held_bytes=8192, lost=False)
EVENT = recorded("orders")[10]
COMMITTED_MS = EVENT.payload["source"]["ts_ms"]


@dataclass
class DecidedCapture:
    """What Connect and the database say of it."""

    table: SourceTable
    state: tuple[str | None, str | None] = ("RUNNING", None)
    slot: SlotState | None = CONNECTED
    place: str = "db:5432/shop"

    def connector_state(self) -> tuple[str | None, str | None]:
        return self.state

    def offsets(self) -> list[dict[str, Any]]:
        return [{"lsn": 1}]

    def slot_and_columns(self) -> tuple[SlotState | None, None]:
        return self.slot, None


@pytest.fixture
def capture(admin: Admin, topic_name: str) -> Iterator[DecidedCapture]:
    table = SourceTable.parse("public.orders", name=f"capture-{topic_name[-8:]}")
    admin.create(table.topic, partitions=1, replication=1, settings={"cleanup.policy": "delete"})
    yield DecidedCapture(table)
    admin.delete(table.topic)


def status_of(capture: DecidedCapture, connection: Connection) -> CaptureStatus:
    clock = FakeClock(now_ms=COMMITTED_MS + 30_000)
    given = cast("Capture", capture)
    with closing(CaptureInspector(given, connection, clock=clock)) as inspector:
        return inspector.status()


def test_the_lag_counts_from_the_commit_in_the_database(
    capture: DecidedCapture, connection: Connection
) -> None:
    producer = RecordProducer(connection, capture.table.topic, batch_bytes=1 << 16, timeout_s=180.0)
    with closing(producer):
        producer.send([Write(EVENT.key or b"", EVENT.value)])
    for state in ("RUNNING", "PAUSED"):
        capture.state = state, None
        status = status_of(capture, connection)
        assert (status.events_behind, status.lag_seconds) == (1, 30.0)


def test_the_lag_is_zero_only_while_the_connector_delivers(
    capture: DecidedCapture, connection: Connection
) -> None:
    status = status_of(capture, connection)
    assert (status.events_behind, status.lag_seconds) == (0, 0.0)
    for state, slot in (
        (("PAUSED", None), CONNECTED),
        (("RUNNING", "the password is wrong"), CONNECTED),
        ((None, None), CONNECTED),
        (("RUNNING", None), replace(CONNECTED, active=False)),
        (("RUNNING", None), None),
    ):
        capture.state, capture.slot = state, slot
        status = status_of(capture, connection)
        assert (status.events_behind, status.lag_seconds) == (0, None), (state, slot)
