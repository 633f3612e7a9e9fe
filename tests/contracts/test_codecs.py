"""The codec contract, run over every codec."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from lastword.codecs import (
    Codec,
    SessionKey,
    TypedCodec,
    WindowedKey,
    codec,
    composite,
    key_codec,
    session,
    windowed,
)
from lastword.testing.codec_contract import CodecContract, KeyCodecContract

TEXTS = ("a", "", "user-1", "eu:user-1", "a@b", "\u00e9\u4e16\U0001f600", "\x00")
DOCUMENTS = (None, True, 0, -1.5, "text", [1, "two", None], {"b": {"a": []}, "c": "\u00e9"})


class User(msgspec.Struct, frozen=True):
    """A typed value."""

    name: str
    age: int = 0


USERS = (User("Alice", 25), User("", -1), User("\u00e9"))


class TestString(CodecContract):
    values = TEXTS
    foreign = (b"bytes", None, 1, "\ud800")

    def make_codec(self) -> Codec[Any]:
        return codec("string")


class TestStringKeys(KeyCodecContract):
    values = tuple(each for each in TEXTS if each)

    def make_codec(self) -> Codec[Any]:
        return key_codec("string")


class TestBytes(KeyCodecContract):
    values = (b"a", b"\x00\xff", b"user-1")
    foreign = ("text", None, 1)

    def make_codec(self) -> Codec[Any]:
        return key_codec("bytes")


class TestInt64(KeyCodecContract):
    values = (0, 1, -1, 2**63 - 1, -(2**63))
    foreign = (2**63, 1.5, None, "1")

    def make_codec(self) -> Codec[Any]:
        return key_codec("int64")


class TestJson(CodecContract):
    values = DOCUMENTS
    foreign = (object(), "\ud800")

    def make_codec(self) -> Codec[Any]:
        return codec("json")


class TestRows(CodecContract):
    values = (
        {},
        {"id": 1, "name": "\u00e9", "done": True, "note": None, "json": {"a": [1.5, None]}},
        {"price": Decimal("9.90"), "prices": [Decimal("1.10"), None, [Decimal("Infinity")]]},
        {"at": datetime(2026, 1, 2, 3, 4, 5, 678901), "zoned": datetime(2026, 1, 2, tzinfo=UTC)},
        {"day": date(2026, 1, 2), "time": time(3, 4), "id": UUID(int=7), "raw": b"\x00\xff"},
        {"rate": float("inf"), "rates": [1.5, float("-inf")]},
    )
    foreign = (None, 1, [], {1: 2}, {"$types": {}}, {"x": object()}, {"x": [b"", Decimal(1)]})

    def make_codec(self) -> Codec[Any]:
        return codec("row")


class TestJsonKeys(KeyCodecContract):
    values = DOCUMENTS

    def make_codec(self) -> Codec[Any]:
        return key_codec("json")


class TestMsgpack(CodecContract):
    values = DOCUMENTS
    foreign = (object(), 2**64)

    def make_codec(self) -> Codec[Any]:
        return codec("msgpack")


class TestMsgpackKeys(KeyCodecContract):
    values = DOCUMENTS

    def make_codec(self) -> Codec[Any]:
        return key_codec("msgpack")


class TestTypedJson(KeyCodecContract):
    values = USERS
    foreign = ({"name": "Alice"}, None, User("Alice", "old"))  # type: ignore[arg-type]

    def make_codec(self) -> Codec[Any]:
        return codec(User)


class TestTypedMsgpack(KeyCodecContract):
    values = USERS
    foreign = ({"name": "Alice"}, None)

    def make_codec(self) -> Codec[Any]:
        return TypedCodec("msgpack", User)


class TestComposite(KeyCodecContract):
    values = (("eu", "user-1"), ("eu-west-1", "user-1"), ("", ""), ("a b!", "c;d"))
    foreign = ("text", ("eu",), ("eu", 1), None)

    def make_codec(self) -> Codec[Any]:
        return composite("region", "user")


class TestWindowedString(KeyCodecContract):
    values = (WindowedKey("a", 0), WindowedKey("a", 60_000), WindowedKey("a@1", 60_000))
    foreign = ("a", ("a", 1), WindowedKey("a", -1), WindowedKey(1, 1))

    def make_codec(self) -> Codec[Any]:
        return windowed("string", 60_000)


class TestWindowedInt64(KeyCodecContract):
    values = (WindowedKey(1, 0), WindowedKey(-1, 60_000))

    def make_codec(self) -> Codec[Any]:
        return windowed("int64", 60_000)


class TestSession(KeyCodecContract):
    values = (SessionKey("a", 0, 0), SessionKey("a", 1, 5), SessionKey("b@1-2", 1, 5))
    foreign = ("a", SessionKey("a", 5, 1), WindowedKey("a", 1))

    def make_codec(self) -> Codec[Any]:
        return session("string")
