"""How a capture is doing: asked of the database, of Kafka Connect and of Kafka."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lastword.cdc.envelope import ChangeCodec
from lastword.cdc.postgres.capture import Capture, SlotState
from lastword.cdc.postgres.recorded_schema import RecordedSchema
from lastword.clock import SYSTEM_CLOCK, Clock
from lastword.codecs.row_schema import RowSchema, SourceColumns
from lastword.errors import DecodeError, LastwordError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.groups import Groups
from lastword.kafka.groups.names import pipeline_group
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.records import Batch, TopicPartition

log = logging.getLogger(__name__)

HELD_BYTES_MAX = 1 << 30
"""How much of its log a database may keep for a capture before that is worth an alert."""
_STALL_SECONDS = 10.0


class CapturePhase(StrEnum):
    """What the connector does now, by its own account."""

    STARTING = "starting"
    SNAPSHOT = "snapshot"
    STREAMING = "streaming"


@dataclass(frozen=True)
class CaptureStatus:
    """One capture at one moment; None for what is not known.

    connector       the state of the connector, as RUNNING or PAUSED; None when there is none
    failure         why the connector failed
    slot            the replication slot; None when there is none
    events_behind   about how many change events of Kafka the table does not have yet
    lag_seconds     how long ago the database committed the oldest of them; 0 when there is none
                    and the connector delivers, None when the database may have changes that no
                    connector has read
    last_event_ms   when the last change event was written
    schema          the columns of the table, with the version that they have
    problems        who could not be asked, and why
    """

    name: str
    place: str
    table: str
    connector: str | None = None
    failure: str | None = None
    phase: CapturePhase = CapturePhase.STARTING
    slot: SlotState | None = None
    events_behind: int | None = None
    lag_seconds: float | None = None
    last_event_ms: int | None = None
    schema: RowSchema | None = None
    problems: tuple[str, ...] = field(default=())

    @property
    def holds_back(self) -> bool:
        """Whether the database keeps too much of its log for it, or has given up on it."""
        return self.slot is not None and (self.slot.lost or self.slot.held_bytes > HELD_BYTES_MAX)

    @property
    def runs(self) -> bool:
        """Whether the connector runs and has not failed."""
        return self.connector == "RUNNING" and self.failure is None

    @property
    def is_well(self) -> bool:
        """Whether all could be asked, the connector runs, and the slot is there."""
        return self.runs and self.slot is not None and not self.holds_back and not self.problems


class CaptureInspector:
    """Asks for the status of one capture as often as needed; one thread uses it."""

    def __init__(
        self,
        capture: Capture,
        connection: Connection,
        recorded: RecordedSchema | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._capture = capture
        self._recorded = recorded or RecordedSchema(connection, capture.table.name)
        self._topic = capture.table.topic
        self._admin = Admin(connection)
        self._groups = Groups(connection)
        self._log = KafkaLog(connection)
        self._clock = clock
        self._without_events: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connections."""
        self._groups.close()
        self._admin.close()

    def status(self) -> CaptureStatus:
        """The status as of now; what cannot be asked is among its problems."""
        table = self._capture.table
        found: dict[str, object] = {"name": table.name, "table": str(table)}
        found["place"] = self._capture.place
        problems = []
        questions: tuple[Callable[[], dict[str, object]], ...] = (
            self._of_connect,
            self._of_database,
            self._of_kafka,
        )
        for ask in questions:
            try:
                found |= ask()
            except LastwordError as error:
                problems.append(str(error))
        status = CaptureStatus(**found, problems=tuple(problems))  # type: ignore[arg-type]
        delivers = status.runs and status.slot is not None and status.slot.active
        return (
            replace(status, lag_seconds=0.0) if status.events_behind == 0 and delivers else status
        )

    def _of_connect(self) -> dict[str, object]:
        state, failure = self._capture.connector_state()
        return {"connector": state, "failure": failure, "phase": self._phase()}

    def _of_database(self) -> dict[str, object]:
        slot, columns = self._capture.slot_and_columns()
        return {"slot": slot, "schema": None if columns is None else self._schema(columns)}

    def _schema(self, columns: SourceColumns) -> RowSchema | None:
        """The catalog is optional: without it, the version is not known, and all else goes on."""
        try:
            return self._recorded.follow(columns)
        except LastwordError as error:
            log.debug("the columns of %s have no version: %s", self._topic, error)
            return None

    def _of_kafka(self) -> dict[str, object]:
        place = TopicPartition(self._topic, 0)
        end = self._admin.stable_offsets(self._topic, [0])[0]
        group = pipeline_group(self._capture.table.connector)
        committed = self._groups.committed(group, [place]).get(place)
        at = self._admin.start_offsets(self._topic, [0])[0] if committed is None else committed[0]
        newest = self._admin.newest_timestamps(self._topic, [0])[0]
        oldest_ms = self._first_time(at, end) if at < end else None
        lag_s = None if oldest_ms is None else max(0, self._clock.now_ms() - oldest_ms) / 1000
        return {
            "events_behind": 0 if oldest_ms is None else end - at,
            "lag_seconds": lag_s,
            "last_event_ms": newest if newest >= 0 else None,
        }

    def _phase(self) -> CapturePhase:
        offsets = self._capture.offsets()
        if not offsets:
            return CapturePhase.STARTING
        reads_rows = any("snapshot" in each for each in offsets)
        return CapturePhase.SNAPSHOT if reads_rows else CapturePhase.STREAMING

    def _first_time(self, start: int, end: int) -> int | None:
        """When the database committed the first event of this range; None if there are none.

        Markers of the connector's transactions have offsets, too: after each commit of it one is
        left between the committed position and the end.
        """
        if (start, end) == self._without_events:
            return None
        batches = self._log.read(
            self._topic, {0: (start, end)}, stall_timeout_s=_STALL_SECONDS, queue_bytes=1 << 16
        )
        try:
            first = next((batch for batch in batches if len(batch)), None)
        finally:
            batches.close()
        if first is None:
            self._without_events = start, end
            return None
        return _committed_ms(first)


def _committed_ms(events: Batch) -> int:
    """The source's time of the first one; of what is no change event, that of the record."""
    try:
        return ChangeCodec().decode(events.values[0] or b"").source_ms
    except DecodeError:
        return int(events.timestamps[0])
