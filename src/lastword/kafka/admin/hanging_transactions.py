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
_UNDECIDED = (1, 7)  # ongoing, and about to be aborted: the coordinator will decide


class _Decision(NamedTuple):
    """How a transaction ends; ``epoch`` is that of its markers."""

    committed: bool
    epoch: int


class _State(NamedTuple):
    """A record of a coordinator."""

    status: int
    epoch: int


class _Hanging(NamedTuple):
    place: TopicPartition
    start_offset: int
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
        last = _last_states(connection, log_source, {each.producer_id for each in hanging})
        # Some may have ended in the meantime, and their producers have begun others.
        still_open = set(_open(admin, {each.place for each in hanging}))
        ended = 0
        for each in hanging:
            decision = _decision(each, last.get(each.producer_id))
            if decision is not None and each in still_open:
                _end(admin, each, decision)
                ended += 1
    return ended


def _hanging(admin: Any) -> list[_Hanging]:
    found = _open(
        admin,
        [
            TopicPartition(topic["name"], partition["partition_index"])
            for topic in admin.describe_topics()
            for partition in topic["partitions"]
        ],
    )
    live = live_of(admin, {each.producer_id for each in found}) if found else {}
    return [each for each in found if each.producer_id not in live]


def _open(admin: Any, places: Collection[TopicPartition]) -> list[_Hanging]:
    return [
        _Hanging(
            place,
            producer.current_transaction_start_offset,
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
        )
        for place, producer in open_at(admin, places)
    ]


def _decision(hanging: _Hanging, last: _State | None) -> _Decision | None:
    """How it ends; None if its coordinator has yet to decide."""
    # Newer clients get a new epoch with the decision.
    if last is None or last.epoch not in (hanging.epoch, hanging.epoch + 1):
        return _Decision(committed=False, epoch=hanging.epoch)
    if last.status in _UNDECIDED:
        return None
    if last.status in (*_COMMITS, *_ABORTS):
        return _Decision(last.status in _COMMITS, last.epoch)
    return _Decision(committed=False, epoch=hanging.epoch)


def _last_states(
    connection: Connection, log_source: LogSource, producers: Collection[int]
) -> dict[int, _State]:
    """What the coordinator recorded last about each producer."""
    found: dict[int, _State] = {}
    for value in _states(connection, log_source):
        _, producer, epoch, _, status = _STATE.unpack_from(value)
        if producer in producers:
            found[producer] = _State(status, epoch)
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
