"""The batch contract on ColumnBatch."""

from __future__ import annotations

from lastword.column_batch import ColumnBatch
from lastword.testing.batch_contract import LEADER_EPOCH, BatchContract
from lastword.testing.batch_model import WrittenBatch


class TestColumnBatch(BatchContract):
    def make_batch(self, written: WrittenBatch) -> ColumnBatch:
        records = written.records
        return ColumnBatch(
            partition=0,
            keys=[each.key for each in records],
            values=[each.value for each in records],
            offsets=[each.offset for each in records],
            timestamps=[each.timestamp_ms for each in records],
            headers=[each.headers or None for each in records],
            next_offset=written.next_offset,
            leader_epoch=LEADER_EPOCH,
            unreadable_headers=written.unreadable_headers,
        )
