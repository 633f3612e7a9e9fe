"""The dependencies of a partition's owner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.clock import Clock
from lastword.kafka.write.fenced import FencedLog
from lastword.writer.owned.leases import Leases
from lastword.writer.owned.owned_rows import LocalRows
from lastword.writer.owned.value_operations import Operations
from lastword.writer.owned.verdict import LogWitness


@dataclass(frozen=True, kw_only=True)
class OwnedPartition:
    """The dependencies of one owner.

    ``named`` returns the plan's number while the plan names this process as the owner, else None.
    ``leases`` is set for a table that keeps leases.
    """

    topic: str
    partition: int
    instance: str
    open_log: Callable[[], FencedLog]
    local: LocalRows
    log_start: Callable[[], int]
    witness: LogWitness
    operations: Operations
    leases: Leases | None
    named: Callable[[], int | None]
    batch_bytes: int
    clock: Clock

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}"
