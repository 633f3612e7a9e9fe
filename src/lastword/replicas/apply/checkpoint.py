"""A store's position in its log, written in the same atomic batch as the rows."""

from __future__ import annotations

import msgspec

from lastword.replicas.versions.past_coverage import PastCoverage
from lastword.rows import ROW_FORMAT

CHECKPOINT_FORMAT = 1


class Quarantined(msgspec.Struct, frozen=True, array_like=True):
    """A record that could not be read and was not applied."""

    partition: int
    offset: int
    key: bytes
    reason: str


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """Which log a store holds, how far, and until when nothing can have been missed.

    ``caught_up_at_ms`` is the last moment up to which every record, tombstones included, is known
    to have been seen. It does not advance while the store is behind or waits for a sweep, so that
    its age is exactly how long tombstones may have been missed. ``rows`` is the number of rows, if
    it is kept: a pipeline's task opens a store again for each batch, and counting would read all of
    it.

    ``key_suffix_bytes`` is how many bytes at the end of a key did not decide its partition; another
    number means other rows. Older versions did not write it, and 0 is nearly always right.
    """

    cluster_id: str
    topic_id: str
    partitions: int
    next_offset: int
    leader_epoch: int
    caught_up_at_ms: int
    delete_retention_ms: int
    quarantined: tuple[Quarantined, ...] | bytes = ()
    checkpoint_format: int = CHECKPOINT_FORMAT
    row_format: int = ROW_FORMAT
    versions: PastCoverage | None = None
    rows: int | None = None
    key_suffix_bytes: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Checkpoint).decode


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The bytes a store keeps beside its rows."""
    return _encode(checkpoint)


def decode_checkpoint(data: bytes | None) -> Checkpoint | None:
    """The checkpoint, or None if there is none that this version can read."""
    if data is None:
        return None
    try:
        checkpoint = _decode(data)
    except msgspec.MsgspecError:
        return None
    known = (CHECKPOINT_FORMAT, ROW_FORMAT)
    return checkpoint if (checkpoint.checkpoint_format, checkpoint.row_format) == known else None
