"""The status of a capture as a JSON object: for commands, and for the service."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from lastword.cdc.postgres.capture_status import CapturePhase, CaptureStatus
from lastword.codecs.row_schema import RowSchema, SchemaChange

Milliseconds = Annotated[int, Meta(description="Unix time in milliseconds")]


class CapturedColumn(Struct):
    """A column, with its type as the database writes it."""

    name: str
    type: str


class CaptureDocument(Struct):
    """One capture; null for what is not known."""

    capture: Annotated[str, Meta(description="its name, and that of the table")]
    source: Annotated[str, Meta(description="host, port and name of the database")]
    table: Annotated[str, Meta(description="schema and name in the database")]
    connector: Annotated[
        str | None, Meta(description="the state of the connector, as RUNNING; null: there is none")
    ]
    failure: Annotated[str | None, Meta(description="why the connector failed")]
    phase: CapturePhase
    lag_bytes: Annotated[
        int | None, Meta(description="of the database's log, not confirmed by the connector")
    ]
    lag_seconds: Annotated[
        float | None,
        Meta(
            description="since the database committed the oldest change that the table lacks; "
            "null while the connector delivers nothing"
        ),
    ]
    events_behind: Annotated[
        int | None, Meta(description="events of Kafka that the table does not have yet")
    ]
    last_event: Milliseconds | None
    slot_bytes: Annotated[
        int | None, Meta(description="of its log, kept by the database for this capture")
    ]
    slot_active: bool | None
    slot_lost: Annotated[
        bool | None, Meta(description="whether the database has invalidated the slot")
    ]
    slot_alert: Annotated[
        bool, Meta(description="whether the slot is lost, or keeps more than 1 GiB")
    ]
    problems: Annotated[list[str], Meta(description="who could not be asked, and why")]
    schema_version: int | None
    columns: list[CapturedColumn]
    schema_changes: Annotated[
        list[SchemaChange], Meta(description="changes of the columns, the newest first")
    ]


def document_of(status: CaptureStatus) -> CaptureDocument:
    """The status as a document."""
    slot, schema = status.slot, status.schema
    return CaptureDocument(
        capture=status.name,
        source=status.place,
        table=status.table,
        connector=status.connector,
        failure=status.failure,
        phase=status.phase,
        lag_bytes=None if slot is None else slot.lag_bytes,
        lag_seconds=status.lag_seconds,
        events_behind=status.events_behind,
        last_event=status.last_event_ms,
        slot_bytes=None if slot is None else slot.held_bytes,
        slot_active=None if slot is None else slot.active,
        slot_lost=None if slot is None else slot.lost,
        slot_alert=status.holds_back,
        problems=list(status.problems),
        schema_version=None if schema is None else schema.version,
        columns=_columns(schema),
        schema_changes=[] if schema is None else list(reversed(schema.history)),
    )


def _columns(schema: RowSchema | None) -> list[CapturedColumn]:
    found = () if schema is None else schema.columns
    return [CapturedColumn(each.name, each.type) for each in found]
