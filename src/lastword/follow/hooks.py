"""What a follower tells the table it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.follow.progress import RestoreListener
from lastword.records import Batch


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the table wants to hear of; all are called on the tailing thread.

    ``before_evicting`` gets each batch that was applied while ready to a store that evicts, and
    raises when that must stop.
    """

    on_ready: Callable[[bool], None]
    on_failure: Callable[[Exception], None]
    on_evicted: Callable[[list[bytes]], None]
    before_evicting: Callable[[Batch], None]
    listener: RestoreListener | None = None
