"""Waits for a position without a thread: a hundred waiting readers cost nothing but their time."""

from __future__ import annotations

from collections.abc import Collection

from lastword.clock import Clock
from lastword.records import Position
from lastword.service.api.served import ServedTable
from lastword.service.http.problems import RefusedError
from lastword.table.writing.loop_waits import until_reflected


async def wait_for_versions(
    served: ServedTable, versions: str, limit_s: float, clock: Clock
) -> None:
    """Wait until the records of ``versions`` are visible; NotUpToPositionError after the limit."""
    named = Position.parse(versions)
    await wait_for_position(
        served, Position({p: offset + 1 for p, offset in named.offsets.items()}), limit_s, clock
    )


async def wait_for_writes(
    served: ServedTable, partitions: Collection[int] | None, limit_s: float, clock: Clock
) -> None:
    """Wait until reads of these partitions, all by default, reflect the writes to this instance."""
    wanted = served.raw.unread(partitions)
    if wanted.offsets:
        await wait_for_position(served, wanted, limit_s, clock)


async def wait_for_position(
    served: ServedTable, wanted: Position, limit_s: float, clock: Clock
) -> None:
    """Wait until reads reflect ``wanted``."""
    require_partitions(served, wanted)
    if served.raw.routes:
        return  # the read itself waits, wherever it is answered
    await until_reflected(served.raw, wanted, limit_s, clock)


def require_partitions(served: ServedTable, wanted: Position) -> None:
    """Refuse a position with partitions that the table does not have."""
    unknown = wanted.offsets.keys() - set(range(served.raw.keyspace.partitions))
    if unknown:
        raise RefusedError(
            400,
            "UnknownPartition",
            f"{served.name} has no partition {min(unknown)}",
            hint="use a version that a read or a write of this table returned",
        )
