"""Keeps two instances of an evicting table from deleting each other's keys.

Every record such a table writes names the instance, in a header. The instances read each other's
records, and so each notices the other:

- One that has written nothing yet stops, because another instance writes. - Of two that write, the
one that began to write first stops: the later one has replaced it. Their clocks matter only if both
start to write at the same moment. So at most one continues, and the other deletes only keys whose
tombstones it had already sent.
"""

from __future__ import annotations

import threading
import uuid

from lastword.clock import Clock
from lastword.errors import FencedError
from lastword.records import INSTANCE_HEADER, Batch, Header


class InstanceFence:
    """One instance's name, and whether another one writes. Safe to use from any thread."""

    def __init__(self, topic: str, clock: Clock) -> None:
        self._topic = topic
        self._clock = clock
        self._lock = threading.Lock()
        self._claim: bytes | None = None

    def mark(self) -> Header:
        """The header of every record written here; the first call claims the topic."""
        with self._lock:
            if self._claim is None:
                # As text, claims are in the order of their times.
                self._claim = f"{self._clock.now_ms():015d}-{uuid.uuid4().hex}".encode()
            return INSTANCE_HEADER, self._claim

    def check(self, batch: Batch) -> None:
        """Raise FencedError if the batch, read while live, shows that this one must stop."""
        with self._lock:
            for offset, other in batch.header_values(INSTANCE_HEADER):
                if self._claim is None or other > self._claim:
                    raise FencedError(
                        f"another instance writes {self._topic} (partition {batch.partition}, "
                        f"offset {offset}): two evicting instances would delete each other's keys",
                        hint="stop the other instance and open this table again, give each a "
                        "separate topic, or use a store without a limit",
                    )
