"""Records that cannot be rows, or not as they are: counted always, reported once."""

from __future__ import annotations

import logging

from lastword.metrics import Metrics
from lastword.records import Batch
from lastword.replicas.apply.record_filter import FilteredBatch

log = logging.getLogger(__name__)

_WHY = {
    "keyless_records_total": "without a key are dropped",
    "misplaced_records_total": "in a partition that their key does not belong to are dropped",
    "quarantined_records_total": "that cannot be decoded are dropped",
    "unreadable_headers_total": "with a header name that is not UTF-8 are kept without headers",
    "bad_expiries_total": "with an invalid expiry are kept without one",
    "foreign_records_total": "were not written by an owner, and are applied anyway",
}


class DroppedRecords:
    """Counts dropped records of one topic and warns the first time of each kind."""

    def __init__(self, topic: str, metrics: Metrics) -> None:
        self._topic = topic
        self._counters = {name: metrics.counter(name) for name in _WHY}

    def count(self, batch: Batch, filtered: FilteredBatch, *, live: bool) -> None:
        """Take in one verdict; ``live`` if the batch is not part of a restore. Records from before
        a table had owners are not foreign.
        """
        amounts = (
            filtered.keyless,
            filtered.misplaced,
            len(filtered.quarantined),
            len(batch.unreadable_headers),
            filtered.bad_expiries,
            filtered.foreign if live else 0,
        )
        for (name, counter), amount in zip(self._counters.items(), amounts, strict=True):
            if amount and not counter.value:
                log.warning(
                    "%s, partition %d, before offset %d: %d records %s; "
                    "further ones are only counted",
                    self._topic,
                    batch.partition,
                    batch.next_offset,
                    amount,
                    _WHY[name],
                )
            counter.add(amount)
