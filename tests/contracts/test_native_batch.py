"""The batch contract on NativeBatch; without the native module, on its replacement."""

from __future__ import annotations

from lastword.native import NATIVE
from lastword.native_batch import NativeBatch
from lastword.records import Batch, Headers
from lastword.testing.batch_contract import LEADER_EPOCH, BatchContract
from lastword.testing.batch_model import REQUEST, WrittenBatch
from tests.contracts.test_column_batch import TestColumnBatch as OfLists


class TestNativeBatch(BatchContract):
    def make_batch(self, written: WrittenBatch) -> Batch:
        if NATIVE is None:
            return OfLists().make_batch(written)
        records = written.records
        requests = [_only_request(each.headers) for each in records]
        headers = [
            None if request else each.headers or None
            for each, request in zip(records, requests, strict=True)
        ]
        columns = NATIVE.Columns(
            0,
            LEADER_EPOCH,
            [each.key for each in records],
            [each.value for each in records],
            [each.offset for each in records],
            [each.timestamp_ms for each in records],
            headers if any(headers) else None,
            list(written.unreadable_headers),
            requests,
        )
        return NativeBatch(columns, written.next_offset)


def _only_request(headers: Headers) -> bytes | None:
    """What the reader keeps apart: the request id of a record that has no other header."""
    return headers[0][1] if headers == (REQUEST,) else None
