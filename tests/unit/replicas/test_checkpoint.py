from __future__ import annotations

import msgspec
import pytest

from lastword.replicas.apply.checkpoint import (
    CHECKPOINT_FORMAT,
    Checkpoint,
    Quarantined,
    decode_checkpoint,
    encode_checkpoint,
)
from lastword.rows import ROW_FORMAT

CHECKPOINT = Checkpoint(
    cluster_id="cluster",
    topic_id="topic",
    partitions=3,
    next_offset=42,
    leader_epoch=7,
    caught_up_at_ms=1_700_000_000_000,
    delete_retention_ms=86_400_000,
    quarantined=(Quarantined(0, 17, b"user-1", "not json"),),
)


def test_a_checkpoint_gives_back_what_went_in() -> None:
    assert decode_checkpoint(encode_checkpoint(CHECKPOINT)) == CHECKPOINT


def test_a_store_without_a_checkpoint_has_none() -> None:
    assert decode_checkpoint(None) is None


@pytest.mark.parametrize(
    "other", [{"checkpoint_format": CHECKPOINT_FORMAT + 1}, {"row_format": ROW_FORMAT + 1}]
)
def test_a_checkpoint_of_another_version_is_not_guessed_at(other: dict[str, int]) -> None:
    changed = msgspec.structs.replace(CHECKPOINT, **other)
    assert decode_checkpoint(encode_checkpoint(changed)) is None


@pytest.mark.parametrize("data", [b"", b"garbage", b"\x90", b"\x93\x01\x02\x03"])
def test_bytes_that_are_not_a_checkpoint_count_as_none(data: bytes) -> None:
    assert decode_checkpoint(data) is None


def test_a_checkpoint_cut_short_counts_as_none() -> None:
    whole = encode_checkpoint(CHECKPOINT)
    assert [decode_checkpoint(whole[:n]) for n in range(len(whole))] == [None] * len(whole)
