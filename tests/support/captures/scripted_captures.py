"""Captures whose status a test decides."""

from __future__ import annotations

from typing import cast

from lastword.cdc.postgres.capture import SlotState
from lastword.cdc.postgres.capture_monitor import CaptureMonitor
from lastword.cdc.postgres.capture_status import CaptureInspector, CapturePhase, CaptureStatus
from lastword.codecs.row_schema import RowSchema, SchemaChange, SourceColumn


class ScriptedInspector:
    """Gives one status again and again."""

    def __init__(self, status: CaptureStatus) -> None:
        self.current = status
        self.opened = 0
        self.closed = 0

    def open(self) -> CaptureInspector:
        self.opened += 1
        return cast("CaptureInspector", self)

    def status(self) -> CaptureStatus:
        return self.current

    def close(self) -> None:
        self.closed += 1


def streaming(
    name: str = "orders", held_bytes: int = 20, *, lost: bool = False, column: str = "total"
) -> CaptureStatus:
    """A capture that is well, unless its slot holds back the log."""
    columns = (SourceColumn("id", "integer", 1), SourceColumn(column, "numeric(12,2)", 3))
    return CaptureStatus(
        name,
        "db:5432/shop",
        "public.orders",
        connector="RUNNING",
        phase=CapturePhase.STREAMING,
        slot=SlotState(active=True, lag_bytes=10, held_bytes=held_bytes, lost=lost),
        events_behind=3,
        lag_seconds=1.5,
        last_event_ms=2500,
        schema=RowSchema(
            2, 7, columns, (SchemaChange(2, 2000, (f"added {column} numeric(12,2)",)),)
        ),
    )


def looking_at(inspector: ScriptedInspector) -> CaptureMonitor:
    """A monitor of what a test may change."""
    at = inspector.current
    unknown = CaptureStatus(at.name, at.place, at.table)
    return CaptureMonitor(inspector.open, unknown, every_s=0.05)
