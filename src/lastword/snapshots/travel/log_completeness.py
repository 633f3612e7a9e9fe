"""From which offset on the log of a compacted topic is certainly complete.

Compaction leaves no trace except a gap in the offsets, and transaction markers leave gaps, too. Two
facts prove completeness:

- Where every offset is there, nothing was removed.
- Kafka's cleaner leaves alone each segment with a record younger than ``min.compaction.lag.ms``,
  and all that come after it. That protects what was written since the setting was first seen,
  for as long as each later state has it in force. The current value alone proves nothing: it
  may have been raised after a cleaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lastword.kafka.admin import Admin
from lastword.replicas.sweep.retention import untouched_since_ms
from lastword.replicas.topic.protection import ObservedProtection


@dataclass(frozen=True)
class LogCompleteness:
    """Nothing from ``complete_from`` on was removed, and no state since ``since_ms`` is lost."""

    complete_from: Mapping[int, int]
    since_ms: int

    def holds(self, partition: int, offset: int) -> bool:
        """Whether the cleaner has not been at ``offset`` or beyond."""
        return offset >= self.complete_from[partition]


@dataclass(frozen=True)
class Protection:
    """What the observations prove: from ``start`` on, records since ``since_ms`` were safe."""

    start: ObservedProtection
    since_ms: int | None

    @property
    def from_ms(self) -> int:
        """The earliest moment whose state is safe."""
        start_ms = self.start.at_ms
        return start_ms if self.since_ms is None else max(start_ms, self.since_ms)


def protection(observed: Sequence[ObservedProtection]) -> Protection:
    """The furthest that the observations, oldest first, reach back; the last one is current.

    A cleaning between two observations respected the smaller of their lags, at the latest at the
    second one; one before the first observation has not passed the end that it found.
    """
    best = Protection(observed[-1], None)
    since_ms: int | None = None
    for earlier, later in reversed(list(pairwise(observed))):
        lag_ms = min(earlier.compaction_lag_ms, later.compaction_lag_ms)
        safe_ms = untouched_since_ms(later.answered_at_ms, lag_ms)
        if safe_ms is None:
            break
        since_ms = safe_ms if since_ms is None else max(since_ms, safe_ms)
        found = Protection(earlier, since_ms)
        if found.from_ms < best.from_ms:
            best = found
    return best


def log_completeness(
    admin: Admin, topic: str, observed: Sequence[ObservedProtection]
) -> LogCompleteness:
    """Ask where the protected records begin; ``observed`` as for ``protection``."""
    found, ends = protection(observed), observed[-1].ends
    complete_from = dict(found.start.ends)
    if found.since_ms is not None:
        protected = admin.offsets_since(topic, ends, found.since_ms)
        complete_from = {p: max(at, protected[p]) for p, at in complete_from.items()}
    return LogCompleteness(complete_from, found.from_ms)
