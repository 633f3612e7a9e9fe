"""The application's control topic: one compacted partition that holds the plans.

A plan takes effect only at the *captured end*: the end of the log, looked up after the plan was
read. A process that starts, or resumes after a pause, first reads plans that were replaced long
ago. If it acted on one of them, it would fence the current owner.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from lastword.cluster.movements import Movements
from lastword.cluster.plan import Plan, decode_plan
from lastword.errors import (
    ClusterError,
    ConnectionFailedError,
    LastwordError,
    TopicExistsError,
    TopicNotFoundError,
    TopicUnfitError,
)
from lastword.kafka.admin import Admin
from lastword.kafka.groups.names import control_topic
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.log.source import EndOfLog, LogReader, News, PositionLost, Unreadable
from lastword.records import Batch
from lastword.topics.creation import create_topic

log = logging.getLogger(__name__)

PLAN_KEY = b"plan"
PARTITION = 0
REPLICATION_MAX = 3
SETTINGS = {"segment.bytes": str(16 << 20), "min.cleanable.dirty.ratio": "0.1"}
_POLL_S = 0.1
_QUEUE_BYTES = 4 << 20
_RETRY_S = 0.5


def ensure_control_topic(admin: Admin, name: str) -> None:
    """Create the topic if it is missing; raises TopicUnfitError if it cannot hold plans."""
    try:
        found = admin.describe(name)
    except TopicNotFoundError:
        replication = min(REPLICATION_MAX, len(admin.brokers()))
        try:
            create_topic(admin, name, partitions=1, replication=replication, settings=SETTINGS)
        except TopicExistsError:
            log.debug("%s: another instance created it first", name)
        return
    try:
        policy = admin.settings(name)["cleanup.policy"]
    except TopicNotFoundError:
        log.debug("%s: another instance is creating it: not every broker knows it yet", name)
        return
    if found.partitions != 1 or policy != "compact":
        raise TopicUnfitError(
            f"{name!r} cannot be a control topic: it needs one partition and the policy 'compact'",
            hint="stop every instance of the application and delete the topic, or use another "
            "application id",
        )


def read_last_plan(admin: Admin, application_id: str) -> Plan | None:
    """The last plan of an application; None if there never was one.

    Raises ConnectionFailedError, and ClusterError for a plan of a later format.
    """
    name = control_topic(application_id)
    try:
        bounds = admin.bounds(name, [PARTITION])[PARTITION]
    except TopicNotFoundError:
        return None
    last = None
    ranges = {PARTITION: (bounds.start, bounds.stable_end)}
    for batch in KafkaLog(admin.connection).read(name, ranges, queue_bytes=_QUEUE_BYTES):
        for record in batch.records_of(PLAN_KEY)[-1:]:
            last = record
    return None if last is None else decode_plan(last.value or b"")


class ControlTopic:
    """Follows the control topic on a thread of its own.

    ``on_plan`` is called on that thread with each plan read at a captured end. Plans that were
    replaced before are skipped. ``plan`` is the last one delivered.
    """

    def __init__(self, admin: Admin, topic: str, on_plan: Callable[[Plan], None]) -> None:
        self.plan: Plan | None = None
        self.movements = Movements()
        self._admin, self._topic, self._on_plan = admin, topic, on_plan
        self._read: Plan | None = None
        self._position = 0
        self._end: int | None = None  # captured, not reached yet
        self._up_to_date = False
        self._moved = threading.Condition()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"plans-{topic}", daemon=True)

    def start(self) -> None:
        """Start reading; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading; idempotent. ``on_plan`` is not called afterwards."""
        self._closing.set()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def wait_for(self, offset: int, timeout_s: float) -> bool:
        """Wait until ``plan`` was read at an end beyond ``offset``; False after the timeout."""
        with self._moved:
            return self._moved.wait_for(
                lambda: self._up_to_date and self._position > offset, timeout_s
            )

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._follow()
            except LastwordError as error:
                log.warning("cannot read the control topic %s: %s", self._topic, error)
                self._closing.wait(_RETRY_S)

    def _follow(self) -> None:
        reader = KafkaLog(self._admin.connection).follow(self._topic, queue_bytes=_QUEUE_BYTES)
        try:
            self._begin(reader)
            while not self._closing.is_set():
                for item in reader.poll(_POLL_S):
                    self._take(reader, item)
                self._deliver()
        finally:
            reader.close()

    def _begin(self, reader: LogReader) -> None:
        start = self._admin.start_offsets(self._topic, [PARTITION])[PARTITION]
        with self._moved:
            self._position, self._end, self._up_to_date = start, None, False
        reader.assign(PARTITION, start)

    def _take(self, reader: LogReader, item: News) -> None:
        if isinstance(item, PositionLost):
            self._begin(reader)
        elif isinstance(item, Unreadable):
            raise ConnectionFailedError(f"offset {item.offset} is corrupt: {item.reason}")
        elif isinstance(item, EndOfLog):
            self._position = max(self._position, item.offset)
        else:
            self._take_batch(item)

    def _take_batch(self, batch: Batch) -> None:
        self._position = batch.next_offset
        for record in batch.records_of(PLAN_KEY):
            try:
                self._read = decode_plan(record.value or b"")
                self._up_to_date = False
                self.movements.take(self._read, record.timestamp_ms)
            except ClusterError as error:
                log.error("%s, offset %d: %s", self._topic, record.offset, error)

    def _deliver(self) -> None:
        """Deliver the plan once the end captured after reading it is reached."""
        if not self._up_to_date:
            if self._end is None:
                self._end = self._admin.end_offsets(self._topic, [PARTITION])[PARTITION]
            if self._position < self._end:
                return
            self._end = None
            if self._read is not None and self._read != self.plan:
                self.plan = self._read
                self._on_plan(self.plan)
        with self._moved:
            self._up_to_date = True
            self._moved.notify_all()
