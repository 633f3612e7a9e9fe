"""What a follower tells the table it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lastword.follow.progress import RestoreListener


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the table wants to hear of; all are called on the tailing thread."""

    on_ready: Callable[[bool], None]
    on_failure: Callable[[Exception], None]
    on_evicted: Callable[[list[bytes]], None]
    listener: RestoreListener | None = None
