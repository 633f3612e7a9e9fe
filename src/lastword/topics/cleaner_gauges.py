"""The health of a local broker's cleaner, from gauges that are per broker, not per partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lastword.broker.scrape import ScrapedSample

_MANAGER = "kafka_log_LogCleanerManager_"
_CLEANER = "kafka_log_LogCleaner_"


class CleanerGauges(NamedTuple):
    """The cleaner's gauges of a broker; None if unknown.

    ``recopy_percent`` is the share of the read bytes that the last runs kept.
    """

    dead_threads: int | None
    uncleanable_partitions: int | None
    recopy_percent: float | None
    max_dirty_percent: float | None
    since_last_run_ms: int | None


def cleaner_gauges(samples: Sequence[ScrapedSample]) -> CleanerGauges:
    """Pick the cleaner's gauges out of a node's metrics; log directories are added up."""
    values: dict[str, float] = {}
    for sample in samples:
        values[sample.name] = values.get(sample.name, 0.0) + sample.value
    dead = values.get(_CLEANER + "DeadThreadCount")
    uncleanable = values.get(_MANAGER + "uncleanable_partitions_count")
    since = values.get(_MANAGER + "time_since_last_run_ms")
    return CleanerGauges(
        dead_threads=None if dead is None else int(dead),
        uncleanable_partitions=None if uncleanable is None else int(uncleanable),
        recopy_percent=values.get(_CLEANER + "cleaner_recopy_percent"),
        max_dirty_percent=values.get(_MANAGER + "max_dirty_percent"),
        since_last_run_ms=None if since is None else int(since),
    )
