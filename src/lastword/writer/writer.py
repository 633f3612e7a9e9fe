"""Puts and deletes: raw records into the topic, readable here when the call returns.

The writer never touches a store. It sends, learns the version, and waits until the follower has
applied it, through a callable it was given.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from lastword.errors import NotUpToPositionError, PartitionNotHereError
from lastword.kafka.connection import Connection
from lastword.kafka.write.producer import Delivery, Outgoing, RecordProducer
from lastword.keyspace import Keyspace
from lastword.records import Header, Headers, Position, Version
from lastword.writer.evictions import Evictions
from lastword.writer.instance_fence import InstanceFence

WaitFor = Callable[[Position, float], None]

WRITE_TIMEOUT_S = 30.0
APPLY_TIMEOUT_S = 30.0


class Writer:
    """Writes one topic. Safe to use from any thread; connects on the first write.

    ``batch_bytes`` is the most that the topic takes at once (its ``max.message.bytes``).
    ``owner`` marks every record as written by this application, for tables that evict keys and
    must therefore be the topic's only writer; ``fence`` as written by this instance of it.
    """

    def __init__(
        self,
        connection: Connection,
        topic: str,
        *,
        keyspace: Keyspace,
        batch_bytes: int,
        wait_for: WaitFor,
        owner: Header | None = None,
        fence: InstanceFence | None = None,
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._keyspace = keyspace
        self._batch_bytes = batch_bytes
        self._wait_for = wait_for
        self._owner: Headers = () if owner is None else (owner,)
        self._fence = fence
        self._lock = threading.Lock()
        self._evictions = None if owner is None else Evictions()
        self._producer: RecordProducer | None = None

    def write(self, records: Sequence[Outgoing]) -> list[Delivery]:
        """Send ``records`` in order; what was acknowledged is readable when this returns."""
        prepared = [self._prepare(record) for record in records]
        producer = self.connect()
        if self._evictions is None:
            return self._send(producer, prepared)
        keys = [record.key for record in records]
        with self._lock:
            self._evictions.begin_write(keys)
        deliveries = [Delivery() for _ in records]
        try:
            deliveries = self._send(producer, prepared)
        finally:
            with self._lock:
                versions = [delivery.version for delivery in deliveries]
                self._post_tombstones(producer, self._evictions.end_write(keys, versions))
        return deliveries

    def write_one(self, record: Outgoing) -> Version:
        """Send one record; raises what went wrong."""
        (delivery,) = self.write([record])
        if delivery.error is not None:
            raise delivery.error
        if delivery.version is None:
            raise RuntimeError("a delivery without an error has a version")
        return delivery.version

    def evict(self, keys: Sequence[bytes], position: Position) -> None:
        """Delete keys that the store dropped at ``position``, without waiting for it."""
        if not keys or self._evictions is None:
            return
        producer = self.connect()
        with self._lock:
            self._post_tombstones(producer, self._evictions.evict(keys, position))

    def close(self) -> None:
        """Wait for what is in flight; idempotent."""
        if self._producer is not None:
            self._producer.close()

    def _prepare(self, record: Outgoing) -> Outgoing:
        if self._owner:
            marks = self._owner if self._fence is None else (*self._owner, self._fence.mark())
            record = record._replace(headers=(*record.headers, *marks))
        if self._keyspace.suffix_bytes:  # librdkafka would hash the whole key
            record = record._replace(partition=self._keyspace.partition_of(record.key))
        return record

    def connect(self) -> RecordProducer:
        """Make sure of a producer, which may take seconds; the first write does it otherwise."""
        with self._lock:
            if self._producer is None:
                self._producer = RecordProducer(
                    self._connection,
                    self._topic,
                    batch_bytes=self._batch_bytes,
                    timeout_s=WRITE_TIMEOUT_S,
                )
            return self._producer

    def _send(self, producer: RecordProducer, records: Sequence[Outgoing]) -> list[Delivery]:
        deliveries = producer.send(records)
        self._await_applied(deliveries)
        return deliveries

    def _post_tombstones(self, producer: RecordProducer, keys: Sequence[bytes]) -> None:
        producer.post([self._prepare(Outgoing(key, None)) for key in keys])

    def _await_applied(self, deliveries: Sequence[Delivery]) -> None:
        """Read-your-writes: every partition that acknowledged something must have applied it."""
        last: dict[int, int] = {}
        for delivery in deliveries:
            if delivery.version is not None:
                partition, offset = delivery.version
                last[partition] = max(last.get(partition, 0), offset + 1)
        while last:
            try:
                self._wait_for(Position(last), APPLY_TIMEOUT_S)
            except PartitionNotHereError as error:
                # It left after the record was sent: only those of the others can be read here.
                left = {error.partition} & last.keys() or set(last)
                for delivery in deliveries:
                    version = delivery.version
                    if version is not None and version.partition in left:
                        delivery.error = _unread_here(self._topic, version)
                last = {p: offset for p, offset in last.items() if p not in left}
                continue
            except NotUpToPositionError as error:
                reached = Position(error.reached)
                for delivery in deliveries:
                    version = delivery.version
                    if version is None or version.partition not in last:
                        continue
                    if not reached.at_least(Position.after(version)):
                        delivery.error = _unread(self._topic, version, reached)
            return


def _unread_here(topic: str, version: Version) -> NotUpToPositionError:
    return NotUpToPositionError(
        f"{topic}: the record is written as {version}, but its partition is no longer held here",
        version=version,
        hint="do not write it again; read it where the partition is held",
    )


def _unread(topic: str, version: Version, reached: Position) -> NotUpToPositionError:
    return NotUpToPositionError(
        f"{topic}: the record is written as {version}, but the table is only at {reached}",
        reached=reached.offsets,
        version=version,
        hint=f"do not write it again; ask with at_least={Position.after(version)}",
    )
