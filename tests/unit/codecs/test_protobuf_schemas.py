"""Protobuf schemas as text: what is built from them, and what is refused."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest

from lastword.codecs.registry.proto_file import ProtoFile
from lastword.codecs.registry.proto_path import path_bytes, read_path
from lastword.codecs.registry.proto_text import TEXT_MAX, descriptor_of
from lastword.errors import DecodeError

WIDE = """
// A comment, and a service that changes nothing.
syntax = "proto2";
package shop.v1;
import "shop/money.proto";
import "google/protobuf/timestamp.proto";
option java_package = "com.example";

service Orders { rpc Get (Order) returns (Order) { option deprecated = true; } }

message Order {
  required string id = 1 [(custom).option = "x", deprecated = true];
  optional int32 count = 2 [default = 7];
  optional bool open = 3 [default = true];
  optional State state = 4 [default = SHIPPED];
  repeated int32 packed_numbers = 5 [packed = true];
  map<string, shop.v1.Money> prices = 6;
  oneof payer { string card = 7; Account account = 8; }
  message Account { optional string number = 1; message Deep { optional bytes raw = 1; } }
  optional Account.Deep deep = 9;
  optional google.protobuf.Timestamp at = 10;
  extensions 100 to 199, 1000 to max;
  reserved 50, 60 to 70;
  reserved "old";
}
enum State { option allow_alias = true; NEW = 0; SHIPPED = 1; SENT = 1; }
message Second { optional Order.Account.Deep deep = 1; }
"""
MONEY = """
syntax = "proto3"; package shop.v1;
message Money { int64 cents = 1; optional string note = 2; }
"""


def wide() -> ProtoFile:
    return ProtoFile(WIDE, {"shop/money.proto": MONEY})


def test_every_construct_that_decides_about_bytes_is_taken_over() -> None:
    order = wide().named("Order")
    value = {
        "id": "o1",
        "packed_numbers": [1, 300],
        "prices": {"eur": {"cents": 5, "note": ""}},
        "account": {"number": "7"},
        "deep": {"raw": b"\x00"},
        "at": datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC),
    }
    data = order.type(**value).SerializeToString()
    assert order.value(order.type.FromString(data)) == value
    assert b"\x2a\x03\x01\xac\x02" in data, "packed"
    fields = order.type.DESCRIPTOR.fields_by_name
    assert (fields["count"].default_value, fields["open"].default_value) == (7, True)
    assert fields["state"].default_value == 1


@pytest.mark.parametrize(
    ("name", "path", "data"),
    [
        ("Order", (0,), b"\x00"),
        ("shop.v1.Order", (0,), b"\x00"),
        ("Second", (1,), b"\x02\x02"),
        ("Account", (0, 0), b"\x04\x00\x00"),
        ("Deep", (0, 0, 0), b"\x06\x00\x00\x00"),
    ],
)
def test_a_message_is_named_by_its_path_in_the_file(
    name: str, path: tuple[int, ...], data: bytes
) -> None:
    assert wide().named(name).indexes == data
    assert wide().at(path).indexes == data
    assert read_path(data + b"rest", 0) == (path, len(data))


@pytest.mark.parametrize("path", [(0,), (1,), (0, 0), (300, 0, 70_000)])
def test_a_path_comes_back(path: tuple[int, ...]) -> None:
    assert read_path(path_bytes(path) + b"\x08", 0) == (path, len(path_bytes(path)))


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x04\x00", b"\x80" * 9, b"\xfe\xff\xff\x7f\x00"])
def test_an_invalid_path_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="which message"):
        read_path(data, 0)


def test_a_path_to_no_message_is_refused() -> None:
    for path in ((7,), (0, 9), (-1,)):
        with pytest.raises(DecodeError, match="no message at"):
            wide().at(path)


def test_the_descriptor_in_base64_that_confluents_python_client_registers_is_read() -> None:
    serialized = descriptor_of(MONEY, "any.proto").SerializeToString()
    file = ProtoFile(base64.b64encode(serialized).decode(), {})
    assert file.named("Money").type(cents=3).SerializeToString() == b"\x08\x03"


def test_a_number_that_an_enum_does_not_know_stays_a_number() -> None:
    text = 'syntax = "proto3"; enum E { A = 0; } message M { E e = 1; }'
    message = ProtoFile(text, {}).named("M")
    assert message.value(message.type.FromString(b"\x08\x05")) == {"e": 5}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no message"),
        ("message M {", "line 1, column 12"),
        ("{}", "line 1"),
        ('syntax = "proto4"; message M {}', "proto4 is not supported"),
        ('edition = "2023"; message M {}', "2023 is not supported"),
        ("message M { repeated group G = 1 {} }", "group G is not supported"),
        ("message M { optional Nowhere n = 1; }", "Nowhere"),
        ("message M { optional int32 a = 1; optional int32 b = 1; }", "number"),
        ('import "nowhere.proto"; message M {}', "nowhere.proto"),
        ("message M { optional int32 a = 536870912; }", "number"),
        ("message A {} message A {}", "A"),
        ("message M {" * 2000 + "}" * 2000, "RecursionError"),
        ("message M { optional int32 a = 1; }" + " " * TEXT_MAX, "longer than"),
    ],
)
def test_an_invalid_schema_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ProtoFile(text, {})


def test_a_message_that_holds_itself_is_read_to_the_depth_of_the_runtime() -> None:
    message = ProtoFile("message M { optional M m = 1; }", {}).named("M")
    value: dict[str, Any] = {}
    for _ in range(90):
        value = {"m": value}
    assert (
        message.value(message.type.FromString(message.type(**value).SerializeToString())) == value
    )
