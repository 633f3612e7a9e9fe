"""Decodes whole batches: by the codec at once if it can, else value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lastword.codecs.base import Codec
from lastword.errors import DecodeError

NONE_BAD: Mapping[int, DecodeError] = {}


class DecodedBatch(NamedTuple):
    """The values in the order of the data, None for what is missing; and, by index, why the other
    values are None: they are bad."""

    values: list[Any]
    bad: Mapping[int, DecodeError]


@runtime_checkable
class BatchCodec(Protocol):
    """A codec that decodes a batch faster than value by value."""

    def decode_batch(self, data: Sequence[bytes | None]) -> DecodedBatch:
        """The values of ``data``; may raise RegistryError, as ``decode`` may."""


def decode_batch(codec: Codec[Any], data: Sequence[bytes | None]) -> DecodedBatch:
    """The values of ``data``, exactly as ``codec.decode`` gives them. A bad one spoils no other."""
    if isinstance(codec, BatchCodec):
        return codec.decode_batch(data)
    return decode_singly(codec.decode, data)


def decode_singly(decode: Callable[[bytes], Any], data: Sequence[bytes | None]) -> DecodedBatch:
    """The same, value by value."""
    try:
        return DecodedBatch([None if each is None else decode(each) for each in data], NONE_BAD)
    except DecodeError:
        pass  # rare, and worth a second pass: the loop above has nothing to do for good values
    values: list[Any] = []
    bad: dict[int, DecodeError] = {}
    for i, each in enumerate(data):
        try:
            values.append(None if each is None else decode(each))
        except DecodeError as error:
            values.append(None)
            bad[i] = error
    return DecodedBatch(values, bad)
