"""Ends transactions whose end is decided, but missing in a partition.

A broker that is killed between the decision of a transaction and its markers sends the markers
when it starts again. Kafka 4.3 omits partitions that have no leader at that moment, as those of a
single broker have none until the session of its past life has ended, and records the transaction
as complete. Nobody would ever end it in these partitions: their committed readers wait forever, and
so does a Kafka Connect worker that reads its offsets.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from lastword.errors import TopicNotFoundError
from lastword.kafka.admin.admin import Admin
from lastword.kafka.admin.transactions import live_of, open_at
from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection
from lastword.kafka.log.source import LogSource
from lastword.records import TopicPartition

log = logging.getLogger(__name__)

_STATE_TOPIC = "__transaction_state"
_TIMEOUT_S = 30.0
# What a value of that topic begins with: version, producer id, epoch, time limit, status.
_STATE = struct.Struct(">hqhib")
_COMMITS, _ABORTS = (2, 4), (3, 5)  # prepared, complete


class _Decision(NamedTuple):
    """How a transaction ends; ``epoch`` is that of its markers."""

    committed: bool
    epoch: int


class _Hanging(NamedTuple):
    place: TopicPartition
    producer_id: int
    epoch: int
    coordinator_epoch: int


def end_hanging_transactions(connection: Connection, log_source: LogSource) -> int:
    """Write the missing markers of every partition of the cluster; returns how many.

    A transaction that its coordinator still has to end is left to it. One of which no decision is
    on record was acknowledged to nobody, and is aborted.
    """
    with wire_admin(connection, doing="looking for hanging transactions") as admin:
        hanging = _hanging(admin)
        if not hanging:
            return 0
        producers = {each.producer_id for each in hanging}
        decisions = _decisions(connection, log_source, producers)
        for each in hanging:
            decision = decisions.get(each.producer_id)
            # Newer clients get a new epoch with the decision.
            if decision is None or decision.epoch not in (each.epoch, each.epoch + 1):
                decision = _Decision(committed=False, epoch=each.epoch)
            _end(admin, each, decision)
    return len(hanging)


def _hanging(admin: Any) -> list[_Hanging]:
    places = [
        TopicPartition(topic["name"], partition["partition_index"])
        for topic in admin.describe_topics()
        for partition in topic["partitions"]
    ]
    found = [
        _Hanging(place, producer.producer_id, producer.producer_epoch, producer.coordinator_epoch)
        for place, producer in open_at(admin, places)
    ]
    live = live_of(admin, {each.producer_id for each in found}) if found else {}
    return [each for each in found if each.producer_id not in live]


def _decisions(
    connection: Connection, log_source: LogSource, producers: Collection[int]
) -> dict[int, _Decision]:
    """The last decision about a transaction of each producer."""
    found: dict[int, _Decision] = {}
    for value in _states(connection, log_source):
        _, producer, epoch, _, status = _STATE.unpack_from(value)
        if producer in producers and status in (*_COMMITS, *_ABORTS):
            found[producer] = _Decision(status in _COMMITS, epoch)
    return found


def _states(connection: Connection, log_source: LogSource) -> Iterator[bytes]:
    with Admin(connection) as admin:
        try:
            numbers = range(admin.describe(_STATE_TOPIC).partitions)
        except TopicNotFoundError:
            return
        bounds = admin.bounds(_STATE_TOPIC, numbers)
    ranges = {p: (each.start, each.end) for p, each in bounds.items() if each.start < each.end}
    for batch in log_source.read(_STATE_TOPIC, ranges, stall_timeout_s=_TIMEOUT_S):
        for record in batch.records():
            if record.value is not None and len(record.value) >= _STATE.size:
                yield record.value


def _end(admin: Any, hanging: _Hanging, decision: _Decision) -> None:
    """Write one marker. The library only aborts; the request for a commit is the same one."""
    from kafka.admin import AbortTransactionSpec  # noqa: PLC0415 - takes a quarter of a second

    word = "committing" if decision.committed else "aborting"
    log.warning("%s a hanging transaction in %s-%d", word, *hanging.place)
    spec = AbortTransactionSpec(
        hanging.place, hanging.producer_id, decision.epoch, hanging.coordinator_epoch
    )
    request = admin._abort_transaction_request(spec)
    request.markers[0].transaction_result = decision.committed

    async def send() -> None:
        (leader,) = await admin._async_get_leader_for_partitions([hanging.place])
        response = await admin._manager.send(request, node_id=leader)
        admin._abort_transaction_process_response(response, spec)

    admin._manager.run(send)
