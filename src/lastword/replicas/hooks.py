"""The callbacks of a replica set to its table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.records import Batch
from lastword.replicas.progress import RestoreListener
from lastword.replicas.replica import Replica


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks to the table; all are called on the tailing thread.

    ``on_readiness`` gets whether every replica is ready and, if not, whether that is only because
    partitions were gained. ``on_restored`` gets a replica that is about to be ready, and
    ``keep_to_capacity`` each batch that a store with a capacity took since, with its lock held.
    """

    on_readiness: Callable[[bool, bool], None]
    on_failure: Callable[[Exception], None]
    on_restored: Callable[[Replica], None]
    keep_to_capacity: Callable[[Replica, Batch], None]
    listener: RestoreListener | None = None
