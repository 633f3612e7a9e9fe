"""Appends to one partition, refused by the broker once another process has taken over."""

from lastword.kafka.write.fenced.fence import (
    Fence,
    FenceNote,
    FenceRecord,
    decode_fence,
    encode_fence,
)
from lastword.kafka.write.fenced.fenced_log import FencedLog
from lastword.kafka.write.fenced.first_that_holds import open_fenced_log

__all__ = [
    "Fence",
    "FenceNote",
    "FenceRecord",
    "FencedLog",
    "decode_fence",
    "encode_fence",
    "open_fenced_log",
]
