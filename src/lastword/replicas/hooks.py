"""What a follower tells the table it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.records import Batch
from lastword.replicas.progress import RestoreListener
from lastword.stores.base import Store


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the table wants to hear of; all are called on the tailing thread.

    ``keep_to_capacity`` gets each batch that a store with a capacity took while ready.
    """

    on_ready: Callable[[bool], None]
    on_failure: Callable[[Exception], None]
    keep_to_capacity: Callable[[Batch, Store], None]
    listener: RestoreListener | None = None
