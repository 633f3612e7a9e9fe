"""Announces a new snapshot in the topic of changes, before the connector takes it.

The connector sends the rows that it finds. Of an empty table it sends nothing at all, and whoever
reads the changes would keep the rows of the time before.
"""

from __future__ import annotations

import msgspec

from lastword.cdc.change import Operation
from lastword.cdc.postgres.database import Session
from lastword.cdc.postgres.names import SourceTable
from lastword.clock import SYSTEM_CLOCK
from lastword.errors import LastwordError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import RecordProducer
from lastword.records import Write

_BATCH_BYTES = 1 << 16
_TIMEOUT_S = 30.0


def announce_snapshot(connection: Connection, session: Session, table: SourceTable) -> None:
    """Write a TRUNCATE that belongs to a snapshot: rows that the snapshot does not find are gone.

    The connector must be stopped: its events of before come first. If the table is empty by now,
    the snapshot is over with this event.
    """
    producer = RecordProducer(
        connection, table.topic, batch_bytes=_BATCH_BYTES, timeout_s=_TIMEOUT_S
    )
    try:
        (delivery,) = producer.send([Write(b"{}", _event(session, table))])
    finally:
        producer.close()
    if isinstance(delivery, LastwordError):
        raise delivery


def _event(session: Session, table: SourceTable) -> bytes:
    position = session.value("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
    has_rows = session.value(f"SELECT EXISTS (SELECT FROM {table.sql})")  # noqa: S608
    source = {
        "connector": "postgresql",
        "snapshot": "first" if has_rows else "last",
        "schema": table.schema,
        "table": table.table,
        "ts_ms": SYSTEM_CLOCK.now_ms(),
        "lsn": position,
    }
    return msgspec.json.encode({"op": Operation.TRUNCATE, "source": source})
