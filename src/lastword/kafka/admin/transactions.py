"""Open transactions, which block readers and the cleaner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lastword.errors import ConnectionFailedError
from lastword.kafka.admin.wire import wire_admin
from lastword.kafka.connection import Connection
from lastword.records import TopicPartition


@dataclass(frozen=True, order=True)
class OpenTransaction:
    """A transaction that has written to a partition and not ended.

    The fields that only its coordinator knows (id, start, time limit) are None if no coordinator
    has the transaction open: then it hangs, and no time limit will end it.
    """

    partition: int
    start_offset: int
    producer_id: int
    last_write_ms: int
    transactional_id: str | None = None
    started_ms: int | None = None
    timeout_ms: int | None = None

    def describe(self, now_ms: int) -> str:
        """One sentence about it, for messages."""
        if self.transactional_id is None or self.started_ms is None:
            return (
                f"a hanging transaction of producer {self.producer_id} that no coordinator has "
                f"open, since offset {self.start_offset}"
            )
        age_seconds = max(0, now_ms - self.started_ms) / 1000
        return (
            f"transaction {self.transactional_id!r} of producer {self.producer_id}, "
            f"open since offset {self.start_offset}, for {age_seconds:.0f} s"
        )


_ONGOING = "Ongoing"
# In these states a coordinator will end the transaction, sooner or later.
_LIVE = [_ONGOING, "PrepareCommit", "PrepareAbort", "PrepareEpochFence"]


def open_transactions(
    connection: Connection, topic: str, partitions: Iterable[int]
) -> list[OpenTransaction]:
    """The open transactions of these partitions; the first of each partition blocks it."""
    places = [TopicPartition(topic, partition) for partition in partitions]
    with wire_admin(connection, doing=f"looking for open transactions in {topic!r}") as admin:
        found = [
            OpenTransaction(
                partition=place.partition,
                start_offset=producer.current_transaction_start_offset,
                producer_id=producer.producer_id,
                last_write_ms=producer.last_timestamp,
            )
            for place, producer in open_at(admin, places)
        ]
        if not found:
            return []
        names = live_of(admin, {each.producer_id for each in found})
        described = admin.describe_transactions(names.values())
    known = {producer: (name, described[name]) for producer, name in names.items()}
    return sorted(_with_coordinator(each, known) for each in found)


def open_at(admin: Any, places: Iterable[TopicPartition]) -> Iterator[tuple[TopicPartition, Any]]:
    """The producers with an open transaction in each partition, as its leader knows them."""
    for place, state in admin.describe_producers(places).items():
        for producer in state.active_producers:
            if producer.current_transaction_start_offset >= 0:
                yield TopicPartition(*place), producer


def live_of(admin: Any, producers: Collection[int]) -> dict[int, str]:
    """The transactional ids of those producers whose transaction a coordinator will end."""
    listed = admin.list_transactions(state_filters=_LIVE, producer_id_filters=sorted(producers))
    return {row.producer_id: row.transactional_id for rows in listed.values() for row in rows}


def ongoing_transactions(connection: Connection) -> set[str]:
    """The transactional ids of this cluster with an open transaction."""
    with wire_admin(connection, doing="looking for open transactions") as admin:
        listed = admin.list_transactions(state_filters=[_ONGOING])
    return {row.transactional_id for rows in listed.values() for row in rows}


def holder_of(
    connection: Connection, transactional_id: str, topic: str, partition: int
) -> tuple[int, int, bool]:
    """The producer id and epoch of a transactional id's current holder.

    And whether the leader of a partition knows that producer id.
    """
    place = TopicPartition(topic, partition)
    with wire_admin(connection, doing=f"looking for the holder of {transactional_id!r}") as admin:
        found = admin.describe_transactions([transactional_id])[transactional_id]
        active = admin.describe_producers([place])[place].active_producers
    if found.producer_id < 0 or found.producer_epoch < 0:
        raise ConnectionFailedError(
            f"the cluster did not name the holder of {transactional_id!r}", hint="try again"
        )
    known = any(each.producer_id == found.producer_id for each in active)
    return found.producer_id, found.producer_epoch, known


def _with_coordinator(
    found: OpenTransaction, known: Mapping[int, tuple[str, Any]]
) -> OpenTransaction:
    if found.producer_id not in known:
        return found
    name, description = known[found.producer_id]
    return replace(
        found,
        transactional_id=name,
        started_ms=description.transaction_start_time_ms,
        timeout_ms=description.transaction_timeout_ms,
    )
