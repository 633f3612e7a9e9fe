"""Encodes records as one batch, with kafka-python's builder."""

from __future__ import annotations

from collections.abc import Sequence

from lastword.kafka.admin.wire import kafka_python_imported
from lastword.kafka.write.fenced.fence import Holder
from lastword.records import Write

with kafka_python_imported():
    from kafka.codec import has_lz4
    from kafka.record.default_records import DefaultRecordBatchBuilder

_MAGIC = 2
_LZ4 = DefaultRecordBatchBuilder.CODEC_LZ4 if has_lz4() else DefaultRecordBatchBuilder.CODEC_NONE
_NO_LIMIT = 1 << 31  # the topic's limit applies, and it counts compressed bytes


def encode_batch(
    records: Sequence[Write], holder: Holder, sequence: int, timestamp_ms: int
) -> bytes:
    """Encode one batch of ``holder`` that starts with this sequence number.

    Records without a timestamp get ``timestamp_ms``. A batch that compression would not shrink is
    sent uncompressed.
    """
    batch = DefaultRecordBatchBuilder(_MAGIC, _LZ4, False, *holder, sequence, _NO_LIMIT)
    append = batch.append
    for i, (key, value, headers, at_ms, *_) in enumerate(records):
        append(i, at_ms or timestamp_ms, key, value, headers)
    return bytes(batch.build())
