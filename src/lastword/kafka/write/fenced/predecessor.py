"""Handles an earlier holder with another producer id, which a take-over cannot fence.

The coordinator forgets a transactional id that was unused for long (seven days by default) and
then assigns another producer id. A leader compares epochs only within one producer id. So the
earlier holder must have stopped by itself, which it does once its fence is too old.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lastword.clock import Clock
from lastword.errors import FencedError
from lastword.kafka.admin import Admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.kafka_log import KafkaLog
from lastword.kafka.write.fenced.fence import Holder, decode_fence
from lastword.records import FENCE_KEY, Record

TRUSTED_S = 12 * 3600.0
"""How long a holder trusts its fence without renewing it."""
FORGOTTEN_S = TRUSTED_S + 3600.0
"""The age that the last fence record must have before another producer id follows: an hour
more, because its timestamp is from another machine."""


def refuse_foreign_fence(
    connection: Connection, topic: str, partition: int, holder: Holder, clock: Clock
) -> None:
    """Raise FencedError while a holder with another producer id may still be writing."""
    now_ms = clock.now_ms()
    last = _last_fence(connection, topic, partition, since_ms=now_ms - int(FORGOTTEN_S * 1000))
    said = None if last is None else decode_fence(last.value)
    if last is None or said is None or said.released or said.producer_id == holder.producer_id:
        return
    free_at = datetime.fromtimestamp(last.timestamp_ms / 1000 + FORGOTTEN_S, UTC)
    raise FencedError(
        f"{topic}, partition {partition} cannot be fenced against {said.instance}, which held it "
        f"with producer id {said.producer_id}: the cluster has forgotten that id",
        hint=f"take it over after {free_at:%Y-%m-%d %H:%M} UTC; earlier only if that process is "
        f"certainly gone: then write a tombstone for the key {FENCE_KEY!r} to the partition",
    )


def _last_fence(
    connection: Connection, topic: str, partition: int, *, since_ms: int
) -> Record | None:
    """The last fence record in the log, unless it is too old to matter."""
    with Admin(connection) as admin:
        ends = admin.stable_offsets(topic, [partition])
        start = admin.offsets_since(topic, ends, since_ms)[partition]
    last: Record | None = None
    for batch in KafkaLog(connection).read(topic, {partition: (start, ends[partition])}):
        last = next(reversed(batch.records_of(FENCE_KEY)), last)
    return last
