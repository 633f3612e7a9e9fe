"""Reads of partitioned tables as they travel between two instances."""

from __future__ import annotations

import msgspec

from lastword.errors import InvalidRecordError


class KeysWanted(msgspec.Struct, frozen=True, array_like=True, tag="keys"):
    """Some keys of each partition."""

    keys: dict[int, list[bytes]]

    @property
    def partitions(self) -> list[int]:
        """The partitions that are read."""
        return list(self.keys)

    @property
    def whole(self) -> bool:
        """Whether an unfinished partition has to be asked again as a whole."""
        return True

    def only(self, partitions: list[int]) -> KeysWanted:
        """The same read of some of the partitions."""
        return KeysWanted({p: self.keys[p] for p in partitions})


class SpanWanted(msgspec.Struct, frozen=True, array_like=True, tag="span"):
    """Up to ``limit`` rows of each partition with ``start <= key < end``."""

    partitions: list[int]
    start: bytes | None
    end: bytes | None
    reverse: bool
    limit: int

    @property
    def whole(self) -> bool:
        """Whether an unfinished partition has to be asked again as a whole."""
        return False

    def only(self, partitions: list[int]) -> SpanWanted:
        """The same read of some of the partitions."""
        return msgspec.structs.replace(self, partitions=partitions)


class CountWanted(msgspec.Struct, frozen=True, array_like=True, tag="count"):
    """The number of rows."""

    partitions: list[int]

    @property
    def whole(self) -> bool:
        """Whether an unfinished partition has to be asked again as a whole."""
        return True

    def only(self, partitions: list[int]) -> CountWanted:
        """The same read of some of the partitions."""
        return CountWanted(partitions)


class PastWanted(msgspec.Struct, frozen=True, array_like=True, tag="past"):
    """A key of one partition as of an offset or a time; without either, all its versions.

    The rows of the reply are the versions.
    """

    partitions: list[int]
    key: bytes
    below: int | None = None
    until_ms: int | None = None

    @property
    def whole(self) -> bool:
        """Whether an unfinished partition has to be asked again as a whole."""
        return True

    def only(self, _partitions: list[int]) -> PastWanted:
        """The same read: it is of one partition."""
        return self


Wanted = KeysWanted | SpanWanted | CountWanted | PastWanted


class ReadQuestion(msgspec.Struct, frozen=True, array_like=True):
    """A read and what it demands of whoever answers it.

    ``at_least`` has the offset that each partition must have reached. The one who asks waits for
    ``timeout_s``.
    """

    wanted: Wanted
    at_least: dict[int, int]
    topic_id: str
    max_stale_s: float
    max_lag: int | None
    timeout_s: float


class ReadReply(msgspec.Struct, frozen=True, array_like=True):
    """The answer of one instance, and how current it is.

    ``rows`` has (partition, key, row) in the order of the read. ``unfinished`` are the partitions
    of a span that have more rows than fit. ``age_s`` is as in ``FreshAsOf``.
    """

    instance: str
    rows: list[tuple[int, bytes, bytes]]
    unfinished: list[int]
    count: int
    offsets: dict[int, int]
    topic_id: str
    complete_at_ms: int
    stale: bool
    contact_age_s: float
    age_s: float


_encode = msgspec.msgpack.Encoder().encode
_decode_question = msgspec.msgpack.Decoder(ReadQuestion).decode
decode_reply = msgspec.msgpack.Decoder(ReadReply).decode


def question_name(topic: str) -> str:
    """The name of the request between instances."""
    return f"read:{topic}"


def encode_question(question: ReadQuestion) -> bytes:
    """The question as bytes."""
    return _encode(question)


def encode_reply(reply: ReadReply) -> bytes:
    """The reply as bytes."""
    return _encode(reply)


def decode_question(data: bytes) -> ReadQuestion:
    """Read what ``encode_question`` wrote; raises InvalidRecordError."""
    try:
        return _decode_question(data)
    except msgspec.DecodeError as error:
        raise InvalidRecordError(
            f"the read cannot be understood: {error}", hint="run one version on all instances"
        ) from error
