"""Explains why a restore is stalled: which partition, at which offset, and what blocks it."""

from __future__ import annotations

from lastword.errors import LastwordError, NotReadyError
from lastword.kafka.admin.transactions import open_transactions
from lastword.kafka.connection import Connection
from lastword.replicas.progress import RestoreProgress
from lastword.table.parts import Parts

_ALL_READ = "everything is read, but a store is still being written"


def explain_stall(
    connection: Connection, parts: Parts, waited_s: float, now_ms: int
) -> NotReadyError:
    """The error for a restore that has not moved for ``waited_s``."""
    progress = parts.replicas.progress()
    waiting = [each for each in progress if not each.done]
    sweeping = [each for each in progress if each.sweep_offsets]
    places = [*(_where(each, parts) for each in waiting), *map(_where_sweeping, sweeping)]
    where = "; ".join(places) or _ALL_READ
    blockers = _blockers(connection, parts, [p.partition for p in waiting if p.blocked], now_ms)
    message = f"{parts.replicas.topic} has not moved for {waited_s:.0f} s: {where}"
    if blockers:
        return NotReadyError(
            f"{message}; blocked by {blockers}",
            hint="it ends after its transaction timeout, or when its writer starts again",
        )
    return NotReadyError(message, hint="is the broker reachable and not overloaded?")


def _where(progress: RestoreProgress, parts: Parts) -> str:
    stable = parts.replicas.topic_state.stable_ends.get(progress.partition)
    trouble = parts.replicas.troubles.of(progress.partition)
    return (
        f"partition {progress.partition} is at {progress.position} of {progress.end}"
        f" (last stable offset {stable})" + (f": {trouble}" if trouble else "")
    )


def _where_sweeping(progress: RestoreProgress) -> str:
    return (
        f"the sweep of partition {progress.partition} has read {progress.swept_offsets}"
        f" of {progress.sweep_offsets} offsets"
    )


def _blockers(connection: Connection, parts: Parts, partitions: list[int], now_ms: int) -> str:
    if not partitions:
        return ""
    try:
        found = open_transactions(connection, parts.replicas.topic, partitions)
    except LastwordError as error:
        return f"an open transaction (it could not be identified: {error})"
    return "; ".join(transaction.describe(now_ms) for transaction in found)
