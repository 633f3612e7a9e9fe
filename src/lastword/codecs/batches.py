"""Decodes and encodes whole batches: by the codec at once if it can, else value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lastword.codecs.base import Codec
from lastword.errors import DecodeError

NONE_BAD: Mapping[int, DecodeError] = {}


class DecodedBatch(NamedTuple):
    """The values in the order of the data, None for what is missing; and, by index, why the other
    values are None: they are bad.
    """

    values: list[Any]
    bad: Mapping[int, DecodeError]


def encode_batch(codec: Codec[Any], values: Sequence[Any]) -> list[bytes]:
    """The bytes of each value, exactly as ``codec.encode`` gives them; raises EncodeError.

    A codec may have an ``encode_batch`` that is faster than value by value.
    """
    at_once: Callable[[Sequence[Any]], list[bytes]] | None = getattr(codec, "encode_batch", None)
    return list(map(codec.encode, values)) if at_once is None else at_once(values)


def decode_batch(codec: Codec[Any], data: Sequence[bytes | None]) -> DecodedBatch:
    """The values of ``data``, exactly as ``codec.decode`` gives them. A bad one spoils no other.

    A codec may have a ``decode_batch`` that is faster than value by value; it may raise
    RegistryError, as ``decode`` may.
    """
    at_once: Callable[[Sequence[bytes | None]], DecodedBatch] | None
    at_once = getattr(codec, "decode_batch", None)
    return decode_singly(codec.decode, data) if at_once is None else at_once(data)


def decode_fields(
    codec: Codec[Any], data: Sequence[bytes | None], fields: tuple[str, ...] | None
) -> DecodedBatch:
    """As ``decode_batch``; objects may lack members that are not among ``fields``, unless None.

    A codec may have a ``decode_fields`` that saves the time to make the others.
    """
    some: Callable[[Sequence[bytes | None], tuple[str, ...]], DecodedBatch] | None
    some = getattr(codec, "decode_fields", None)
    return decode_batch(codec, data) if some is None or fields is None else some(data, fields)


def check_batch(codec: Codec[Any], data: Sequence[bytes | None]) -> Mapping[int, DecodeError]:
    """Why some of ``data`` is bad, by index: ``bad`` of ``decode_batch``.

    A codec may have a ``check_batch`` that needs no values; it may raise RegistryError, too.
    """
    at_once: Callable[[Sequence[bytes | None]], Mapping[int, DecodeError]] | None
    at_once = getattr(codec, "check_batch", None)
    return decode_batch(codec, data).bad if at_once is None else at_once(data)


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
