"""Entries of the catalog: what they say of codecs, and how a newer one changes an older one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lastword.catalog.catalog_entry import CatalogEntry, decode_entry, encode_entry, entry_of
from lastword.codecs import TypedCodec, ValueCodec, codec, composite, key_codec, session, windowed
from lastword.codecs.base import Context
from lastword.codecs.registry import Registry


class User(msgspec.Struct):
    name: str


class Own(ValueCodec):
    name = "own"

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, data: bytes) -> bytes:
        return data


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (key_codec("int64"), ("int64", None)),
        (composite("region", "user"), ("string", None)),
        (windowed("string", 60_000), ("string", "60000")),
        (session("int64"), ("int64", "session")),
    ],
)
def test_keys_are_described_so_that_every_command_can_read_them(
    key: Any, said: tuple[str, str | None]
) -> None:
    entry = entry_of(key, codec("json"))
    assert (entry.key, entry.window) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(codec(User), "json"), (TypedCodec("msgpack", User), "msgpack"), (Own(), None)],
)
def test_typed_values_are_described_by_their_format(value: Any, said: str | None) -> None:
    assert entry_of(key_codec("string"), value).value == said


def test_an_entry_survives_its_record_and_a_field_from_the_future() -> None:
    entry = CatalogEntry(key="string", value="int64", window="60000", description="counts")
    assert decode_entry(encode_entry(entry)) == entry
    assert decode_entry(b'{"key":"string","sealed":true}') == CatalogEntry(key="string")


@pytest.mark.parametrize("value", [b"", b"nope", b"[]", b'{"key":1}', b"\xff"])
def test_an_invalid_entry_decodes_to_none(value: bytes) -> None:
    assert decode_entry(value) is None


def test_a_newer_entry_replaces_codecs_and_keeps_what_it_does_not_know() -> None:
    old = CatalogEntry(key="string", value="json", window="60000", mount="/n", description="d")
    new = old.updated(CatalogEntry(key="int64", value="int64", written_by="pipeline p"))
    assert new == CatalogEntry(
        key="int64", value="int64", mount="/n", written_by="pipeline p", description="d"
    )


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, None),
        ({"subject": "record"}, "User"),
        ({"subject": "topic-record"}, "users-User"),
        ({"subject_name": "people"}, "people"),
    ],
)
def test_a_subject_that_the_topic_does_not_name_is_described(
    rules: dict[str, Any], said: str | None
) -> None:
    schema = {"type": "object", "title": "User"}
    coder = Registry("http://localhost:1").json_schema(schema, **rules)
    assert entry_of(key_codec("string"), coder.bound(Context("users", "value"))).subject == said
    of_newest = Registry("http://localhost:1", subject="record").json_schema()
    assert entry_of(None, of_newest.bound(Context("users", "value"))).subject is None


def test_the_subject_of_keys_and_the_message_of_values_are_described() -> None:
    registry = Registry("http://localhost:1")
    keys = registry.avro('"string"', subject_name="ids").bound(Context("users", "key"))
    values = registry.protobuf("message A {} message B {}", message="B")
    entry = entry_of(windowed(keys, 1000), values.bound(Context("users", "value")))
    assert (entry.key_subject, entry.subject, entry.message) == ("ids", None, "B")
    assert entry.updated(CatalogEntry(key="string", value="json")).key_subject is None


def test_another_codec_takes_the_subject_away_and_no_codec_leaves_it() -> None:
    old = CatalogEntry(key="string", value="avro", subject="people", owned_by="shop")
    assert old.updated(CatalogEntry(value="json")).subject is None
    assert old.updated(CatalogEntry(description="d")).subject == "people"
    assert old.updated(CatalogEntry(value="json")).owned_by == "shop"
    assert old.updated(CatalogEntry(owned_by="")).owned_by == ""


def test_a_description_alone_leaves_codecs_and_windows_as_they_are() -> None:
    old = CatalogEntry(key="string", value="json", window="session")
    assert old.updated(CatalogEntry(description="d")).window == "session"
