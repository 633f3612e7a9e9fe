"""The value of a fence record."""

from __future__ import annotations

import pytest

from lastword.kafka.write.fenced import FenceRecord, decode_fence, encode_fence


def test_a_fence_record_is_read_as_it_was_written() -> None:
    record = FenceRecord("host-1", 3, producer_id=17, epoch=2, released=True)
    assert decode_fence(encode_fence(record)) == record


@pytest.mark.parametrize("value", [None, b"", b"null", b"{}", b'"text"', b"\xff\x00", b"[1]"])
def test_a_value_that_is_not_a_fence_record_decodes_to_none(value: bytes | None) -> None:
    assert decode_fence(value) is None
